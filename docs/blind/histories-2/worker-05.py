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
    polls, acks = calls(events, "poll"), calls(events, "ack")
    for i, o in reversed(polls[: len(polls) * 2 // 3]):
        agent = events[i]["agent"]
        ms = events[o]["value"]["messages"]
        before = [b for a, b in acks if b < i and events[a]["agent"] == agent]
        if not before or not ms or len(ms) >= events[i]["value"]["limit"]:
            continue
        cur = events[before[-1]]["value"]["last_acked_seq"]
        if ms[0]["seq"] <= cur or any(events[a]["agent"] == agent and a < o and b > i for a, b in acks):
            continue
        seen = [m for a, b in polls if b < i and events[a]["agent"] == agent for m in events[b]["value"]["messages"] if m["seq"] == cur]
        if seen and seen[-1]["seq"] == cur:
            ms.insert(0, copy.deepcopy(seen[-1]))
            return events
    raise SystemExit("no place")
