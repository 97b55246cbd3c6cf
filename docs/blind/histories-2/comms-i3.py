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
    beats = calls(events, "send_heartbeat")
    done = 0
    for n, (i, o) in enumerate(beats):
        later = [(a, b) for a, b in beats if a > o and events[a]["agent"] == events[i]["agent"] and events[a]["value"] == events[i]["value"]]
        if later and n % 5 == 2:
            e = events[o]
            e["type"], e["code"] = "fail", "BUSY"
            e["value"] = {"code": "BUSY", "message": "database is locked"}
            done += 1
    refused = [(i, o) for i, o in calls(events, "claim_message") if not events[o]["value"].get("claimed")]
    i, o = refused[len(refused) // 2]
    e = events[o]
    e["type"], e["code"] = "fail", "BUSY"
    e["value"] = {"code": "BUSY", "message": "database is locked"}
    for k in ("granted", "token", "lease_until_ms"):
        e.pop(k, None)
    assert done
    return events
