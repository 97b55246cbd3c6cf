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
    grants = {}
    for i, o in calls(events, "claim_message"):
        if events[o]["value"].get("claimed"):
            grants.setdefault((events[i]["key"], events[i]["agent"]), []).append((i, o))
    rows = {e["value"]["id"]: e["value"] for e in events if e["type"] == "state" and e["key"] == "messages"}
    good = [k for k, v in grants.items() if len(v) == 2 and k[0] in rows and rows[k[0]]["to_agent"] == k[1] and rows[k[0]]["status"] == "done"
            and events[v[1][1]]["token"] == 2]
    key, agent = good[len(good) * 2 // 3]
    i, o = grants[(key, agent)][1]
    events[o]["token"] = events[o]["value"]["delivery_count"] = 1
    for n, e in enumerate(events):
        v = e.get("value")
        if e["type"] == "invoke" and e.get("op") == "complete_message" and e["key"] == key and n > o and v.get("delivery_count") == 2:
            v["delivery_count"] = 1
        if e["type"] == "state" and e["key"] == "messages" and v["id"] == key:
            v["delivery_count"] = 1
        if e["type"] == "state" and e["key"] == "deliveries" and v["message_id"] == key and v["agent_id"] == agent:
            v["delivery_count"] = 1
    return events
