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
    ex = calls(events, "export_to_jsonl")
    for i, o in reversed(ex[:-1]):
        top = events[o]["value"]["last_seq"]
        mine = [b for a, b in ex if events[a]["process"] == events[i]["process"] and b < i]
        if not mine:
            continue
        old = events[mine[-1]]["value"]["last_seq"]
        if old < top and any(b < i and events[b]["value"]["last_seq"] == top for a, b in ex):
            events[o]["value"]["last_seq"] = old
            return events
    raise SystemExit("no place")
