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


def unread(events):
    """Sends to one agent that nobody saw before the last look, and nobody claimed; the last of each agent first."""
    late = {id(b) for a, b in final(events)}
    seen = {m["id"] for a, b in receives(events) if id(b) not in late for m in b["value"]["messages"]}
    seen |= {a["key"] for a, b in claims(events)}
    there = {m["id"] for a, b in final(events) for m in b["value"]["messages"]}
    return [(a, b) for a, b in sends(events) if a["value"].get("to_agent") and b["key"] in there - seen]


def without(events, message_id, agent):
    """The message was never stored."""
    for a, b in receives(events):
        b["value"]["messages"] = [m for m in b["value"]["messages"] if m["id"] != message_id]
    row_of(events, "agent_status", agent_id=agent)["value"]["messages_pending"] -= 1
    gone = row_of(events, "messages", id=message_id)
    return recount([e for e in events if e is not gone])


def change(events):
    a, b = max(unread(events), key=lambda c: (c[0]["value"]["priority"] < 10, c[0]["index"]))
    return without(events, b["key"], a["value"]["to_agent"])
