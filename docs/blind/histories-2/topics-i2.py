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
    looks = [o for i, o in calls(events, "sync") if events[i]["value"].get("auto_advance") is False and not events[i]["value"].get("outbox")
             and events[i]["value"].get("ack_through") is None]
    asks = [o for i, o in calls(events, "topic_resolve")]
    for o in looks[3::40] + asks[50::300]:
        e = events[o]
        e["type"], e["code"] = "fail", "DB_BUSY"
        e["value"] = {"code": "DB_BUSY", "message": "database is locked"}
    assert looks
    return events
