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
    syncs = calls(events, "sync")
    own, found = {}, []
    for i, o in syncs:
        v, a = events[o]["value"], events[i]["value"]
        key = (v["topic_id"], v["agent_name"])
        r = v["received"]
        if len(r) >= 2 and len(r) < a["max_items"] and not a.get("include_self"):
            for s, m in own.get(key, {}).items():
                if r[0]["seq"] < s < r[-1]["seq"]:
                    found.append((o, m))
        for s in v["sent"]:
            own.setdefault(key, {})[s["message"]["seq"]] = s["message"]
    o, m = found[len(found) // 2]
    v = events[o]["value"]
    m = {k: m[k] for k in v["received"][0] if k in m}
    v["received"].append(copy.deepcopy(m))
    v["received"].sort(key=lambda x: x["seq"])
    v["received_count"] = len(v["received"])
    return events
