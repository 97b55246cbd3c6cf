"""Damage to real histories: to the answers of a bus, and to the file. Drawn at random, by seed."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from busproof.contract.history import STATE_OPS

Events = list[dict[str, Any]]
SENDS = ("send_message", "publish", "sync", "ack")


def events_of(path: Path) -> Events:
    """Its lines."""
    return [json.loads(line) for line in path.read_text().splitlines()]


def written(events: Events, path: Path) -> Path:
    """A whole history of these events, indexed and counted anew, of a run that has the file's name."""
    body = [event for event in events if event["type"] != "footer"]
    rows: dict[str, int] = {}
    for n, event in enumerate(body):  # a row that is gone is the bus's, not the file's
        if event["type"] == "ok" and event["op"] in STATE_OPS and "rows" in (event["value"] or {}):
            rows = dict.fromkeys(event["value"]["rows"], 0)
            body[n] = {**event, "value": {**event["value"], "rows": rows}}
        elif event["type"] == "state":
            rows[event["key"]] += 1
    states = sum(event["type"] == "state" for event in body)
    footer = {**events[-1], "type": "footer", "process": -1, "value": {"events": len(body), "states": states}}
    footer = {name: footer[name] for name in ("run", "system", "process", "type", "wall_ms", "mono_ns", "value")}
    lines_ = (
        json.dumps({**event, "index": n, "run": path.stem}, separators=(",", ":")) + "\n"
        for n, event in enumerate([*body, footer])
    )
    path.write_text("".join(lines_))
    return path


# -- damage to the answers


def _places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The way to every scalar in it."""
    if isinstance(value, dict):
        return [place for name, inner in value.items() for place in _places(inner, (*path, name))]
    if isinstance(value, list):
        return [place for n, inner in enumerate(value) for place in _places(inner, (*path, n))]
    return [path] if path else []


class Damage:
    """Some answers, and rows of the final state, are altered, lost, doubled or exchanged; some calls fail."""

    def __init__(self, events: Events, seed: int) -> None:
        self.events = copy.deepcopy(events)
        self.rng = random.Random(seed)
        self.answers = [e for e in self.events if e["type"] == "ok" and e["op"] not in (*STATE_OPS, "clock.set")]
        self.states = [e for e in self.events if e["type"] == "state" and isinstance(e["value"], dict)]
        values = [e["value"] for e in (*self.answers, *self.states) if isinstance(e["value"], dict)]
        self.scalars = [scalar for value in values for scalar in value.values() if isinstance(scalar, (str, int))]

    def done(self) -> Events:
        """A few of them at once."""
        kinds = (self.alter, self.alter, self.alter_state, self.lists, self.outcome, self.exchange, self.lose_state)
        for _ in range(self.rng.randint(2, 12)):
            self.rng.choice(kinds)()
        return self.events

    def phantoms(self) -> Events:
        """Some sends were never answered, or refused, and messages of nobody stand in the final state."""
        for event in self.rng.sample([e for e in self.answers if e["op"] in SENDS], self.rng.randint(0, 4)):
            event["type"], event["value"] = self.rng.choice(("info", "fail")), {}
        for n in range(self.rng.randint(0, 4)):
            row = copy.deepcopy(self.rng.choice([e for e in self.states if e["key"] == "messages"]))
            row["value"]["id" if "id" in row["value"] else "message_id"] = f"nobody's {n}"
            self.events.insert(next(at for at, e in enumerate(self.events) if e is self.states[-1]), row)
        return self.events

    def alter(self) -> None:
        """One value of an answer becomes another one of its kind."""
        self._alter(self.rng.choice(self.answers)["value"])

    def alter_state(self) -> None:
        """One value of a row of the final state."""
        self._alter(self.rng.choice(self.states)["value"])

    def _alter(self, value: Any) -> None:
        if not (places := _places(value)):
            return
        *way, last = self.rng.choice(places)
        for step in way:
            value = value[step]
        was = value[last]
        near = [was + 1, was - 1, 0, 2**40] if type(was) is int else [was]
        alike = [scalar for scalar in self.scalars if type(scalar) is type(was)] or [was]
        value[last] = self.rng.choice([*near, *self.rng.choices(alike, k=4), not was if was in (True, False) else was])

    def lists(self) -> None:
        """A list in an answer lacks a row, has one twice, or is turned round."""
        value = self.rng.choice(self.answers)["value"]
        lists = [rows for rows in value.values() if isinstance(rows, list) and rows] if isinstance(value, dict) else []
        if lists:
            rows = self.rng.choice(lists)
            row = self.rng.randrange(len(rows))
            self.rng.choice((lambda: rows.pop(row), lambda: rows.append(rows[row]), rows.reverse))()

    def outcome(self) -> None:
        """An answered call was refused, or nobody knows."""
        self.rng.choice(self.answers)["type"] = self.rng.choice(("fail", "info"))

    def exchange(self) -> None:
        """Two calls got each other's answers."""
        first, other = self.rng.sample(self.answers, 2)
        if first["op"] == other["op"]:
            first["value"], other["value"] = other["value"], first["value"]

    def lose_state(self) -> None:
        """A row of the final state is gone."""
        gone = self.rng.choice(self.states)
        self.events = [event for event in self.events if event is not gone]
        self.states = [event for event in self.states if event is not gone]


def malformed(events: Events) -> Events:
    """A number in quotes, a fraction, one of more than 64 bits, null for a list, and rows that lack something."""
    events = copy.deepcopy(events)

    def answered(op: str) -> Events:
        return [event for event in events if event.get("op") == op and event["type"] == "ok"]

    def rows(key: str) -> Events:
        return [event for event in events if event["type"] == "state" and event["key"] == key]

    for event, seq in zip(answered("publish"), ("5", 9.5, 2**63, True), strict=False):
        event["value"]["seq"] = seq
    polls = [event for event in answered("poll") if event["value"]["messages"]]
    polls[0]["value"]["messages"] = None
    polls[1]["value"]["messages"][0].pop("seq")
    polls[2]["value"] = "nothing"
    rows("messages")[0]["value"].pop("id")
    rows("lines")[0]["value"] = None
    answered("ack")[0]["value"]["last_acked_seq"] = [1]
    answered("try_claim_task")[0]["code"] = "MALFORMED"  # as the kit records answers that its models refuse
    return events


def far_cursor(events: Events) -> Events:
    """A cursor of 10^12, which is no number of messages."""
    events = copy.deepcopy(events)
    sync = next(event for event in events if event.get("op") == "sync" and event["type"] == "ok")
    sync["value"]["cursor"]["last_seq"] = 10**12
    return events


def without_cursor(events: Events) -> Events:
    """A sync that was answered with messages, and does not say where the cursor is."""
    events = copy.deepcopy(events)
    syncs = (event for event in events if event.get("op") == "sync" and event["type"] == "ok")
    next(event for event in syncs if event["value"]["received"])["value"].pop("cursor")
    return events


def left_out_after_a_lost_answer(events: Events) -> tuple[Events, int]:
    """A sync without its answer, and a message left out long afterwards; and the event that lacks it."""
    events = copy.deepcopy(events)
    syncs = [e for e in events if e.get("op") == "sync" and e["type"] == "ok" and len(e["value"]["received"]) > 2]
    lost = next(event for event in syncs if event["agent"] not in ("ben", "eve"))
    left_out = next(event for event in syncs if event["agent"] == lost["agent"] and event["index"] > lost["index"])
    lost["type"], lost["value"] = "info", {}
    left_out["value"]["received"].pop(1)
    return events, left_out["index"]


# -- one alteration each, and the kind of violation that it is


def _answers(events: Events, op: str, member: str = "") -> Events:
    """The answers of this method in which the member is not empty."""
    answers = [event for event in events if event.get("op") == op and event["type"] == "ok"]
    return [event for event in answers if not member or event["value"].get(member)]


def _rows(events: Events, key: str) -> Events:
    return [event for event in events if event["type"] == "state" and event["key"] == key]


def _torn_payload(events: Events) -> None:
    row = next(row for row in _rows(events, "messages") if len(row["value"].get("payload") or "") > 5)
    row["value"]["payload"] = row["value"]["payload"][:4]


def _torn_letter(events: Events) -> None:
    letter = _rows(events, "dead_letter_queue")[0]
    letter["value"]["original_message"] = letter["value"]["original_message"][:9]


def _unread_payload(events: Events) -> None:
    rows = [row for event in _answers(events, "poll", "messages") for row in event["value"]["messages"]]
    row = next(row for row in rows if row["payload"] is not None and "payload_ref" not in row)
    row["payload"], row["payload_error"] = None, "decode_failed"


def _far_ahead(events: Events) -> None:
    """An acknowledgement is answered with what its reader asks for only later."""
    acks = _answers(events, "ack")
    reader = next(ack["agent"] for ack in acks if sum(ack["agent"] == other["agent"] for other in acks) > 1)
    first, *_, last = (ack for ack in acks if ack["agent"] == reader)
    first["value"]["last_acked_seq"] = last["value"]["last_acked_seq"] = last["seq"] = 1_000
    invoke = next(e for e in reversed(events[: last["index"]]) if e["process"] == last["process"])
    invoke["seq"] = invoke["value"]["seq"] = 1_000


def _of_another_sender(events: Events) -> None:
    _answers(events, "sync", "sent")[0]["value"]["sent"][0]["message"]["sender"] = "nobody"


def _other_client_id(events: Events) -> None:
    sent = [sending["message"] for event in _answers(events, "sync", "sent") for sending in event["value"]["sent"]]
    next(message for message in sent if message["client_message_id"])["client_message_id"] = "another"


def _turned_batch(events: Events) -> None:
    """Two neighbours of a batch have each other's seq, wherever they are shown."""
    batch = next(e for e in _answers(events, "publish_many", "ids") if len(e["value"]["ids"]) > 1)
    ids, seqs = batch["value"]["ids"], batch["value"]["seqs"]
    seq_of = dict(zip(ids[:2], seqs[1::-1], strict=True))
    seqs[:2] = seqs[1::-1]
    for row in (row for event in _answers(events, "poll", "messages") for row in event["value"]["messages"]):
        row["seq"] = seq_of.get(row["id"], row["seq"])
    for poll in _answers(events, "poll", "messages"):
        poll["value"]["messages"].sort(key=lambda row: row["seq"])
    for row in _rows(events, "messages"):
        row["value"]["seq"] = seq_of.get(row["value"]["id"], row["value"]["seq"])


def _called_new(events: Events) -> None:
    """A message that is sent again, by another process of its sender, is answered as a new one."""
    sent = [sending for event in _answers(events, "sync", "sent") for sending in event["value"]["sent"]]
    next(sending for sending in sent if sending["duplicate"])["duplicate"] = False


def _resolved_as_another(events: Events) -> None:
    """A name is answered with the id of another topic."""
    first = _answers(events, "topic_create")[0]["value"]
    other = next(e for e in _answers(events, "topic_create") if e["value"]["name"] != first["name"])
    join = next(e for e in _answers(events, "topic_join") if e["value"]["name"] == first["name"])
    join["value"]["topic_id"] = other["value"]["topic_id"]


def _phantoms(events: Events) -> None:
    """One send without an id is never answered, and two messages of nobody stand in the final state."""
    sends = [
        event for event in _answers(events, "send_message") if "message_id" not in _call_of(events, event)["value"]
    ]
    sends[0]["type"], sends[0]["value"] = "info", {}
    row = _rows(events, "messages")[0]
    place = events.index(row)
    events[place:place] = [{**row, "value": {**row["value"], "id": f"nobody's {n}"}} for n in range(2)]


def _call_of(events: Events, answer: dict[str, Any]) -> dict[str, Any]:
    return next(e for e in reversed(events[: answer["index"]]) if e["process"] == answer["process"])


ALTERED: dict[str, tuple[str, Callable[[Events], None], str]] = {
    "a stored payload is no JSON any more": ("worker", _torn_payload, "altered"),
    "a dead letter is no JSON any more": ("comms", _torn_letter, "altered"),
    "a payload in the row itself was not read": ("worker", _unread_payload, "altered"),
    "an ack is answered with what is asked for later": ("worker", _far_ahead, "cursor_ahead"),
    "a sender is told of another sender": ("topics", _of_another_sender, "altered"),
    "a sender is told another client_message_id": ("topics", _other_client_id, "altered"),
    "a batch is stored in another order": ("worker", _turned_batch, "batch_turned"),
    "a retry is answered as a new message": ("topics", _called_new, "called_new"),
    "a name is answered with another topic": ("topics", _resolved_as_another, "differs"),
    "one unanswered send and two phantoms": ("comms", _phantoms, "phantom"),
}


def altered(events: Events, name: str) -> Events:
    """These events with one of the alterations."""
    events = copy.deepcopy(events)
    ALTERED[name][1](events)
    return events


def without_columns(events: Events) -> Events:
    """Only the columns that a history must have."""
    needed = (
        "run",
        "system",
        "process",
        "type",
        "op",
        "agent",
        "wall_ms",
        "mono_ns",
        "value",
        "code",
        "bus_ms",
        "index",
    )
    return [
        {name: value for name, value in event.items() if name in needed or (name == "key" and event["type"] == "state")}
        for event in events
    ]


def half_surrogate(events: Events) -> Events:
    """An answer and a payload that no UTF-8 can hold."""
    events = copy.deepcopy(events)
    _answers(events, "publish")[0]["value"]["id"] = "\ud800x"
    return events


def of_two_clocks(events: Events) -> Events:
    """The first poll that shows a message of a publish is moved to before that publish."""
    events = copy.deepcopy(events)
    sent: dict[str, int] = {}  # id → its first attempt
    for event in events:
        if event["type"] == "invoke" and event["op"] in ("publish", "publish_many"):
            for message in event["value"].get("messages") or [event["value"]["message"]]:
                sent.setdefault(message.get("id"), event["index"])
    for poll in _answers(events, "poll", "messages"):
        asked = _call_of(events, poll)
        begins = [sent[row["id"]] for row in poll["value"]["messages"] if row["id"] in sent]
        earliest = max(begins, default=-1)
        before = [event for event in events[: max(earliest, 0)] if event["process"] == poll["process"]]
        if before and before[-1]["type"] != "invoke":
            rest = [event for event in events if event["index"] not in (asked["index"], poll["index"])]
            place = rest.index(events[earliest])
            return [*rest[:place], asked, poll, *rest[place:]]
    raise AssertionError("no poll can be moved")


# -- damage to the file

File = list[str]
NO_EVENT = '{"this is": "no event"}\n'


def _renamed(lines_: File, number: int, **columns: Any) -> File:
    return [*lines_[:number], json.dumps({**json.loads(lines_[number]), **columns}) + "\n", *lines_[number + 1 :]]


FILES: dict[str, Callable[[File], File]] = {
    "garbage in the middle": lambda f: [*f[:9], "this is no event\n", *f[10:]],
    "a line of another kind of file": lambda f: [*f[:9], NO_EVENT, *f[10:]],
    "an event of an unknown type": lambda f: _renamed(f, 9, type="telepathy"),
    "a line is missing": lambda f: f[:9] + f[10:],
    "a block is missing": lambda f: f[:9] + f[90:],
    "a block stands twice": lambda f: f[:90] + f[50:],
    "two blocks are exchanged": lambda f: f[:50] + f[90:130] + f[50:90] + f[130:],
    "two runs in one file": lambda f: _renamed(f, 9, run="another"),
    "an answer without its call": lambda f: _renamed(f, _call(f), type="nemesis"),
    "a footer that counts other lines": lambda f: _renamed(f, len(f) - 1, value={"events": 7, "states": 0}),
    "a second header": lambda f: _renamed(f, 9, type="header", process=-1),
    "a row of a state is missing": lambda f: f[: _state(f)] + _counted(f[_state(f) + 1 :], -1),
    "a row of a state does not name its list": lambda f: _renamed(f, _state(f), key=None),
    "a footer in the middle": lambda f: _renamed(f, 9, type="footer", value={"events": 9, "states": 0}),
}
CUTS: dict[str, Callable[[File], File]] = {
    "no footer": lambda f: f[:-1],
    "a torn last line": lambda f: [*f[:-1], f[-1][:20]],
    "a footer torn at its very end": lambda f: [*f[:-1], f[-1][:-4]],
    "cut in the middle": lambda f: [*f[:200], f[200][:9]],
}


def _call(lines_: File) -> int:
    return next(n for n, line in enumerate(lines_) if '"type":"invoke"' in line)


def _state(lines_: File) -> int:
    return next(n for n, line in enumerate(lines_) if '"type":"state"' in line)


def _counted(lines_: File, more: int) -> File:
    """These last lines of a file, with indexes and a footer that hide that lines before them are missing."""
    events = [json.loads(line) for line in lines_]
    for event in events:
        event["index"] += more
    events[-1]["value"] = {name: n + more for name, n in events[-1]["value"].items()}
    return [json.dumps(event, separators=(",", ":")) + "\n" for event in events]
