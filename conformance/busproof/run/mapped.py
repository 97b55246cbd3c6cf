"""Doctor's look at a bus.toml: who is each session, and do the mapped calls mean what the file says?

Three agents write to one another before anything is judged. A text that doctor sent is looked for in what the bus
answered, wherever it stands there; so doctor tells a wrong path with the right one, and two servers that are one agent
from a bus that loses mail.
"""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import Any

from busproof.bus.base import Door, DoorError
from busproof.bus.child import Household
from busproof.bus.doors import open_door
from busproof.bus.toml.answers import NOT_MAPPED
from busproof.contract import HelloReply
from busproof.run.fault import Fault

AGENTS = ("ann", "bob", "cy")
SHOWN_CHARS = 300
ALL = 10_000  # messages, as many as checks ask for; a bus that gives fewer says so by page_max
TOLD_BY = {"sender": ("from", "from_agent"), "number": ("n", "n")}  # promise → its name in the file, and in a reply
PLAIN = r"(\S+)"  # a pattern of an id in a sentence
ANSWER_S = 120.0  # the steps of a call have time-outs of their own, and these name the command


class Unmapped(Fault):
    """The bus answers, and not where the file says: nothing can be judged by this file."""


def misfit(spec: str, hello: HelloReply) -> str:
    """Why no check can judge the bus by this file; empty where one can, whatever else doctor would find."""
    household = Household()
    try:
        with tempfile.TemporaryDirectory(prefix="busproof-") as store:
            for _ in examine(spec, Path(store), hello, household, is_brief=True):
                pass
    except Unmapped as fault:
        return f"the file is at fault, and nothing was judged: {fault}\n{fault.remedy}"
    except (Fault, DoorError):  # the check tells more of it
        pass
    finally:
        household.end()
    return ""


def examine(
    spec: str, store: Path, hello: HelloReply, household: Household, *, is_brief: bool = False
) -> Iterator[str]:
    """The findings; raises Fault at the first that explains the rest. `is_brief`: of send and receive alone."""
    with contextlib.ExitStack() as doors:
        crew = Crew({}, hello)
        for agent in AGENTS:
            door = open_door(spec, household.spawn)
            doors.callback(door.close)
            door.get_ready("mailbox")
            door.call("open", {"store": str(store), "options": {}})
            crew.doors[agent] = door
        for agent in AGENTS:
            yield from crew.tried(agent, "receive", limit=ALL)
        yield f"names: on the bus they are {', '.join(f'{agent} = {name}' for agent, name in crew.names().items())}"
        yield from _letters(crew)
        if not is_brief:
            yield from _others(crew)


class Crew:
    """Agents, each in a process of its own, and what the bus answered last."""

    def __init__(self, doors: dict[str, Door], hello: HelloReply) -> None:
        self.doors, self.hello = doors, hello
        self.answers: list[Any] = []  # of the bus itself, to the last operation
        self.calls: list[dict[str, Any]] = []
        self.began: list[dict[str, Any]] = []  # of the first operation: the steps of its session
        self.reply: dict[str, Any] | DoorError = {}

    def ask(self, agent: str, method: str, **params: Any) -> dict[str, Any] | DoorError:
        """An operation."""
        door = self.doors[agent]
        try:
            reply: dict[str, Any] | DoorError = door.call(method, {"agent_id": agent, **params}, timeout_s=ANSWER_S)
        except DoorError as error:
            reply = error
        try:
            self.calls = door.call("toml.calls", {})["calls"]
        except DoorError as error:  # the adapter is gone, or still waits for the bus
            why = reply if isinstance(reply, DoorError) else error
            words = f"it wrote: {door.stderr[-SHOWN_CHARS:]}" if door.stderr else "it wrote nothing to stderr"
            raise Fault(f"{method} by {agent} failed: {why}", f"look at [{method}] of the file; {words}") from None
        self.answers = [call["answer"] for call in self.calls if "answer" in call]
        return reply

    def shown(self, agent: str, method: str, **params: Any) -> Iterator[str]:
        """The calls that an operation made, and how each was answered; a failure of the operation is a fault."""
        reply = self.ask(agent, method, **params)
        yield from (f"{agent} {method}: {_short(call)}" for call in self.calls)
        if isinstance(reply, DoorError):
            raise Fault(
                f"{method} by {agent} failed: {reply}", f"look at [{method}] of the file; {_seen(self.answers)}"
            )

    def tried(self, agent: str, method: str, **params: Any) -> Iterator[str]:
        """The same; an answer that is mapped wrongly is looked at later, when more is known."""
        if isinstance(reply := self.ask(agent, method, **params), DoorError) and not self.answers:
            made = [call for call in self.began if "answer" in call]
            hint = "; a bus that takes no limit of 10,000 promises page_max" if "limit" in params else ""
            hint += f"; a bus that makes names needs `save` and names.address, from {_short(made[-1])}" if made else ""
            raise Fault(
                f"{method} by {agent} failed: {reply}", f"look at [{method}] of the file and what it needs{hint}"
            )
        self.reply = reply
        self.began = self.began or self.calls[:-1]
        yield from (f"{agent} {method}: {_short(call)}" for call in self.calls)

    def names(self) -> dict[str, str]:
        """What the bus calls them."""
        return dict(self.doors[AGENTS[0]].call("toml.calls", {})["names"])


def _letters(crew: Crew) -> Iterator[str]:
    """Each writes to the next, and reads."""
    names = crew.names()
    letters = {to: Letter(AGENTS[number - 1], to, names) for number, to in enumerate(AGENTS)}
    for letter in letters.values():
        yield from crew.tried(letter.sender, "send", to=letter.to, body=letter.text)
        letter.sent, letter.sent_answers = crew.reply, list(crew.answers)
    for letter in letters.values():
        yield from crew.tried(letter.to, "receive", limit=ALL)
        letter.read, letter.read_answers = crew.reply, list(crew.answers)
    if any(letter.readers(letters.values()) != [letter.to] for letter in letters.values()):
        _are_three_agents(
            {
                letter.to: [reader for reader in AGENTS if _holds(letters[reader].read_answers, letter.text)]
                for letter in letters.values()
            }
        )
    for letter in letters.values():
        letter.check(crew.hello.features)
    yield "each agent is shown its own letter, and no other: the sessions are three agents"


class Letter:
    """A text from one to another: what was answered to the send, and to the reader."""

    def __init__(self, sender: str, to: str, names: dict[str, str]) -> None:
        self.sender, self.to, self.text = sender, to, f"doctor's letter to {to}"
        self._from = names[sender]
        self.sent: dict[str, Any] | DoorError = {}
        self.read: dict[str, Any] | DoorError = {}
        self.sent_answers: list[Any] = []
        self.read_answers: list[Any] = []

    def readers(self, letters: Iterable[Letter]) -> list[str]:
        """Who is shown it where the file says; a bus may tell its senders what they sent beside that."""
        return [
            other.to
            for other in letters
            if not isinstance(other.read, DoorError)
            and self.text in [row.get("body") for row in other.read["messages"]]
        ]

    def check(self, promises: Container[str]) -> None:
        """Is it where the file says, with all that is promised of it? Raises Fault."""
        for name, reply in (("send", self.sent), ("receive", self.read)):
            if isinstance(reply, DoorError):
                kind = Unmapped if NOT_MAPPED in str(reply) else Fault
                raise kind(f"what the bus answers to {name} is not where the file says: {reply}", self._advice())
        assert isinstance(self.sent, dict)
        assert isinstance(self.read, dict)
        message = next((shown for shown in self.read["messages"] if shown.get("body") == self.text), None)
        if message is None:
            why = f"the letter to {self.to} is in the bus's answer, and not where the file says"
            raise Unmapped(why, self._advice())
        if message.get("id") != self.sent["id"]:
            kind = Fault if "id" in message else Unmapped
            why = f"send answered the id {self.sent['id']!r}, and receive shows {message.get('id')!r}"
            raise kind(why, self._advice())
        for promise, (name, member) in TOLD_BY.items():
            if promise in promises and message.get(member) is None:
                why = f"{promise} is promised, and [receive.message] {name} leads nowhere"
                raise Unmapped(why, f"strike the promise, or say where it stands; {self._advice()}")
        if message.get("from_agent", self.sender) != self.sender:
            raise Fault(
                f"the letter of {self.sender} is shown as one of {message['from_agent']!r}",
                f"from must lead to what the bus calls the sender ({self._from}); {self._advice()}",
            )

    def _advice(self) -> str:
        """What to write, by the text that was sent and by what both answers have in common."""
        place = next((where for answer in self.read_answers if (where := place_of(self.text, answer))), None)
        if place is None:
            if any(isinstance(answer, str) for answer in self.read_answers):
                return 'the answer is a text: list = { match = "(?P<id>…) (?P<body>…)" }, or parse = "lines"'
            return _seen(self.read_answers)
        rows, body, row = place
        form = ""
        if any(row == answer for answer in self.read_answers):  # one line of a command's output
            rows, form = "@", '; a JSON value in each line is parse = "lines"'
        shown = {path: value for path, value in _members(row) if path != body}
        common = [
            (how, path)
            for answer in self.sent_answers
            for path, value in shown.items()
            if value not in (self._from, self.text) and (how := _how(answer, value))
        ]
        common.sort(key=lambda pair: "id" not in pair[1].lower())
        of_send, id_ = common[0] if common else ('"?"', "?")
        sender = next((path for path, value in shown.items() if value == self._from and path != id_), None)
        members = {"id": id_, **({"from": sender} if sender else {}), "body": body}
        mapped = ", ".join(f"{name} = {_toml(path)}" for name, path in members.items())
        receive = f"list = {_toml(rows)}, message = {{ {mapped} }}{form}"
        return f"by the text of the letter: [receive] {receive}; [send] id = {of_send}"


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


def _others(crew: Crew) -> Iterator[str]:
    """The other operations, each with its answer."""
    nouns, features = crew.hello.nouns, crew.hello.features
    shown = crew.ask("bob", "receive", limit=ALL) if "ack" in features and "consumes" not in features else {}
    if isinstance(shown, dict) and shown.get("messages"):
        ids = [message["id"] for message in shown["messages"]]
        yield from crew.shown("bob", "ack", ids=ids)
        after = crew.ask("bob", "receive", limit=ALL)
        if isinstance(after, dict) and any(message["id"] in ids for message in after["messages"]):
            raise Fault(
                "bob has acked its letter, and receive shows it again",
                "if reading and acking are two states of the bus, take the view that an ack empties for [receive]; or"
                " promise consumes, and map the view of what is not acked as [unacked]",
            )
        yield "an acked letter is not shown again"
    if "unacked" in features:
        yield from crew.shown("bob", "unacked")
    if "broadcast" in features:
        text, remedy = "doctor's letter to all", "strike the promise, or say what [send] does where there is no `$to`"
        sent = crew.ask("ann", "send", body=text)
        yield from (f"ann send: {_short(call)}" for call in crew.calls)
        if isinstance(sent, DoorError):
            raise Fault(f"broadcast is promised, and a send to all failed: {sent}", f"{remedy}: names.everyone")
        for reader in ("bob", "cy"):
            yield from crew.shown(reader, "receive", limit=ALL)
            if not _holds(crew.answers, text):
                raise Fault(f"a send to all is not shown to {reader}", f"{remedy}: names.everyone")
        yield "a send to all is shown to each of the others"
        yield from crew.shown("ann", "receive", limit=ALL)
        if _holds(crew.answers, text) and "self_delivery" not in features:
            raise Fault("a send to all is shown to its sender, too", "promise self_delivery, if the bus means that")
    if "lease" in nouns:
        yield from crew.shown("ann", "claim", name="visit", ttl_ms=60_000)
        reply = crew.ask("bob", "claim", name="visit", ttl_ms=60_000)
        yield from (f"bob claim: {_short(call)}" for call in crew.calls)
        if isinstance(reply, DoorError) or reply["granted"]:
            raise Fault(
                f"ann holds the claim, and to bob's claim the answer is {reply}",
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
            places = (place_of(text, part, f"{at}[]", part) for part in answer if isinstance(part, (dict, list)))
            return next(filter(None, places), None)
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


def _members(value: Any, at: str = "") -> Iterator[tuple[str, str]]:
    """The texts and numbers in a value outside its lists, by their paths."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _members(inner, f"{at}.{_key(name)}".lstrip("."))
    elif isinstance(value, (str, int)) and not isinstance(value, bool):
        yield at or "@", str(value)


def _how(answer: Any, value: str) -> str | None:
    """How a value is taken from an answer: by a path, or by the words before it."""
    if isinstance(answer, str):
        match = re.search(rf"(\w+\W{{1,3}}|^)(?<!\w){re.escape(value)}(?!\w)", answer)
        return f"{{ match = {_toml(re.escape(match[1]) + PLAIN)} }}" if match else None
    return next((_toml(path) for path, other in _members(answer) if other == value), None)


def _toml(text: str) -> str:
    """The text in quotes, as it can stand in the file."""
    is_literal = "\\" in text and "'" not in text and text.isprintable()
    return f"'{text}'" if is_literal else json.dumps(text, ensure_ascii=False)


def _holds(answers: list[Any], text: str) -> bool:
    return any(text in json.dumps(answer, ensure_ascii=False) for answer in answers)


def _short(call: dict[str, Any]) -> str:
    reply = next((f"{name}: {call[name]}" for name in ("refused", "lost") if name in call), None)
    reply = reply or json.dumps(call.get("answer"), ensure_ascii=False)
    return f"{call['call'][:SHOWN_CHARS]} → {reply[:SHOWN_CHARS]}"


def _seen(answers: list[Any]) -> str:
    return (
        f"the bus answered {json.dumps(answers, ensure_ascii=False)[:SHOWN_CHARS]}" if answers else "it had no answer"
    )
