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
    sent = {events[i]["value"]["id"]: events[i]["value"] for i, _ in calls(events, "send")}
    scans = calls(events, "scan")
    scan = {events[i]["value"]["id"]: max(k for k, (a, b) in enumerate(scans) if a < o) for i, o in calls(events, "send")}
    found = []
    for n in rows(events):
        v = events[n]["value"]
        if not v["lane"].startswith("inbox"):
            continue
        for k in rows(events, v["lane"]):
            w = events[k]["value"]
            if k > n and scan[v["id"]] == scan[w["id"]] and len(v["body"]) == len(w["body"]) and v["body"] != w["body"]:
                found.append((n, k))
    a, b = found[len(found) // 2]
    events[a]["value"]["body"], events[b]["value"]["body"] = events[b]["value"]["body"], events[a]["value"]["body"]
    return events
