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


def change(events):
    events = copy.deepcopy(events)
    log, sent = {}, {}
    for e in events:
        if e["type"] == "state":
            log.setdefault(e["value"]["topic_id"], {})[e["value"]["seq"]] = e["value"]
    syncs = calls(events, "sync")
    for i, o in syncs:
        for s in events[o]["value"]["sent"]:
            sent.setdefault((s["message"]["topic_id"], s["message"]["seq"]), o)
    found = []
    for i, o in syncs:
        v = events[o]["value"]
        if not v["has_more"] or not v["received"]:
            continue
        top = v["received"][-1]["seq"]
        left = [s for s, m in log[v["topic_id"]].items() if s > top and m["sender"] != v["agent_name"] and sent.get((v["topic_id"], s), 10**9) < i]
        if left:
            found.append((len(left), -o))
    found.sort()
    events[-found[0][1]]["value"]["has_more"] = False
    return events
