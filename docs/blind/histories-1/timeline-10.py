"""younger before older"""
import copy
import hashlib
import json


def change(events):
    ev = copy.deepcopy(events)
    opened, pairs = {}, []                       # every call: (invoke, closing event)
    for e in ev:
        if e["type"] == "invoke": opened[e["process"]] = e
        elif e["type"] in ("ok", "fail", "info"): pairs.append((opened.pop(e["process"]), e))
    place = {id(e): n for n, e in enumerate(ev)}
    first = lambda c: place[id(c[0])]
    last = lambda c: place[id(c[1])]
    rows = [e["value"] for e in ev if e["type"] == "state" and e["key"] == "messages"]
    heads = {e["value"]["timeline"]: e["value"] for e in ev if e["type"] == "state" and e["key"] == "timelines"}
    record = {}                                  # timeline -> its own messages in order
    for m in rows: record.setdefault(m["key"]["timeline"], []).append(m)
    was = {m["hash"]: m for m in rows}           # the hash that the correct run gave -> the message
    made = {o["value"]["hash"]: (i, o) for i, o in pairs if i["op"] in ("send", "reply", "fork") and o["type"] == "ok" and not o["value"]["duplicate"]}
    fetches = [(i, o) for i, o in pairs if i["op"] == "fetch" and o["value"]["message"]]
    def link(m):
        h = hashlib.sha256()
        for f in (m["previous"], str(m["number"]), m["subject"], m["nonce"] or "", m["state"] or "", json.dumps(m["payload"]), str(m["time_us"])):
            b = f.encode(); h.update(len(b).to_bytes(8, "big") + b)
        return h.hexdigest()
    def chain(broken=None):
        """Number and chain every timeline anew, and tell it in all answers. broken(timeline, index, previous) may bend a link."""
        requests, done = {}, set()
        def at(t, n):
            grow(t)
            if n == 0: return "0" * 64
            own = [m for m in record[t] if m["number"] == n]
            return own[0]["hash"] if own else at(heads[t]["parent"], n)
        def grow(t):
            if t in done: return
            done.add(t)
            n, prev = (heads[t]["at"], at(heads[t]["parent"], heads[t]["at"])) if heads[t]["parent"] else (0, "0" * 64)
            for k, m in enumerate(record[t]):
                n += 1; m["number"] = n
                if m["key"]["type"] == "request": requests[tuple(sorted((a, b) for a, b in m["key"].items() if a != "type"))] = n
                if m["key"]["type"] == "response": m["payload"] = {"to": requests.get(tuple(sorted((a, b) for a, b in m["key"].items() if a != "type")), m["payload"]["to"])}
                m["previous"] = broken(t, k, prev) if broken else prev
                prev = m["hash"] = link(m)
        for t in record: grow(t)
        for i, o in pairs:
            v = o["value"]
            if o["type"] != "ok" or not isinstance(v, dict): continue
            m = was.get(v.get("hash")) if i["op"] in ("send", "reply", "fork") else was.get((v.get("message") or {}).get("hash")) if i["op"] == "fetch" else None
            if m is None: continue
            if i["op"] == "fetch": v["message"].update(number=m["number"], previous=m["previous"], hash=m["hash"])
            else: v["number"], v["hash"] = m["number"], m["hash"]
            if i["op"] == "reply": i["value"]["payload"] = copy.deepcopy(m["payload"])
            o["seq"] = m["number"]
        for t, h in heads.items(): h["number"], h["hash"] = record[t][-1]["number"], record[t][-1]["hash"]
    def lay():
        """Write the rows of the final state in the order of the timelines' own lists."""
        slots = [e for e in ev if e["type"] == "state" and e["key"] == "messages"]
        for e, m in zip(slots, [m for t in sorted(record) for m in record[t]]): e["value"] = m
    def work(n, i, o, m, delivery, count):
        """Lines after line n in which the worker of fetch (i, o) holds m, answers it once more and acknowledges."""
        got = {**{k: copy.deepcopy(m[k]) for k in ("key", "subject", "number", "payload", "nonce", "state", "time_us", "previous", "hash", "status")},
               "delivery": delivery, "delivery_count": count}
        if m["key"]["type"] == "request": got["key"] = {"type": "request", **{k: x for k, x in m["key"].items() if k != "type"}}
        o["value"] = {"message": got}; o["key"], o["seq"] = m["subject"], m["number"]
        rep = next((a, b) for a, b in pairs if a["op"] == "reply" and b["type"] == "ok" and not b["value"]["duplicate"] and {k: x for k, x in a["value"]["key"].items()} == m["key"])
        acks = next((a, b) for a, b in pairs if a["op"] == "ack")
        new = [copy.deepcopy(e) for e in (*rep, *acks)]
        new[1]["value"]["duplicate"] = True
        new[2]["value"] = {"delivery": delivery}
        gap = (ev[n + 1]["mono_ns"] - ev[n]["mono_ns"]) // 5
        for k, e in enumerate(new, 1):
            e.update(process=o["process"], agent=o["agent"], bus_ms=o["bus_ms"], wall_ms=ev[n]["wall_ms"], mono_ns=ev[n]["mono_ns"] + k * gap)
        return new

    # one worker gets two messages in the wrong order
    by = {}
    for c in fetches: by.setdefault(c[0]["process"], []).append(c)
    for p in sorted(by, reverse=True):
        for (f, g), (h, j) in zip(by[p], by[p][1:]):
            a, b = g["value"]["message"], j["value"]["message"]
            if f["value"] != h["value"] or a["delivery_count"] + b["delivery_count"] != 2 or g["bus_ms"] != j["bus_ms"]: continue
            ma, mb = was[a["hash"]], was[b["hash"]]; sa, sb = made[a["hash"]], made[b["hash"]]
            ta, tb = ma["key"]["timeline"], mb["key"]["timeline"]
            if ta == tb or not (last(sa) < first(sb) and last(sb) < first((f, g))): continue
            def own(m): return next(c for c in pairs if c[0]["op"] == "reply" and c[0]["process"] == p and c[0]["value"]["key"] == m["key"])
            def ack(m): return next((c for c in pairs if c[0]["op"] == "ack" and c[0]["value"]["delivery"] == m["delivery"]), None)
            ra, rb, ka, kb = own(ma), own(mb), ack(a), ack(b)
            if not ka or not kb or ra[1]["value"]["duplicate"] or rb[1]["value"]["duplicate"]: continue
            x, y = was[ra[1]["value"]["hash"]], was[rb[1]["value"]["hash"]]
            after = [m for m in record[ta] if m["number"] == x["number"] + 1]
            before = [m for m in record[tb] if m["number"] == y["number"] - 1]
            if any(first(made[m["hash"]]) < last(rb) for m in after) or any(last(made[m["hash"]]) > first(ra) for m in before): continue
            for k in ("value", "key", "seq"): g[k], j[k] = j[k], g[k]
            ra[0]["value"], rb[0]["value"] = rb[0]["value"], ra[0]["value"]
            for k in ("value", "key", "seq"): ra[1][k], rb[1][k] = rb[1][k], ra[1][k]
            ka[0]["value"], kb[0]["value"] = kb[0]["value"], ka[0]["value"]
            return ev
