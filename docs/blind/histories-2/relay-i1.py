import copy, json


def pairs(events):
    """(invoke, closing event) of each call, by place in the list: {place of invoke: place of closing}."""
    open_, out = {}, {}
    for n, e in enumerate(events):
        if e["type"] == "invoke":
            open_[e["process"]] = n
        elif e["type"] in ("ok", "fail", "info") and e["process"] in open_:
            out[open_.pop(e["process"])] = n
    return out


def calls(events, op, kind="ok"):
    return [(i, o) for i, o in sorted(pairs(events).items()) if events[i].get("op") == op and events[o]["type"] == kind]


def rows(events, lane=None):
    """Places of the final state's rows, of one lane or of all."""
    return [n for n, e in enumerate(events) if e["type"] == "state" and (lane is None or e["value"]["lane"] == lane)]


def count(events, by):
    for e in events:
        if e["type"] == "ok" and e.get("op") == "dump":
            e["value"]["rows"]["messages"] += by


def change(events):
    events = copy.deepcopy(events)
    scans = calls(events, "scan")
    sends = calls(events, "send")
    seq = {events[o]["value"]["id"]: events[o]["value"]["seq"] for _, o in sends}
    for k in range(len(scans) // 3, len(scans) - 2):
        (a, b), (c, d) = scans[k], scans[k + 1]
        if events[a]["bus_ms"] != events[c]["bus_ms"] or any(e.get("op") == "clock.set" for e in events[a:d]):
            continue
        mine = [(i, o) for i, o in sends if i < a and o > b and o < c]
        nxt = [(i, o) for i, o in sends if b < i < c and o > d]
        if len(mine) < 2 or not nxt:
            continue
        busy = {events[i]["process"] for i, _ in nxt}
        late = [(i, o) for i, o in mine if events[i]["process"] not in busy and len(events[i]["value"]["to"]) == 1]
        if not late:
            continue
        i, o = late[0]
        m = events[i]["value"]
        first = min(events[y]["value"]["seq"] for _, y in nxt)
        new = first - 1                      # an id that a row of an inbox had; that row's id moves up unseen
        if new <= max(events[y]["value"]["seq"] for _, y in mine):
            continue
        for v, by in ((events[b]["value"], -1), (events[d]["value"], 1)):
            v["discovered"] += by
            v["completed"] += by
        later = {events[x]["value"]["id"] for x, _ in nxt}
        events[o]["value"]["seq"] = new
        if "seq" in events[o]:
            events[o]["seq"] = new
        for n in rows(events, "outbox " + m["agent"]):
            if events[n]["value"]["id"] == m["id"]:
                events[n]["value"]["seq"] = new
        # the rows of the outboxes stand by id, if they stand in one list
        outs = [n for n in rows(events) if events[n]["value"]["lane"].startswith("outbox")]
        vals = sorted((events[n]["value"] for n in outs), key=lambda v: v["seq"])
        if [events[n]["value"]["id"] for n in outs if events[n]["value"]["id"] != m["id"]] == [v["id"] for v in vals if v["id"] != m["id"]]:
            for n, v in zip(outs, vals):
                events[n]["value"] = v
        # in the inbox it now comes behind the others of the first pass
        lane = "inbox " + m["to"][0]
        ns = rows(events, lane)
        here = next(n for n in ns if events[n]["value"]["id"] == m["id"])
        same = [n for n in ns if events[n]["value"]["id"] in {events[x]["value"]["id"] for x, _ in mine}]
        row = events[here]["value"]
        for n in range(here, max(same)):
            events[n]["value"] = events[n + 1]["value"]
        events[max(same)]["value"] = row
        answer = events.pop(o)
        for k in ("wall_ms", "mono_ns"):
            answer[k] = events[d - 1][k]
        events.insert(d, answer)             # d is the place behind the second pass, one less after the pop
        return events
    raise SystemExit("no place")
