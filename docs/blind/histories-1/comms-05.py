import json


def pairs(events):
    """(invoke, closing event) of every call, in the order of their ends."""
    opened, out = {}, []
    for e in events:
        if e["type"] == "invoke":
            opened[e["process"]] = e
        elif e["type"] in ("ok", "fail", "info"):
            out.append((opened[e["process"]], e))
    return out


def rows(events, key):
    return [e for e in events if e["type"] == "state" and e.get("key") == key]


def recount(events):
    """The numbers of rows that the answer of dump tells."""
    for e in events:
        if e["type"] == "ok" and e.get("op") == "dump":
            for key in e["value"]["rows"]:
                e["value"]["rows"][key] = len(rows(events, key))
    return events


def receives(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "receive_messages" and b["type"] == "ok"]


def final(events):
    """The last look of every process at all that waits for its agent."""
    top = max(a["value"]["limit"] for a, b in receives(events))
    return [(a, b) for a, b in receives(events) if a["value"]["limit"] == top]


def claims(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "claim_message" and b["type"] == "ok"]


def completions(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "complete_message" and b["type"] == "ok"]


def row_of(events, key, **fields):
    return next(e for e in rows(events, key) if all(e["value"][k] == v for k, v in fields.items()))


def sends(events):
    return [(a, b) for a, b in pairs(events) if a["op"] == "send_message" and b["type"] == "ok"]


def change(events):
    for e in rows(events, "dead_letter_queue"):
        original = json.loads(e["value"]["original_message"])
        if original["type"] == "note" and original["to_agent"] and original["priority"] != 5:
            original["priority"] = 5
            e["value"]["original_message"] = json.dumps(original)
    return events
