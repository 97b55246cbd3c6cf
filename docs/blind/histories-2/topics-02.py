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
    syncs = calls(events, "sync")
    sent, peeked = {}, {}
    for i, o in syncs:
        for s in events[o]["value"]["sent"]:
            sent.setdefault(s["message"]["message_id"], o)
        for m in events[o]["value"]["received"]:
            peeked.setdefault((events[o]["agent"], m["message_id"]), []).append(o)
    found = []
    for i, o in syncs:
        v, a = events[o]["value"], events[i]["value"]
        r = v["received"]
        if a.get("auto_advance") is False or len(r) < 3 or v["has_more"] or len(r) >= a["max_items"]:
            continue
        for n in range(1, len(r) - 1):
            if sent.get(r[n]["message_id"], 10**9) < i and peeked[(events[o]["agent"], r[n]["message_id"])] == [o]:
                found.append((o, n))
    if not found:
        for i, o in syncs:
            v, a = events[o]["value"], events[i]["value"]
            r = v["received"]
            if a.get("auto_advance") is not False and 3 <= len(r) < a["max_items"]:
                found += [(o, n) for n in range(1, len(r) - 1) if sent.get(r[n]["message_id"], 10**9) < i]
    o, n = found[len(found) // 2]
    v = events[o]["value"]
    del v["received"][n]
    v["received_count"] = len(v["received"])
    return events
