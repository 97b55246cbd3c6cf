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


def change(events):
    chosen = None
    for a, b in claims(events):
        if not b["value"]["claimed"]:
            continue
        ends = [x for x, y in completions(events) if x["key"] == a["key"] and x["agent"] == a["agent"]
                and x["value"]["delivery_count"] == b["value"]["delivery_count"]]
        if ends:
            continue
        for c, d in claims(events):
            if (not d["value"]["claimed"] and a["key"] == c["key"] and a["agent"] == c["agent"] and a["bus_ms"] == c["bus_ms"]
                    and a["index"] < d["index"] and c["index"] < b["index"]):
                chosen = (b, d)
    won, lost = chosen
    lost["value"], won["value"] = won["value"], lost["value"]
    for key in ("token", "lease_until_ms"):
        lost[key] = won.pop(key)
    lost["granted"], won["granted"] = True, False
    now = max(a["bus_ms"] for a, b in final(events))
    failed = {(a["key"], a["agent"]) for a, b in completions(events) if b["value"]["status"] == "failed" and a["bus_ms"] == now}
    for n, e in enumerate(rows(events, "deliveries")):
        d = e["value"]
        if d["status"] == "failed" and (d["message_id"], d["agent_id"]) in failed:
            jitter = 0.55 + (n * 37 % 90) / 100
            micro = round(2 ** (d["failures"] - 1) * jitter * 1_000_000) + 15_000_000
            d["visible_at"] = f"2026-01-10T14:02:{micro // 1_000_000:02d}.{micro % 1_000_000:06d}Z"
    return events
