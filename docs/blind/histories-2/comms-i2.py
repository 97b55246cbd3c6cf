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
    order = {e["value"]["id"]: n for n, e in enumerate(x for x in events if x["type"] == "state" and x["key"] == "messages")}
    sends, got = calls(events, "send_message"), calls(events, "receive_messages")
    sent = {events[o]["key"]: (i, o) for i, o in sends}
    for i, o in got:
        ms = events[o]["value"]["messages"]
        if len(ms) >= events[i]["value"]["limit"]:
            continue
        for n, m in enumerate(ms):
            if m["id"] not in sent or m["id"] not in order:
                continue
            a, b = sent[m["id"]]
            if b < o or a > o:
                continue
            later = [k for k in order if order[k] > order[m["id"]]]
            if any(k in sent and sent[k][1] < o for k in later):
                continue
            if any(e["type"] == "ok" and x < o and e.get("op") == "receive_messages" and x != o and any(y["id"] == m["id"] for y in e["value"]["messages"]) for x, e in enumerate(events)):
                continue
            if any(e["type"] == "invoke" and e.get("op") == "claim_message" and e["key"] == m["id"] and x < o for x, e in enumerate(events)):
                continue
            del ms[n]
            return events
    # nobody saw a message that early: a look that overlapped a send and missed it shows it now
    raise SystemExit("no place")
