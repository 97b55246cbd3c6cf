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


def grants(events, task):
    return [(a, b) for a, b in pairs(events) if a["op"] == "try_claim_task" and a["key"] == task
            and b["type"] == "ok" and b["value"]["claimed"]]


def on_task(events, task):
    return [(a, b) for a, b in pairs(events)
            if a["op"] in ("try_claim_task", "renew_claim", "release_claim") and a["key"] == task]


def lower_tokens(events, task, start):
    """Grants of the task that end after index `start` have one number less, and so has the table."""
    for a, b in grants(events, task):
        if b["index"] > start:
            b["value"]["token"] -= 1
            b["token"] = b["value"]["token"]
    for e in rows(events, "task_tokens"):
        if e["value"]["task_id"] == task:
            e["value"]["token"] -= 1


def refuse(b, word):
    b["value"] = {word: False}
    b["granted"] = False
    for key in ("token", "lease_until_ms"):
        b.pop(key, None)


def grant(b, like):
    b["value"] = dict(like["value"])
    b["granted"] = True
    b["token"], b["lease_until_ms"] = like["token"], like["lease_until_ms"]


def change(events):
    chosen = None
    for task in sorted({a["key"] for a, b in pairs(events) if a["op"] == "try_claim_task"}):
        calls = on_task(events, task)
        for a, b in grants(events, task):
            for c, d in calls:
                race = c["op"] == "try_claim_task" and not d["value"]["claimed"] and c["agent"] != a["agent"]
                if not race or c["index"] > b["index"] or d["index"] < a["index"] or a["bus_ms"] != c["bus_ms"]:
                    continue
                later = [x for x, y in calls if x["index"] > min(b["index"], d["index"]) and x is not c
                         and x["bus_ms"] == a["bus_ms"] and x["op"] != "try_claim_task"]
                if not later:
                    chosen = (b, d)
    won, lost = chosen
    grant(lost, won)
    refuse(won, "claimed")
    busy, done = in_full_poll(events), acked(events)
    pick = None
    for seq, calls in published(events).items():
        a, b, m = calls[0]
        if a["op"] == "publish" and len(calls) == 1 and m.get("to") and seq not in busy | done \
                and b["index"] > a["index"] + 3:
            pick = (seq, b)
    seq, b = pick
    b["type"] = "fail"
    b["value"] = {"code": "BUSY", "message": "the database is locked", "definite": True}
    del b["seq"]
    return drop(events, {seq})
