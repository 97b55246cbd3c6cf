import copy, json


def pairs(events):
    """(invoke, closing event) of each call, by place in the list: {place of invoke: place of closing}."""
    open_, out = {}, {}
    for n, e in enumerate(events):
        if e["type"] == "invoke":
            open_[e["process"]] = n
        elif e["type"] in ("ok", "fail", "info") and e["process"] in open_:
            out[open_.pop(e["process"])] = n
    return out


def calls(events, op, kind="ok"):
    return [(i, o) for i, o in sorted(pairs(events).items()) if events[i].get("op") == op and events[o]["type"] == kind]


def change(events):
    events = copy.deepcopy(events)
    ids = {e["value"]["name"]: e["value"]["topic_id"] for e in events if e["type"] == "ok" and e.get("op") == "topic_create"}
    names = sorted(ids)
    found = [o for i, o in calls(events, "topic_resolve") if events[i]["value"]["name"] == names[0]]
    events[found[len(found) * 3 // 5]]["value"]["topic_id"] = ids[names[1]]
    return events
