"""topic not found"""
import copy


def change(events):
    ev = copy.deepcopy(events)
    opened, pairs = {}, []          # every call: (invoke, closing event)
    for e in ev:
        if e["type"] == "invoke": opened[e["process"]] = e
        elif e["type"] in ("ok", "fail", "info"): pairs.append((opened.pop(e["process"]), e))
    place = {id(e): n for n, e in enumerate(ev)}
    syncs = [(i, o) for i, o in pairs if i["op"] == "sync" and o["type"] == "ok"]
    lines = {}                      # the syncs of one agent in one topic, in order
    for i, o in syncs: lines.setdefault((i["agent"], o["value"]["topic_id"]), []).append((i, o))
    sends, born = {}, {}            # (topic, seq) -> the sync that stored it, its message
    for i, o in syncs:
        for s in o["value"]["sent"]:
            if not s["duplicate"]:
                k = (s["message"]["topic_id"], s["message"]["seq"])
                sends[k], born[k] = (i, o), s["message"]
    auto = lambda i: i["value"].get("auto_advance", True)
    rows = [e for e in ev if e["type"] == "state"]
    dump = next(o for i, o in pairs if i["op"] == "dump")

    # topic_resolve does not find an open topic once; the client does not sync in that turn
    follow = {}
    for n, (i, o) in enumerate(sorted(pairs, key=lambda p: place[id(p[0])])): follow.setdefault(i["process"], []).append((i, o))
    for calls in follow.values():
        for (h, n), (i, o) in zip(calls, calls[1:]):
            if h["op"] != "topic_resolve" or i["op"] != "sync" or place[id(h)] < len(ev) // 8: continue
            v = o["value"]
            if i["value"].get("outbox") or v["received"] or v["sent"] or "ack_through" in i["value"]: continue
            line = lines[(i["agent"], v["topic_id"])]
            k = next(x for x, (c, d) in enumerate(line) if d is o)
            if line[k - 1][1]["value"]["cursor"]["last_seq"] != v["cursor"]["last_seq"]: continue
            n["type"], n["code"] = "fail", "TOPIC_NOT_FOUND"
            n["value"] = {"code": "TOPIC_NOT_FOUND", "message": f"there is no open topic {h['value']['name']!r}"}
            return [e for e in ev if e is not i and e is not o]
