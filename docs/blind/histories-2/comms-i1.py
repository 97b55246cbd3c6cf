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
    done = [(i, o) for i, o in calls(events, "complete_message") if events[o]["value"].get("status") == "done"]
    i, o = done[len(done) // 2]
    p = events[i]["process"]
    new = max(e["process"] for e in events) + 1
    e = events[o]
    e["type"], e["code"] = "info", "TIMEOUT"
    e["value"] = {"code": "TIMEOUT", "message": "no answer in time"}
    for e in events[o + 1:]:
        if e["process"] == p:
            e["process"] = new
    clock = [(a, b) for a, b in calls(events[:i], "clock.set") if events[a]["process"] == p][-1]
    again = [copy.deepcopy(events[clock[0]]), copy.deepcopy(events[clock[1]])]
    for e in again:
        e["process"] = new
        e.pop("bus_ms", None)
        e["wall_ms"], e["mono_ns"] = events[o]["wall_ms"], events[o]["mono_ns"]
    return events[: o + 1] + again + events[o + 1:]
