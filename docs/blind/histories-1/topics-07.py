"""one seq twice"""
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

    # two writers read the same next_seq: the second message gets the number of the first, its own stays unused
    marks = {}
    for i, o in syncs:
        t = o["value"]["topic_id"]
        marks.setdefault(t, set()).update([o["value"]["cursor"]["last_seq"], i["value"].get("ack_through", -1)])
        marks[t].update(m["seq"] for m in o["value"]["received"][-1:])
    for (t, s), m in born.items():
        n = born.get((t, s + 1))
        if n is None or s in marks[t] or s + 1 in marks[t] or s < 20: continue
        a, b = sends[(t, s)], sends[(t, s + 1)]
        if m["sender"] == n["sender"] or len(a[1]["value"]["sent"]) != 1 or len(b[1]["value"]["sent"]) != 1: continue
        if not (place[id(a[0])] < place[id(b[1])] and place[id(b[0])] < place[id(a[1])]): continue
        ident = n["message_id"]
        for i, o in syncs:
            for r in o["value"]["received"] + [x["message"] for x in o["value"]["sent"]]:
                if r["message_id"] == ident: r["seq"] = s
        for e in rows:
            if e["value"]["message_id"] == ident: e["value"]["seq"] = s
        return ev
