"""cursor without ack"""
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

    # one sync with auto_advance=false, and without ack_through, moves the cursor all the same
    for line in lines.values():
        for (i, o), (j, p) in zip(line, line[1:]):
            v, q = o["value"], i["value"]
            if auto(i) or "ack_through" in q or q["max_items"] != 3 or len(v["received"]) != 3 or not v["has_more"]: continue
            if place[id(i)] < len(ev) // 3 or not any(s["duplicate"] for s in v["sent"]): continue
            if j["value"].get("ack_through") != v["received"][-1]["seq"] or p["value"]["cursor"]["last_seq"] != v["received"][-1]["seq"]: continue
            v["cursor"]["last_seq"] = v["received"][-1]["seq"]
            return ev
