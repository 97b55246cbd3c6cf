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
    full = {}
    syncs = calls(events, "sync")
    for i, o in syncs:
        for m in events[o]["value"]["received"]:
            full.setdefault((m["topic_id"], m["seq"]), m)
    found = []
    for i, o in syncs:
        a, v = events[i]["value"], events[o]["value"]
        n = a.get("ack_through")
        if n is None or a["max_items"] != 1 or not v["received"] or v["cursor"]["last_seq"] != n:
            continue
        m = full.get((v["topic_id"], n))
        if m and m["sender"] != v["agent_name"] and v["has_more"]:
            found.append((o, m))
    o, m = found[len(found) * 3 // 4]
    events[o]["value"]["received"] = [copy.deepcopy(m)]
    return events
