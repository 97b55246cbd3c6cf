"""Doctor's look at a bus.toml: who is each session, and do the mapped calls mean what the file says?

Three agents write to one another before anything is judged. A text that doctor sent is looked for in what the bus
answered, wherever it stands there; so doctor tells a wrong path with the right one, and two servers that are one agent
from a bus that loses mail.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from busproof.bus.base import Door, DoorError
from busproof.bus.child import Household
from busproof.bus.doors import open_door
from busproof.contract import HelloReply
from busproof.run.fault import Fault

AGENTS = ("ann", "bob", "cy")
SHOWN_CHARS = 300


def examine(spec: str, store: Path, hello: HelloReply, household: Household) -> Iterator[str]:
    """The findings; raises Fault at the first that explains the rest."""
    with contextlib.ExitStack() as doors:
        crew = Crew({}, hello)
        for agent in AGENTS:
            door = open_door(spec, household.spawn)
            doors.callback(door.close)
            door.get_ready("mailbox")
            door.call("open", {"store": str(store), "options": {}})
            crew.doors[agent] = door
        for agent in AGENTS:
            yield from crew.shown(agent, "receive", limit=100)
        yield f"names: on the bus they are {', '.join(f'{agent} = {name}' for agent, name in crew.names().items())}"
        yield from _letters(crew)
        yield from _others(crew)


class Crew:
    """Agents, each in a process of its own, and what the bus answered last."""

    def __init__(self, doors: dict[str, Door], hello: HelloReply) -> None:
        self.doors, self.hello = doors, hello
        self.answers: list[Any] = []  # of the bus itself, to the last operation

    def ask(self, agent: str, method: str, **params: Any) -> dict[str, Any] | DoorError:
        """An operation."""
        door = self.doors[agent]
        try:
            told: dict[str, Any] | DoorError = door.call(method, {"agent_id": agent, **params})
        except DoorError as error:
            told = error
        self.calls = door.call("toml.calls", {})["calls"]
        self.answers = [call["answer"] for call in self.calls if "answer" in call]
        return told

    def shown(self, agent: str, method: str, **params: Any) -> Iterator[str]:
        """The calls that an operation made, and how each was answered; a failure of the operation is a fault."""
        told = self.ask(agent, method, **params)
        yield from (f"{agent} {method}: {_short(call)}" for call in self.calls)
        if isinstance(told, DoorError):
            raise Fault(f"{method} by {agent} failed: {told}", f"look at [{method}] of the file; {_seen(self.answers)}")

    def names(self) -> dict[str, str]:
        """What the bus calls them."""
        return dict(self.doors[AGENTS[0]].call("toml.calls", {})["names"])


def _letters(crew: Crew) -> Iterator[str]:
    """Each writes to the next, and reads."""
    texts = {to: f"doctor's letter to {to}" for to in AGENTS}
    ids: dict[str, Any] = {}
    for number, agent in enumerate(AGENTS):
        to = AGENTS[(number + 1) % len(AGENTS)]
        told = crew.ask(agent, "send", to=to, body=texts[to])
        yield from (f"{agent} send: {_short(call)}" for call in crew.calls)
        if isinstance(told, DoorError):
            raise Fault(f"send by {agent} failed: {told}", f"look at [send] of the file; {_seen(crew.answers)}")
        ids[to] = told["id"]
    read = {}
    for agent in AGENTS:
        told = crew.ask(agent, "receive", limit=100)
        yield from (f"{agent} receive: {_short(call)}" for call in crew.calls)
        read[agent] = (told, list(crew.answers))
    _are_three_agents({to: [one for one in AGENTS if _holds(read[one][1], text)] for to, text in texts.items()})
    for number, agent in enumerate(AGENTS):
        told, answers = read[agent]
        _is_mapped(agent, AGENTS[number - 1], texts[agent], ids[agent], told, answers, crew.names())
    yield "each agent is shown its own letter, and no other: the sessions are three agents"


def _are_three_agents(readers: dict[str, list[str]]) -> None:
    """Who is shown the letter to whom, told by the bus's own answers, however they are mapped?"""
    one_agent = "a server that knows its agent by its parent process needs `sh -c 'CMD; :'`, others a variable in [env]"
    for agent, shown in readers.items():
        others = ", ".join(reader for reader in shown if reader != agent)
        if others and agent in shown:
            raise Fault(
                f"the letter to {agent} is shown to {others}, too",
                f"either everybody sees all, which is no mailbox, or two sessions are one agent: {one_agent}",
            )
        if others:
            raise Fault(
                f"the letter to {agent} is shown to {others} alone",
                f"two sessions are one agent: {one_agent}, `per`, or a step in [[session]]; or names are mixed up: see"
                " that [receive] asks as $agent, and that $to is what the bus calls the recipient",
            )
    for agent, shown in readers.items():
        if not shown:
            raise Fault(
                f"the letter to {agent} was answered as sent, and nobody is shown it",
                "look at the answers above: [receive] may ask another inbox than [send] writes to, or a position that"
                " is past it; a bus that makes names needs names.address; one that must register agents, [[session]]",
            )


def _is_mapped(
    agent: str, sender: str, text: str, id_: str, told: Any, answers: list[Any], names: dict[str, str]
) -> None:
    messages = [] if isinstance(told, DoorError) else told["messages"]
    message = next((message for message in messages if message.get("body") == text), None)
    place = next((where for answer in answers if (where := place_of(text, answer))), None)
    if message is None:
        why = f": {told}" if isinstance(told, DoorError) else ""
        raise Fault(
            f"the letter to {agent} is in the bus's answer, and not where the file says{why}",
            _advice(place, answers, id_, names[sender]),
        )
    if message.get("id") != id_:
        raise Fault(
            f"send answered the id {id_!r}, and receive shows {message.get('id')!r}",
            f"id must lead to the same in both; {_advice(place, answers, id_, names[sender])}",
        )
    if message.get("from_agent", sender) != sender:
        raise Fault(
            f"the letter of {sender} is shown as one of {message['from_agent']!r}",
            f"from must lead to what the bus calls the sender ({names[sender]}); "
            + _advice(place, answers, id_, names[sender]),
        )


def _others(crew: Crew) -> Iterator[str]:
    """The other operations, each with its answer."""
    nouns, features = crew.hello.nouns, crew.hello.features
    shown = crew.ask("bob", "receive", limit=100) if "ack" in features and "consumes" not in features else {}
    if isinstance(shown, dict) and shown.get("messages"):
        ids = [message["id"] for message in shown["messages"]]
        yield from crew.shown("bob", "ack", ids=ids)
        after = crew.ask("bob", "receive", limit=100)
        if isinstance(after, dict) and any(message["id"] in ids for message in after["messages"]):
            raise Fault(
                "bob has acked its letter, and receive shows it again",
                "if reading and acking are two states of the bus, take the view that an ack empties for [receive]; or"
                " promise consumes, and map the view of what is not acked as [unacked]",
            )
        yield "an acked letter is not shown again"
    if "unacked" in features:
        yield from crew.shown("bob", "unacked")
    if "lease" in nouns:
        yield from crew.shown("ann", "claim", name="visit", ttl_ms=60_000)
        told = crew.ask("bob", "claim", name="visit", ttl_ms=60_000)
        yield from (f"bob claim: {_short(call)}" for call in crew.calls)
        if isinstance(told, DoorError) or told["granted"]:
            raise Fault(
                f"ann holds the claim, and to bob's claim the answer is {told}",
                "if the bus said no, tell where: [claim] granted = 'PATH', or refused = 'PATH'",
            )
        yield "a name that is held is not granted to another"
        yield from crew.shown("ann", "release", name="visit")
    if "jobs" in nouns:
        yield from crew.shown("ann", "put", queue="visits", body="a job")
        yield from crew.shown("bob", "take", queue="visits", visible_ms=60_000)


# -- finding a text


def place_of(text: str, answer: Any, at: str = "", row: Any = None) -> tuple[str, str, Any] | None:
    """Where a text stands in an answer: the list (as a JMESPath), the member of its rows, and the row."""
    match answer:
        case list():
            told = (place_of(text, part, f"{at}[]", part) for part in answer if isinstance(part, (dict, list)))
            return next(filter(None, told), None)
        case dict():
            for name, value in answer.items():
                here = f"{at}.{_key(name)}".lstrip(".")
                if value == text:
                    return _row(at, here, answer if row is None else row)
                if isinstance(value, (dict, list)) and (inner := place_of(text, value, here, row)):
                    return inner
    return None


def _row(at: str, here: str, row: Any) -> tuple[str, str, Any]:
    """The innermost list is that of the messages; a member deeper than its rows keeps its path."""
    if "[]" not in at:
        return f"[{at or '@'}]", here.removeprefix(f"{at}."), row
    rows, _, body = here.rpartition("[]")
    return f"{rows}[]" if "[]" in rows else rows or "@", body.lstrip("."), row


def _key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)


def _advice(place: tuple[str, str, Any] | None, answers: list[Any], id_: Any, sender: str) -> str:
    if place is None:
        if any(isinstance(answer, str) for answer in answers):
            return 'the answer is a text: list = { match = "(?P<id>…) (?P<body>…)" }, or parse = "lines"'
        return _seen(answers)
    rows, body, row = place
    wanted = {"id": str(id_).strip('"'), "from": sender}
    members = {name: _member(row, value) for name, value in wanted.items()}
    told = ", ".join(f'{name} = "{path}"' for name, path in {**members, "body": body}.items() if path)
    return f'by its text it is at: list = "{rows}", message = {{ {told} }}'


def _member(row: dict[str, Any], wanted: str, at: str = "") -> str | None:
    """The member with this value."""
    for name, value in row.items():
        here = f"{at}.{_key(name)}".lstrip(".")
        if isinstance(value, dict) and (inner := _member(value, wanted, here)):
            return inner
        if not isinstance(value, (dict, list)) and str(value) == wanted:
            return here
    return None


def _holds(answers: list[Any], text: str) -> bool:
    return any(text in json.dumps(answer, ensure_ascii=False) for answer in answers)


def _short(call: dict[str, Any]) -> str:
    told = next((f"{name}: {call[name]}" for name in ("refused", "lost") if name in call), None)
    told = told or json.dumps(call.get("answer"), ensure_ascii=False)
    return f"{call['call'][:SHOWN_CHARS]} → {told[:SHOWN_CHARS]}"


def _seen(answers: list[Any]) -> str:
    return (
        f"the bus answered {json.dumps(answers, ensure_ascii=False)[:SHOWN_CHARS]}" if answers else "it had no answer"
    )
