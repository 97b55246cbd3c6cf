"""other commit order"""
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

    # two overlapping syncs of two peers commit in the other order: their blocks of numbers change places
    for (t, s), m in sorted(born.items(), key=lambda x: x[0][1]):
        a = sends[(t, s)]; ma = [x["message"] for x in a[1]["value"]["sent"]]
        if ma[0]["seq"] != s or s < 10 or any(x["duplicate"] for x in a[1]["value"]["sent"]): continue
        k = len(ma); b = sends.get((t, s + k))
        if b is None or b[1]["agent"] == a[1]["agent"] or any(x["duplicate"] for x in b[1]["value"]["sent"]): continue
        mb = [x["message"] for x in b[1]["value"]["sent"]]; l = len(mb)
        if mb[0]["seq"] != s + k: continue
        ta, tb = a[1]["value"]["cursor"]["updated_at"], b[1]["value"]["cursor"]["updated_at"]
        inside = lambda c, x: c[0]["wall_ms"] / 1000 + .001 <= x <= c[1]["wall_ms"] / 1000 - .001
        if not (place[id(a[0])] < place[id(b[1])] and place[id(b[0])] < place[id(a[1])] and inside(a, tb) and inside(b, ta)): continue
        block, end = set(range(s, s + k + l)), s + k + l - 1
        good = True
        for i, o in syncs:
            if o["value"]["topic_id"] != t: continue
            c = o["value"]["cursor"]["last_seq"]; got = {r["seq"] for r in o["value"]["received"]}
            if s <= c < end or s <= i["value"].get("ack_through", -1) < end: good = False
            want = {q for q in block if born[(t, q)]["sender"] != o["agent"]}
            if got & block and got & block != want: good = False
        for c in (a, b):
            v = c[1]["value"]; last = v["cursor"]["last_seq"]
            high = max([last] + [r["seq"] for r in v["received"]])
            left = [q for q in range(high + 1, s) if born[(t, q)]["sender"] != c[1]["agent"]]
            if high >= s or not v["has_more"] or len(left) < 2: good = False
        if not good: continue
        move = {q: (q + l if q < s + k else q - k) for q in block}
        ids = {r["message_id"]: (move[r["seq"]], tb if r in ma else ta) for r in ma + mb}
        for i, o in syncs:
            v = o["value"]
            for r in v["received"] + [x["message"] for x in v["sent"]]:
                if r["message_id"] in ids: r["seq"], r["created_at"] = ids[r["message_id"]]
            v["received"].sort(key=lambda r: r["seq"])
        a[1]["value"]["cursor"]["updated_at"], b[1]["value"]["cursor"]["updated_at"] = tb, ta
        hit = [e for e in rows if e["value"]["message_id"] in ids]
        vals = sorted(({**e["value"], "seq": ids[e["value"]["message_id"]][0]} for e in hit), key=lambda v: v["seq"])
        for e, v in zip(hit, vals): e["value"] = v
        return ev
