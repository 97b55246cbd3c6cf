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
    a, b = [(a, b) for a, b in pairs(events) if a["op"] == "ack"
            and b["value"]["last_acked_seq"] == a["value"]["seq"] and a["agent"] == "dot"][-1]
    seq = a["value"]["seq"]
    other = min((e for e in rows(events, "cursors") if e["value"]["agent_id"] != a["agent"]),
                key=lambda e: e["value"]["last_acked_seq"])
    agent = other["value"]["agent_id"]
    assert not [x for x, _ in pairs(events) if x["op"] == "ack" and x["agent"] == agent and x["index"] > a["index"]]
    for x, y in polls(events):
        if x["agent"] == agent and x["index"] > b["index"]:
            y["value"]["messages"] = [m for m in y["value"]["messages"] if m["seq"] > seq]
    other["value"]["last_acked_seq"] = seq
    return events
