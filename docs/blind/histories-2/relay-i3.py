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
    cut = scans[len(scans) // 2][0]
    edge = min(events[o]["value"]["seq"] for i, o in calls(events, "send") if o > cut)
    for e in events:
        v = e.get("value")
        if e["type"] == "ok" and e.get("op") == "send" and v["seq"] >= edge:
            v["seq"] += 11
            if "seq" in e:
                e["seq"] = v["seq"]
        if e["type"] == "state" and v.get("seq") is not None and v["seq"] >= edge:
            v["seq"] += 11
    ns = rows(events)
    ins = [events[n]["value"] for n in ns if events[n]["value"]["lane"].startswith("inbox")]
    outs = [events[n]["value"] for n in ns if events[n]["value"]["lane"].startswith("outbox")]
    lanes = sorted({v["lane"] for v in ins}, reverse=True)
    vals = outs + [v for lane in lanes for v in ins if v["lane"] == lane]
    assert len(vals) == len(ns)
    for n, v in zip(ns, vals):
        events[n]["value"] = v
    return events
