"""body mixed up"""
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

    # in one answer a body is that of the row after it; everything else of the message is its own
    for i, o in reversed(syncs[: len(syncs) // 2]):
        r = o["value"]["received"]
        if auto(i) or len(r) < 8: continue
        for m, n in zip(r[3:], r[4:]):
            if m["sender"] != n["sender"] and len(m["content_markdown"]) == 40 and len(n["content_markdown"]) == 900:
                m["content_markdown"] = n["content_markdown"]
                return ev
