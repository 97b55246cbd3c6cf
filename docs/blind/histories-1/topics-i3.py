"""lost acknowledgement"""
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

    # a call that acknowledges is lost on its way to the bus; after a new join the messages come again
    fresh = max(e["process"] for e in ev) + 1
    for (agent, topic), line in lines.items():
        for (h, n), (i, o), (j, p), (k, q) in zip(line, line[1:], line[2:], line[3:]):
            ack = i["value"].get("ack_through")
            if ack is None or place[id(i)] < len(ev) // 4 or not p["value"]["received"] or p["value"]["has_more"]: continue
            if "ack_through" in j["value"] or j["value"]["max_items"] != 20 or k["value"].get("ack_through") != p["value"]["received"][-1]["seq"]: continue
            old = n["value"]["cursor"]["last_seq"]
            again = [copy.deepcopy(m) for (t, s), m in sorted(born.items()) if t == topic and old < s <= ack and m["sender"] != agent]
            if o["value"]["cursor"]["last_seq"] != ack or len(again) < 2 or len(again) + len(p["value"]["received"]) > 20: continue
            if p["value"]["cursor"]["last_seq"] != ack: continue
            proc = i["process"]; o["type"] = "info"; o["code"] = "TIMEOUT"; o["value"] = {"code": "TIMEOUT", "message": "no answer"}
            p["value"]["received"] = again + p["value"]["received"]; p["value"]["received_count"] = len(p["value"]["received"])
            p["value"]["cursor"]["last_seq"] = old
            cut = place[id(o)]
            new = next(x for x in range(cut + 1, len(ev)) if ev[x]["process"] == proc)
            extra = []
            for a, b in pairs:
                if a["op"] == "topic_join" and a["process"] == proc:
                    x, y = copy.deepcopy(a), copy.deepcopy(b)
                    x["value"]["reclaim_token"] = b["value"]["reclaim_token"]
                    extra += [x, y]
            step = (ev[new]["mono_ns"] - o["mono_ns"]) // (len(extra) + 1)
            for x, e in enumerate(extra, 1):
                e.update(process=fresh, mono_ns=o["mono_ns"] + x * step, wall_ms=o["wall_ms"])
            for e in ev[cut + 1:]:
                if e["process"] == proc: e["process"] = fresh
            return ev[:new] + extra + ev[new:]
