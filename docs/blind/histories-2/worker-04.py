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
    held = {}
    for e in events:
        if e["type"] != "ok" or e.get("op") not in ("try_claim_task", "renew_claim"):
            continue
        if e["op"] == "renew_claim" and e["value"].get("renewed") and held.get(e["key"], 10**15) < e["bus_ms"]:
            e["value"]["lease_until_ms"] = e["lease_until_ms"] = held[e["key"]] + 60000
            return events
        if e.get("lease_until_ms"):
            held[e["key"]] = e["lease_until_ms"]
    raise SystemExit("no place")
