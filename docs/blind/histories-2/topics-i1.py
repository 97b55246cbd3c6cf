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
    syncs = [(i, o) for i, o in calls(events, "sync") if events[i]["value"].get("auto_advance") is False and events[i]["value"].get("outbox")
             and events[i]["value"].get("ack_through") is None and not any(s["duplicate"] for s in events[o]["value"]["sent"])]
    i, o = syncs[len(syncs) // 2]
    p = events[i]["process"]
    new = max(e["process"] for e in events) + 1
    joins = [(a, b) for a, b in calls(events, "topic_join") if events[a]["process"] == p]
    extra = []
    for a, b in joins:
        ask, answer = copy.deepcopy(events[a]), copy.deepcopy(events[b])
        ask["value"]["reclaim_token"] = answer["value"]["reclaim_token"]
        for e in (ask, answer):
            e["process"] = new
            e["wall_ms"], e["mono_ns"] = events[o]["wall_ms"], events[o]["mono_ns"]
        extra += [ask, answer]
    e = events[o]
    e["type"], e["code"] = "info", "TIMEOUT"
    e["value"] = {"code": "TIMEOUT", "message": "no answer in time"}
    for e in events[o + 1:]:
        if e["process"] == p:
            e["process"] = new
    return events[: o + 1] + extra + events[o + 1:]
