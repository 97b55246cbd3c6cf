"""missed by pass"""
import copy


def change(events):
    ev = copy.deepcopy(events)
    invoke, answer = {}, {}                      # id of a message -> the events of its send
    for e in ev:
        if e.get("op") == "send" and e["type"] in ("invoke", "ok"): (invoke if e["type"] == "invoke" else answer)[e["value"]["id"]] = e
    rounds, now = [], []                         # what each pass found: ids in the order of the ledger; its answer
    for e in ev:
        if e.get("op") == "send" and e["type"] == "invoke": now.append(e["value"]["id"])
        if e.get("op") == "scan" and e["type"] == "ok":
            rounds.append((sorted(now, key=lambda i: i.split("/")[1]), e)); now = []
    to = lambda i: invoke[i]["value"]["to"]
    seq, lanes = {}, {}
    for e in ev:
        if e["type"] == "state":
            kind, agent = e["value"]["lane"].split()
            if kind == "outbox": seq[e["value"]["id"]] = e["value"]["seq"]
            else: lanes.setdefault(agent, []).append(e["value"]["id"])
    def finish(ev, told=None):
        """Write the numbers and the final state; `told` holds numbers that answers give instead."""
        for i, e in answer.items():
            if i in seq and e["type"] == "ok": e["value"]["seq"] = (told or {}).get(i, seq[i])
        old = [e for e in ev if e["type"] == "state"]
        new = [{"lane": "outbox " + i.split("/")[0], "id": i, "seq": n} for i, n in sorted(seq.items(), key=lambda x: x[1])]
        new += [{"lane": "inbox " + a, "id": i, "seq": None} for a in sorted(lanes) for i in lanes[a]]
        first = next(n for n, e in enumerate(ev) if e["type"] == "state")
        out = []
        for n, v in enumerate(new):
            e = copy.deepcopy(old[min(n, len(old) - 1)]); e["value"] = v
            e["mono_ns"] += 5000 * max(0, n - len(old) + 1)
            out.append(e)
        for e in ev:
            if e.get("op") == "dump" and e["type"] == "ok": e["value"]["rows"]["messages"] = len(new)
        rest = [e for e in ev[first:] if e["type"] != "state"]
        return ev[:first] + out + rest
    def shift(after, by):
        """All rows entered after the row with this number move by so much."""
        for i in seq:
            if seq[i] > after: seq[i] += by

    # a file arrives while a pass is already looking: that pass misses it, the next one finds it
    for n in range(len(rounds) // 3, len(rounds) - 1):
        (ids, s), (nxt, t) = rounds[n], rounds[n + 1]
        free = [i for i in ids[:-1] if len(to(i)) == 1 and not any(j.split("/")[0] == i.split("/")[0] for j in nxt)]
        free = [i for i in free if any(set(to(j)) & set(to(i)) for j in ids[ids.index(i) + 1:])]
        if len(nxt) < 4 or not free: continue
        i = free[0]; base = min(seq[j] for j in ids)
        a = [j for j in ids if j != i]; b = [i] + nxt
        number = base
        for group in (a, b):
            for j in group: seq[j] = number; number += 1
            number += sum(len(to(j)) for j in group)
        order = sorted(seq, key=seq.get)
        for agent in lanes: lanes[agent] = [j for j in order if agent in to(j)]
        for x, d in ((s, -1), (t, 1)): x["value"]["discovered"] += d; x["value"]["completed"] += d
        at = lambda e: next(n for n, x in enumerate(ev) if x is e)
        p, q = invoke[i], answer[i]
        ev.remove(p)
        k = at(s)                                   # between the pass's start and its end
        p["mono_ns"] = (ev[k - 1]["mono_ns"] + s["mono_ns"]) // 2; p["wall_ms"] = s["wall_ms"]
        ev.insert(k, p)
        ev.remove(q)
        k = at(t) + 1
        q["mono_ns"] = (t["mono_ns"] + ev[k]["mono_ns"]) // 2; q["wall_ms"] = t["wall_ms"]
        ev.insert(k, q)
        return finish(ev)
