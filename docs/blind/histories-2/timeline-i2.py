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
    used = {}
    for t in tl.values():
        if t["parent"]:
            used[t["parent"]] = max(used.get(t["parent"], 0), t["at"])
    sends = calls(events, "send")
    asked = {}
    for e in events:
        if e["type"] == "invoke" and e.get("op") in ("send", "reply"):
            k = json.dumps([e["value"]["key"], e["value"].get("nonce")], sort_keys=True)
            asked[k] = asked.get(k, 0) + 1
    fetched = {events[o]["value"]["message"]["subject"] for i, o in calls(events, "fetch") if events[o]["value"]["message"]}
    forks = [e["value"] for e in events if e["type"] == "invoke" and e.get("op") == "fork"]
    row = {e["value"]["subject"]: n for n, e in enumerate(events) if e["type"] == "state" and e["key"] == "messages"}
    found = []
    for i, o in sends:
        v, a = events[o]["value"], events[i]["value"]
        k = json.dumps([a["key"], a.get("nonce")], sort_keys=True)
        t = tl[a["key"]["timeline"]]
        if v["number"] == t["number"] > 2 and v["hash"] == t["hash"] and asked[k] == 1 and v["subject"] not in fetched and a["key"]["type"] == "delegate" \
                and not any(f["parent"] == t["timeline"] and f["at"] >= v["number"] for f in forks):
            found.append((i, o, t))
    if not found:
        raise SystemExit("no place")
    i, o, t = found[len(found) // 2]
    n = row[events[o]["value"]["subject"]]
    m = events[n]["value"]
    t["number"], t["hash"] = m["number"] - 1, m["previous"]
    e = events[o]
    e["type"], e["code"] = "fail", "BUSY"
    for k in ("key", "seq"):
        e.pop(k, None)
    e["value"] = {"code": "BUSY", "message": "database is locked"}
    out = events[:n] + events[n + 1:]
    for e in out:
        if e["type"] == "ok" and e.get("op") == "dump":
            e["value"]["rows"]["messages"] -= 1
    return out
