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
    tl = {e["value"]["timeline"]: e["value"] for e in events if e["type"] == "state" and e["key"] == "timelines"}
    used = {t["parent"]: max([x["at"] for x in tl.values() if x["parent"] == t["parent"]]) for t in tl.values() if t["parent"]}
    replies = {events[o]["value"]["subject"]: o for i, o in calls(events, "reply")}
    times = {}
    for i, o in calls(events, "reply") + calls(events, "send"):
        times[events[o]["value"]["subject"]] = times.get(events[o]["value"]["subject"], 0) + 1
    found = []
    for n, e in enumerate(events):
        if e["type"] == "state" and e["key"] == "messages":
            m = e["value"]
            t = tl[m["key"]["timeline"]]
            if t["number"] == m["number"] and used.get(t["timeline"], 0) < m["number"] and m["number"] > 2 and m["subject"] in replies and times[m["subject"]] == 1:
                found.append((n, m, t))
    n, m, t = found[len(found) // 2]
    t["number"], t["hash"] = m["number"] - 1, m["previous"]
    out = events[:n] + events[n + 1:]
    for e in out:
        if e["type"] == "ok" and e.get("op") == "dump":
            e["value"]["rows"]["messages"] -= 1
    return out
