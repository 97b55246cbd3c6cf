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


def rows(events, lane=None):
    """Places of the final state's rows, of one lane or of all."""
    return [n for n, e in enumerate(events) if e["type"] == "state" and (lane is None or e["value"]["lane"] == lane)]


def count(events, by):
    for e in events:
        if e["type"] == "ok" and e.get("op") == "dump":
            e["value"]["rows"]["messages"] += by


def change(events):
    events = copy.deepcopy(events)
    wide = [events[i]["value"] for i, _ in calls(events, "send") if len(events[i]["value"]["to"]) > 2]
    m = wide[len(wide) * 3 // 4]
    lane = "inbox " + m["to"][-1]
    n = next(n for n in rows(events, lane) if events[n]["value"]["id"] == m["id"])
    del events[n]
    count(events, -1)
    return events
