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


def change(events):
    exports = [(a, b) for a, b in pairs(events) if a["op"] == "export_to_jsonl"]
    best = None
    for seq, calls in published(events).items():
        a, b, m = calls[0]
        past = [d for c, d in exports if a["index"] < d["index"] < b["index"] and d["value"]["last_seq"] > seq]
        if a["op"] == "publish" and len(calls) == 1 and past and (best is None or len(past) > best[0]):
            best = (len(past), seq)
    seq = best[1]
    return recount([e for e in events if not (e["type"] == "state" and e["key"] == "lines" and e["value"] == seq)])
