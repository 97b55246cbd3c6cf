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
    chosen = None
    for task in sorted({a["key"] for a, b in pairs(events) if a["op"] == "try_claim_task"}):
        calls = sorted(on_task(events, task), key=lambda c: c[0]["index"])
        for a, b in grants(events, task):
            later = [(x, y) for x, y in calls if x["index"] > b["index"] and x["agent"] == a["agent"]]
            if later and later[0][0]["op"] == "try_claim_task" and not later[0][1]["value"]["claimed"]:
                ends = [y for x, y in later if x["op"] == "release_claim"]
                if ends and ends[0]["value"]["released"] and (chosen is None or b["index"] > chosen["index"]) \
                        and any(x["bus_ms"] != a["bus_ms"] and y is ends[0] for x, y in later):
                    chosen = b
    return retire(events, chosen)
