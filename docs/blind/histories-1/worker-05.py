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


def swap(events, n):
    """The messages n and n + 1 have each other's seq, wherever a seq is told."""
    new = {n: n + 1, n + 1: n}
    for a, b in pairs(events):
        if a["op"] == "publish" and b["type"] == "ok" and b["value"]["seq"] in new:
            b["value"]["seq"] = b["seq"] = new[b["value"]["seq"]]
        if a["op"] == "poll" and b["type"] == "ok":
            for m in b["value"]["messages"]:
                m["seq"] = new.get(m["seq"], m["seq"])
            b["value"]["messages"].sort(key=lambda m: m["seq"])
    here = [e for e in rows(events, "messages") if e["value"]["seq"] in new]
    here[0]["value"], here[1]["value"] = here[1]["value"], here[0]["value"]
    for e in here:
        e["value"]["seq"] = new[e["value"]["seq"]]
    return events


def change(events):
    pub, done = published(events), acked(events)
    told = {b["value"]["last_seq"] for a, b in pairs(events) if a["op"] == "export_to_jsonl"}
    chosen = None
    for n in sorted(pub):
        if n + 1 not in pub or len(pub[n]) > 1 or len(pub[n + 1]) > 1 or {n, n + 1} & done or n in told:
            continue
        (a, b, m), (c, d, k) = pub[n][0], pub[n + 1][0]
        one_by_one = b["index"] < c["index"] and a["process"] != c["process"]
        sees = [len({x["seq"] for x in y["value"]["messages"]} & {n, n + 1}) for _, y in polls(events)]
        if a["op"] == c["op"] == "publish" and one_by_one and m.get("to") and m.get("to") == k.get("to") and 1 not in sees:
            chosen = n
    return swap(events, chosen)
