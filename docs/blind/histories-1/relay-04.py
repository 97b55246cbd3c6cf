"""recipients mixed up"""
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

    # two direct messages of one pass go into each other's recipient's inbox
    for ids, s in rounds[len(rounds) // 2:]:
        one = [i for i in ids if len(to(i)) == 1]
        hit = [(a, b) for a in one for b in one if seq[b] == seq[a] + 1 and to(a) != to(b)]
        if hit:
            a, b = hit[0]; la, lb = lanes[to(a)[0]], lanes[to(b)[0]]
            x, y = la.index(a), lb.index(b)
            la[x], lb[y] = b, a
            return finish(ev)
