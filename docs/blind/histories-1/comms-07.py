import json


def pairs(events):
    """(invoke, closing event) of every call, in the order of their ends."""
    opened, out = {}, []
    for e in events:
        if e["type"] == "invoke":
            opened[e["process"]] = e
        elif e["type"] in ("ok", "fail", "info"):
            out.append((opened[e["process"]], e))
    return out


def rows(events, key):
    return [e for e in events if e["type"] == "state" and e.get("key") == key]


def recount(events):
    """The numbers of rows that the answer of dump tells."""
    for e in events:
        if e["type"] == "ok" and e.get("op") == "dump":
            for key in e["value"]["rows"]:
                e["value"]["rows"][key] = len(rows(events, key))
    return events


def receives(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "receive_messages" and b["type"] == "ok"]


def final(events):
    """The last look of every process at all that waits for its agent."""
    top = max(a["value"]["limit"] for a, b in receives(events))
    return [(a, b) for a, b in receives(events) if a["value"]["limit"] == top]


def claims(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "claim_message" and b["type"] == "ok"]


def completions(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "complete_message" and b["type"] == "ok"]


def row_of(events, key, **fields):
    return next(e for e in rows(events, key) if all(e["value"][k] == v for k, v in fields.items()))


def sends(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "send_message" and b["type"] == "ok"]


def place(events, message, into):
    """Puts an envelope where its priority and age belong; None if another one ties with it."""
    key = (-message["priority"], message["timestamp"])
    keys = [(-m["priority"], m["timestamp"]) for m in into]
    if key in keys:
        return None
    n = sum(k < key for k in keys)
    return into[:n] + [dict(message)] + into[n:]


def change(events):
    seen = {m["id"]: m for a, b in receives(events) for m in b["value"]["messages"]}
    solo = [a["agent"] for a, b in final(events)]
    chosen = None
    for a, b in completions(events):
        if b["value"]["status"] != "done" or solo.count(a["agent"]) != 1 or not seen[a["key"]]["to_agent"]:
            continue
        look = next(d for c, d in final(events) if c["agent"] == a["agent"])
        got = look["value"]["messages"]
        new = place(events, seen[a["key"]], got)
        last = max(c["bus_ms"] for c, d in final(events))
        if a["bus_ms"] < last and new and len(got) > 1 and new[0]["id"] != a["key"] and new[-1]["id"] != a["key"]:
            if chosen is None or a["bus_ms"] > chosen[0]["bus_ms"]:
                chosen = (a, look, new)
    a, look, new = chosen
    look["value"]["messages"] = new
    row_of(events, "messages", id=a["key"])["value"]["status"] = "pending"
    row_of(events, "deliveries", message_id=a["key"], agent_id=a["agent"])["value"]["status"] = "pending"
    row_of(events, "agent_status", agent_id=a["agent"])["value"]["messages_pending"] += 1
    return events
