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
    task = "build"
    grants = [e for e in events if e.get("op") == "try_claim_task" and e["type"] == "ok" and e.get("key") == task and e["value"].get("claimed")]
    released = [e for e in events if e.get("op") == "release_claim" and e["type"] == "ok" and e.get("key") == task and e["value"].get("released")]
    pick = grants[-2]["token"]
    for e in grants:
        if e["token"] >= pick:
            e["token"] -= 1
            e["value"]["token"] -= 1
    for e in events:
        if e["type"] == "state" and e.get("op") == "dump" and e["key"] == "task_tokens" and e["value"]["task_id"] == task:
            e["value"]["token"] -= 1
    return events
