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
    rows = [e["value"] for e in events if e["type"] == "state" and e["key"] == "messages"]
    place = {r["id"]: n for n, r in enumerate(rows)}
    claims, got, done = calls(events, "claim_message"), calls(events, "receive_messages"), calls(events, "complete_message")
    found = []
    for i, o in done:
        if events[o]["value"].get("status") != "failed" or events[i]["key"] not in place:
            continue
        key, agent, now = events[i]["key"], events[i]["agent"], events[o]["bus_ms"]
        row = rows[place[key]]
        for a, b in got:
            v = events[a]["value"]
            ms = events[b]["value"]["messages"]
            if a < o or events[a]["agent"] != agent or events[b]["bus_ms"] != now or events[a]["bus_ms"] != now:
                continue
            if row["channel"] not in v["channels"] or len(ms) >= v["limit"] or any(m["id"] == key for m in ms) or not ms:
                continue
            rank = lambda m: (-m["priority"], m["timestamp"], place.get(m["id"], 10**6))
            at = sum(rank(m) < rank(row) for m in ms)
            found.append((b, at, row))
    good = [f for f in found if f[1] > 0] or found
    b, at, row = good[len(good) // 2]
    cols = ["id", "type", "version", "timestamp", "correlation_id", "from_agent", "to_agent", "channel", "priority", "payload"]
    m = {c: row[c] for c in cols}
    m["payload"] = json.loads(m["payload"]) if isinstance(m["payload"], str) else m["payload"]
    events[b]["value"]["messages"].insert(at, m)
    return events
