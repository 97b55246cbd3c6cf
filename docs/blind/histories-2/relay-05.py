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
    scan = {events[i]["value"]["id"]: max(k for k, (a, b) in enumerate(scans) if a < o) for i, o in calls(events, "send")}
    found = []
    for n in rows(events):
        v = events[n]["value"]
        if not v["lane"].startswith("inbox"):
            continue
        ns = [k for k in rows(events, v["lane"]) if k > n and scan[events[k]["value"]["id"]] <= scan[v["id"]] + 1]
        if ns and scan[events[ns[-1]]["value"]["id"]] == scan[v["id"]] + 1:
            found.append((n, ns[-1]))
    n, k = found[len(found) * 2 // 5]
    again = copy.deepcopy(events[n])
    events.insert(k + 1, again)
    count(events, 1)
    return events
