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


import hashlib


def digest(m):
    h = hashlib.sha256()
    for x in (m["previous"], str(m["number"]), m["subject"], m["nonce"] or "", m["state"] or "", json.dumps(m["payload"]), str(m["time_us"])):
        b = x.encode()
        h.update(len(b).to_bytes(8, "big"))
        h.update(b)
    return h.hexdigest()


def rechain(events, change_previous=None):
    """The chain anew over the final state's messages; every old hash in the run becomes the new one.
    change_previous: {subject: function of (record) -> previous} for messages that follow another hash than they should."""
    rec = {}
    for e in events:
        if e["type"] == "state" and e["key"] == "messages":
            rec.setdefault(e["value"]["key"]["timeline"], {})[e["value"]["number"]] = e["value"]
    parents = {e["value"]["timeline"]: e["value"] for e in events if e["type"] == "state" and e["key"] == "timelines"}
    new, done = {}, set()

    def visible(t, n):
        """The message n as timeline t sees it."""
        while n not in rec.get(t, {}) or (parents[t]["parent"] and n <= parents[t]["at"]):
            t = parents[t]["parent"]
        return rec[t][n]

    def walk(t):
        if t in done:
            return
        done.add(t)
        if parents[t]["parent"]:
            walk(parents[t]["parent"])
        for n in sorted(rec.get(t, {})):
            m = rec[t][n]
            prev = "0" * 64 if n == 1 else visible(t, n - 1)["hash"]
            if change_previous and m["subject"] in change_previous:
                prev = change_previous[m["subject"]](visible, t, n)
            old = m["hash"]
            m["previous"] = prev
            m["hash"] = digest(m)
            if m["hash"] != old:
                new[old] = m["hash"]

    for t in parents:
        walk(t)
    return new


def remap(value, new):
    if isinstance(value, dict):
        return {k: remap(v, new) for k, v in value.items()}
    if isinstance(value, list):
        return [remap(v, new) for v in value]
    return new.get(value, value) if isinstance(value, str) else value


def change(events):
    events = copy.deepcopy(events)
    row = {}
    for e in events:
        if e["type"] == "state" and e["key"] == "messages":
            row[(e["value"]["key"]["timeline"], e["value"]["number"])] = e
    forks = [e["value"] for e in events if e["type"] == "invoke" and e.get("op") == "fork"]
    fetched = {events[o]["value"]["message"]["subject"] for i, o in calls(events, "fetch") if events[o]["value"]["message"]}
    sends = calls(events, "send") + calls(events, "reply")
    first, times = {}, {}
    for i, o in sends:
        first.setdefault(events[o]["value"]["subject"], (i, o))
        times[events[o]["value"]["subject"]] = times.get(events[o]["value"]["subject"], 0) + 1
    done = 0
    for (t, n), e in sorted(row.items()):
        f = row.get((t, n + 1))
        if not f:
            continue
        a, b = e["value"], f["value"]
        if a["subject"] not in first or b["subject"] not in first or a["time_us"] != b["time_us"] or {a["subject"], b["subject"]} & fetched:
            continue
        (i, o), (k, l) = first[a["subject"]], first[b["subject"]]
        if not (i < l and k < o) or any(x["parent"] == t and x["at"] == n for x in forks):
            continue
        if a["number"] != n or b["number"] != n + 1:
            continue
        if times[a["subject"]] != 1 or times[b["subject"]] != 1:
            continue
        a["number"], b["number"] = n + 1, n
        e["value"], f["value"] = b, a
        for at, m in ((o, a), (l, b)):
            events[at]["value"]["number"] = m["number"]
            if "seq" in events[at]:
                events[at]["seq"] = m["number"]
        done += 1
        break
    assert done
    new = rechain(events)
    events = [remap(e, new) for e in events]
    rec = {e["value"]["subject"]: e["value"] for e in events if e["type"] == "state" and e["key"] == "messages"}
    at = {(m["key"]["timeline"], m["number"]): m for m in rec.values()}
    for e in events:
        if e["type"] == "state" and e["key"] == "timelines" and (e["value"]["timeline"], e["value"]["number"]) in at:
            e["value"]["hash"] = at[(e["value"]["timeline"], e["value"]["number"])]["hash"]
        if e["type"] == "ok" and e.get("op") == "fetch" and e["value"]["message"]:
            m = e["value"]["message"]
            m["previous"], m["hash"] = rec[m["subject"]]["previous"], rec[m["subject"]]["hash"]
    return events
