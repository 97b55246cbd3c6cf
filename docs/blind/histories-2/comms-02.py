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
    got = calls(events, "receive_messages")
    for i, o in reversed(got[: len(got) * 4 // 5]):
        ms = events[o]["value"]["messages"]
        if len(ms) < 3 or len(ms) >= events[i]["value"]["limit"]:
            continue
        for n in range(len(ms) - 1, 0, -1):
            a, b = ms[n - 1], ms[n]
            if a["priority"] == b["priority"] and a["timestamp"] < b["timestamp"]:
                ms[n - 1], ms[n] = b, a
                return events
    for i, o in reversed(got):
        ms = events[o]["value"]["messages"]
        if len(ms) >= events[i]["value"]["limit"]:
            continue
        for n in range(len(ms) - 1, 0, -1):
            a, b = ms[n - 1], ms[n]
            if a["priority"] == b["priority"] and a["timestamp"] < b["timestamp"]:
                ms[n - 1], ms[n] = b, a
                return events
    raise SystemExit("no place")
