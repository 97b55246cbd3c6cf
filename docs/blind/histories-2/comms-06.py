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
    got, claims = calls(events, "receive_messages"), calls(events, "claim_message")
    held = {(e["value"]["message_id"], e["value"]["agent_id"]): e["value"] for e in events if e["type"] == "state" and e["key"] == "deliveries"}
    found = []
    for i, o in got:
        if events[i]["value"]["limit"] < 1000:
            continue
        agent = events[i]["agent"]
        ms = events[o]["value"]["messages"]
        for n, m in enumerate(ms):
            before = [b for a, b in got if b < i and events[a]["agent"] == agent and events[b]["bus_ms"] == events[o]["bus_ms"] and any(x["id"] == m["id"] for x in events[b]["value"]["messages"])]
            after = [a for a, b in claims if before and b > before[-1] and events[a]["key"] == m["id"] and events[a]["agent"] == agent]
            if before and not after:
                found.append((o, n, (m["id"], agent) in held, len(ms)))
    good = [f for f in found if f[2] and f[1] > 0] or [f for f in found if f[1] > 0] or found
    o, n, _, _ = good[len(good) // 2]
    del events[o]["value"]["messages"][n]
    return events
