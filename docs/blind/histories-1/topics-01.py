"""lost in batch"""
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

    # a whole unread batch in an auto-advancing reader, of which one row in the middle is dropped
    for i, o in reversed(syncs[: len(syncs) * 3 // 4]):
        v = o["value"]
        if not auto(i) or v["has_more"] or len(v["received"]) < 6: continue
        for n, m in enumerate(v["received"][2:-2], 2):
            w = sends[(m["topic_id"], m["seq"])]
            if len(w[1]["value"]["sent"]) == 1 and place[id(w[1])] < place[id(i)] and m["seq"] + 1 == v["received"][n + 1]["seq"]:
                del v["received"][n]
                v["received_count"] -= 1
                return ev
