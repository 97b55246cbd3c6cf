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
    fetches, acks = calls(events, "fetch"), calls(events, "ack")
    acked = {events[i]["value"]["delivery"]: o for i, o in acks}
    found = []
    for i, o in fetches:
        if events[o]["value"]["message"] is not None:
            continue
        for a, b in fetches:
            m = events[b]["value"]["message"]
            if m and b < i and events[a]["value"]["filter"] == events[i]["value"]["filter"] and acked.get(m["delivery"], 10**9) < i:
                found.append((i, o, b))
    i, o, b = found[len(found) * 2 // 3]
    m = copy.deepcopy(events[b]["value"]["message"])
    m["delivery_count"] += 1
    m["delivery"] = m["delivery"].rsplit(":", 1)[0] + ":" + str(m["delivery_count"])
    events[o]["value"]["message"] = m
    events[o]["key"], events[o]["seq"] = events[b]["key"], events[b]["seq"]
    return events
