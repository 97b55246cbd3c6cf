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
    asked = {events[i]["value"]["delivery"]: i for i, o in acks}
    found, weak = [], []
    for i, o in fetches:
        if events[o]["value"]["message"] is not None:
            continue
        for a, b in fetches:
            m = events[b]["value"]["message"]
            if m and b < i and events[a]["value"]["filter"] == events[i]["value"]["filter"] and events[a]["bus_ms"] == events[o]["bus_ms"]:
                end = asked.get(m["delivery"], 10**9)
                if end > o:
                    (found if events[a]["process"] != events[i]["process"] and end < 10**9 else weak).append((i, o, b))
    i, o, b = (found or weak)[len(found or weak) // 2]
    m = copy.deepcopy(events[b]["value"]["message"])
    events[o]["value"]["message"] = m
    events[o]["key"], events[o]["seq"] = events[b]["key"], events[b]["seq"]
    return events
