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
    sends = calls(events, "send")
    new = max(e["process"] for e in events) + 1
    for part in (1, 2):
        i, o = sends[len(sends) * part // 3]
        p = events[i]["process"]
        e = events[o]
        e["type"], e["code"] = "info", "TIMEOUT"
        e["value"] = {"code": "TIMEOUT", "message": "no answer in time"}
        e.pop("seq", None)
        for e in events[o + 1:]:
            if e["process"] == p and e["type"] != "state":
                e["process"] = new
        new += 1
        sends = calls(events, "send")
    return events
