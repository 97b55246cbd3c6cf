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
    rows = {e["value"]["id"]: e["value"] for e in events if e["type"] == "state" and e["key"] == "messages"}
    claims, done = calls(events, "claim_message"), calls(events, "complete_message")
    found = []
    for i, o in claims:
        if events[o]["value"].get("claimed"):
            continue
        key, agent = events[i]["key"], events[i]["agent"]
        for a, b in claims:
            if events[a]["key"] == key and events[a]["agent"] == agent and events[b]["value"].get("claimed") and events[a]["process"] != events[i]["process"] \
                    and b < i and events[b]["bus_ms"] == events[o]["bus_ms"]:
                ends = [c for c, d in done if events[c]["key"] == key and events[c]["agent"] == agent and c > b]
                if ends and ends[0] > o:
                    found.append((i, o, b, key))
    best = [f for f in found if f[3] in rows and rows[f[3]]["to_agent"]] or found
    i, o, b, _ = best[len(best) // 2]
    e, w = events[o], events[b]
    e["value"] = copy.deepcopy(w["value"])
    for k in ("token", "granted", "lease_until_ms"):
        e[k] = w[k]
    return events
