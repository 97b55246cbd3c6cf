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


def retire(events, lost):
    """The answer `lost` never came: its process ends, and a new session goes on with the later calls."""
    new = max(e["process"] for e in events) + 1
    at = next(n for n, e in enumerate(events) if e is lost)
    old = lost["process"]
    for e in events[at + 1:]:
        if e["process"] == old:
            e["process"] = new
    lost["type"] = "info"
    lost["value"] = {"code": "TIMEOUT", "message": "no answer", "definite": False}
    for key in ("token", "granted", "lease_until_ms"):
        lost.pop(key, None)
    base = {k: lost[k] for k in ("index", "run", "system", "wall_ms", "mono_ns")}
    hello = [{**base, "process": new, "type": "invoke", "op": "clock.set", "value": {"now_ms": lost["bus_ms"]}},
             {**base, "process": new, "type": "ok", "op": "clock.set", "value": {}}]
    return events[:at + 1] + hello + events[at + 1:]


def change(events):
    lost = None
    for a, b in completions(events):
        if b["value"]["status"] == "dead" and b["bus_ms"] < max(x["bus_ms"] for x, y in final(events)):
            lost = b
    return retire(events, lost)
