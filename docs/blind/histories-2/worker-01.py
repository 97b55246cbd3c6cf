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
    published = {events[o]["value"]["id"]: o for _, o in reversed(calls(events, "publish"))}
    ps = pairs(events)
    todo = calls(events, "poll")
    for i, o in reversed(todo[: len(todo) * 3 // 4]):
        ms = events[o]["value"]["messages"]
        if len(ms) < 3 or len(ms) >= events[i]["value"]["limit"]:
            continue
        last = ms[-1]
        if published.get(last["id"], 10**9) >= i:
            continue
        later = [n for n in range(o + 1, len(events)) if events[n]["process"] == events[i]["process"] and events[n]["type"] == "invoke"]
        nxt = next((n for n in later if events[n]["op"] in ("poll", "ack")), None)
        if nxt is None or (events[nxt]["op"] == "ack" and events[nxt]["value"]["seq"] >= last["seq"]):
            continue
        ms.pop()
        return events
    raise SystemExit("no place")
