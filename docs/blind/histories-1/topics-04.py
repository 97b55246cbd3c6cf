"""own message returned"""
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

    # the filter "sender != me" is forgotten once
    best = None
    for (agent, topic), line in lines.items():
        for (i, o), (j, p) in zip(line, line[1:]):
            v = p["value"]; last = o["value"]["cursor"]["last_seq"]
            if not v["received"] or v["has_more"] or not auto(j): continue
            own = [m for k, m in born.items() if k[0] == topic and m["sender"] == agent and last < m["seq"] <= v["received"][-1]["seq"]
                   and place[id(sends[k][1])] < place[id(j)]]
            if len(own) == 1 and len(v["received"]) + 1 <= j["value"]["max_items"] and len(v["received"]) >= 3:
                rank = (-j["value"]["wait_seconds"], place[id(j)])
                if best is None or rank < best[0]: best = (rank, v, own)
    v, own = best[1:]
    v["received"] = sorted(v["received"] + copy.deepcopy(own), key=lambda m: m["seq"])
    v["received_count"] = len(v["received"])
    return ev
