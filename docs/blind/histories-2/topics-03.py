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
    again = [(o, n) for i, o in calls(events, "sync") for n, s in enumerate(events[o]["value"]["sent"]) if s["duplicate"] and len(events[o]["value"]["sent"]) > 1]
    o, n = again[len(again) // 2]
    events[o]["value"]["sent"][n]["duplicate"] = False
    return events
