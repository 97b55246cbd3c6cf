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
    fetches, sends = calls(events, "fetch"), calls(events, "send")
    sent = {}
    for i, o in sends:
        sent.setdefault(events[o]["value"]["subject"], o)
    found = []
    for i, o in fetches:
        if events[o]["value"]["message"] is not None:
            continue
        want = events[i]["value"]["filter"].get("service")
        for a, b in fetches:
            m = events[b]["value"]["message"]
            other = events[a]["value"]["filter"].get("service")
            if m and want and other and other != want and m["key"]["service"] == other and sent.get(m["subject"], 10**9) < i:
                found.append((abs(b - i), i, o, b, want, other))
    found.sort()
    _, i, o, b, want, other = found[0]
    m = copy.deepcopy(events[b]["value"]["message"])
    name, pos, _n = m["delivery"].rsplit(":", 2)
    m["delivery"], m["delivery_count"] = name.replace("+" + other + "+", "+" + want + "+") + ":" + pos + ":1", 1
    events[o]["value"]["message"] = m
    events[o]["key"], events[o]["seq"] = events[b]["key"], events[b]["seq"]
    return events
