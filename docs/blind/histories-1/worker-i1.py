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
    """The numbers of rows that the answers of dump and read_export tell."""
    for e in events:
        if e["type"] == "ok" and e.get("op") in ("dump", "read_export"):
            for key in e["value"]["rows"]:
                e["value"]["rows"][key] = len(rows(events, key))
    return events


def published(events):
    """seq -> list of (invoke, ok, message as sent)."""
    out = {}
    for a, b in pairs(events):
        if a["op"] == "publish" and b["type"] == "ok":
            out.setdefault(b["value"]["seq"], []).append((a, b, a["value"]["message"]))
        if a["op"] == "publish_many" and b["type"] == "ok":
            for seq, m in zip(b["value"]["seqs"], a["value"]["messages"]):
                out.setdefault(seq, []).append((a, b, m))
    return out


def polls(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "poll" and b["type"] == "ok"]


def acked(events):
    return {a["value"]["seq"] for a, b in pairs(events) if a["op"] == "ack"}


def in_full_poll(events):
    return {m["seq"] for a, b in polls(events) if len(b["value"]["messages"]) >= a["value"]["limit"]
            for m in b["value"]["messages"]}


def drop(events, gone):
    """The messages of these seqs were never stored: no poll, no line, no row has them."""
    for a, b in polls(events):
        b["value"]["messages"] = [m for m in b["value"]["messages"] if m["seq"] not in gone]
    kept = {e["value"]["seq"] for e in rows(events, "messages")} - gone
    for a, b in pairs(events):
        if a["op"] == "export_to_jsonl" and b["type"] == "ok" and b["value"]["last_seq"] in gone:
            b["value"]["last_seq"] = max(s for s in kept if s < b["value"]["last_seq"])
    events = [e for e in events if not (e["type"] == "state" and (
        e["key"] == "lines" and e["value"] in gone or e["key"] == "messages" and e["value"]["seq"] in gone))]
    return recount(events)


def retire(events, lost):
    """The answer `lost` never came: its process ends, and a new session goes on with the later calls."""
    new = max(e["process"] for e in events) + 1
    at = events.index(lost)
    old = lost["process"]
    for e in events[at + 1:]:
        if e["process"] == old:
            e["process"] = new
    lost["type"] = "info"
    lost["value"] = {"code": "TIMEOUT", "message": "no answer", "definite": False}
    for key in ("seq", "token", "granted", "lease_until_ms"):
        lost.pop(key, None)
    base = {k: lost[k] for k in ("index", "run", "system", "wall_ms", "mono_ns")}
    hello = [{**base, "process": new, "type": "invoke", "op": "clock.set", "value": {"now_ms": lost["bus_ms"]}},
             {**base, "process": new, "type": "ok", "op": "clock.set", "value": {}}]
    return events[:at + 1] + hello + events[at + 1:]


def change(events):
    busy, done = in_full_poll(events), acked(events)
    chosen = None
    for a, b in pairs(events):
        if a["op"] == "publish_many" and len(b["value"]["seqs"]) > 2 and not (busy | done) & set(b["value"]["seqs"]):
            if any(x["process"] == a["process"] and x["index"] > b["index"] + 4 for x, _ in pairs(events)):
                chosen = b
    gone = set(chosen["value"]["seqs"])
    events = retire(events, chosen)
    return drop(events, gone)
