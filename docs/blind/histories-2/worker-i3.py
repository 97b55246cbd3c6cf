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
    pubs = calls(events, "publish")
    acked = {e["value"].get("seq") for e in events if e.get("op") == "ack"} | {e["value"].get("last_seq") for e in events if e.get("op") == "export_to_jsonl"}
    top = max(events[o]["value"]["seq"] for _, o in pubs)
    for i, o in reversed(pubs[: len(pubs) * 2 // 3]):
        s, key = events[o]["value"]["seq"], events[i]["key"]
        if s in acked or s == top or sum(events[a]["key"] == key for a, _ in pubs) != 1:
            continue
        pages = [(a, b) for a, b in calls(events, "poll") if any(m["seq"] == s for m in events[b]["value"]["messages"])]
        if not pages or any(len(events[b]["value"]["messages"]) >= events[a]["value"]["limit"] for a, b in pages):
            continue
        for _, b in pages:
            v = events[b]["value"]
            v["messages"] = [m for m in v["messages"] if m["seq"] != s]
        e = events[o]
        e["type"], e["code"] = "fail", "BUSY"
        e.pop("seq", None)
        e["value"] = {"code": "BUSY", "message": "database is locked"}
        drop = [n for n, x in enumerate(events) if x["type"] == "state" and (
            (x["op"] == "dump" and x["key"] == "messages" and x["value"]["seq"] == s) or (x["op"] == "read_export" and x["value"] == s))]
        out = [x for n, x in enumerate(events) if n not in drop]
        for x in out:
            if x["type"] == "ok" and x.get("op") == "dump":
                x["value"]["rows"]["messages"] -= 1
            if x["type"] == "ok" and x.get("op") == "read_export":
                x["value"]["rows"]["lines"] -= 1
        return out
    raise SystemExit("no place")
