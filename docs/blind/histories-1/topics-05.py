"""retry replaces message"""
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

    # INSERT OR REPLACE: a retry stores the row anew, under the same seq and another message_id
    for i, o in reversed(syncs):
        v = o["value"]
        if len(v["sent"]) != 1 or not v["sent"][0]["duplicate"]: continue
        rec = v["sent"][0]["message"]; key = (rec["topic_id"], rec["seq"]); old = rec["message_id"]
        before = [p for j, p in syncs if place[id(p)] < place[id(i)] and any(m["message_id"] == old for m in p["value"]["received"])]
        after = [p for j, p in syncs if place[id(j)] > place[id(i)] and any(m["message_id"] == old for m in p["value"]["received"])]
        if not before or not after: continue
        new = old[:-5] + "%05x" % ((int(old[-5:], 16) * 7919 + 4243) % 0x100000)
        at = v["cursor"]["updated_at"]
        rec["message_id"], rec["created_at"] = new, at
        for j, p in syncs:                       # who reads after the retry sees the new row
            for m in p["value"]["received"]:
                if m["message_id"] == old and place[id(p)] > place[id(o)]: m["message_id"], m["created_at"] = new, at
            for s in p["value"]["sent"]:
                if s["message"]["message_id"] == old and place[id(p)] > place[id(o)]: s["message"]["message_id"], s["message"]["created_at"] = new, at
        for e in rows:
            if e["value"]["message_id"] == old: e["value"]["message_id"] = new
        return ev
