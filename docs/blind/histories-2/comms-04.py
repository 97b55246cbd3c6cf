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
    procs = {}
    for e in events:
        if e["type"] == "invoke" and e.get("op") == "complete_message":
            procs.setdefault(e["agent"], set()).add(e["process"])
    agent = sorted(a for a, p in procs.items() if len(p) > 1)[-1]
    for e in events:
        if e["type"] == "state" and e["key"] == "agent_status" and e["value"]["agent_id"] == agent:
            e["value"]["messages_processed"] -= 1
    return events
