"""acknowledged, then lost"""
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

    # the newest message of a topic, read by nobody, is gone at the end
    read = {(m["topic_id"], m["seq"]) for i, o in syncs for m in o["value"]["received"]}
    top = {}
    for k in born: top[k[0]] = max(top.get(k[0], 0), k[1])
    for topic, seq in sorted(top.items(), key=lambda t: -t[1]):
        if (topic, seq) in read: continue
        gone = [e for e in rows if e["value"]["topic_id"] == topic and e["value"]["seq"] == seq]
        ev = [e for e in ev if not any(e is g for g in gone)]
        dump["value"]["rows"]["messages"] -= 1
        return ev
