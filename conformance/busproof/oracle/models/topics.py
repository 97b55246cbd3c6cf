"""`topics` (seed 004, decisions B1 to B11, 0015 and 0017) as an executable specification: read it as the seed's text.

Each topic has messages, numbered from 1, a cursor for each reader and a holder for each name. A session, which is one
server process, knows under which names it has joined. Nothing here knows SQL, MCP or processes.
"""

from __future__ import annotations

import contextlib
import json
import pickle
import re
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, ClassVar

from busproof.contract import CONTRACTS
from busproof.oracle.models.parts import ANYTHING
from busproof.oracle.models.spec import (
    NO_CODE,
    AnyOrder,
    Cited,
    Difference,
    Fits,
    Free,
    Json,
    Model,
    Refuse,
    Told,
    plain,
    same_json,
)
from busproof.oracle.models.topics_looks import Peers, Place, Results, folded, holds, tokens
from busproof.words import is_text

CONTRACT = CONTRACTS["topics"]
SHORT_CHARS = 400  # of all bodies of a reply: no text for people is as short as that
TOKEN_CHARS_MIN = 8
ROUTE_19, ROW_25 = "topics.route.19", "topics.lease.25"
CODES = ("with a code", "with none")
REFUSES = f"{ROUTE_19}: refuses"
REFUSED, NOTHING_CAME, UNPASSED = "is refused", "is told that nothing came", ", and its own messages are not passed"
ENDS_OF_A_WAIT = REFUSED, REFUSED + UNPASSED, NOTHING_CAME, NOTHING_CAME + UNPASSED  # of a session that is taken over
LIMIT_02 = "topics.limit.02"
OPTIONAL = ("message_type", "reply_to", "client_message_id", "metadata")  # of an item of an outbox


def _odd(value: str) -> str:
    """Characters that no sentence forbids in a text of one line, and that the reference refuses."""
    if any(char < " " for char in value):
        return "control characters"
    if any("\x7f" <= char < "\xa0" for char in value):
        return "DEL and C1 controls"
    return "" if is_text(value) else "half surrogates"


class ShortId(Free):
    """Any text that a bus uses as an id; log.36 says whether ids are short."""

    def fits(self, value: Any) -> bool:
        return type(value) is str and value != ""


class Token(Free):
    """Proof that a name is its caller's: a text that is in no other by chance. Row lease.21 has its form."""

    def fits(self, value: Any) -> bool:
        return type(value) is str and len(value) >= TOKEN_CHARS_MIN


class Moment(Free):
    """A time by the bus's clock, in seconds. All times of one call are the same moment."""

    def fits(self, value: Any) -> bool:
        return type(value) is float and value > 0


class SomeName(Free):
    """The name of a topic that was created without one."""

    def fits(self, value: Any) -> bool:
        return type(value) is str and value != ""


SOME_TEXT = Fits("a text for people", lambda value: type(value) is str and value != "")
NO_MISMATCH = Cited(
    Fits("no CONTENT_MISMATCH", lambda rows: "CONTENT_MISMATCH" not in [row.get("code") for row in rows or ()]),
    ("topics.log.80", "topics.log.63"),
)


@dataclass(eq=False)
class Message:
    """A message on a topic; its seq is its place."""

    message_id: Any
    topic_id: Any
    seq: int
    sender: str
    message_type: str
    reply_to: str | None
    content_markdown: str
    metadata: dict[str, Any] | None
    client_message_id: str | None
    created_at: Any

    def told(self) -> dict[str, Any]:
        """As a reader gets it."""
        return {
            "message_id": self.message_id,
            "topic_id": self.topic_id,
            "seq": Cited(self.seq, ("topics.log.41", "topics.log.42")),
            "sender": Cited(self.sender, ("topics.log.55",)),
            "message_type": Cited(self.message_type, ("topics.log.49", "topics.log.50")),
            "reply_to": Cited(self.reply_to, ("topics.log.51",)),
            "content_markdown": Cited(self.content_markdown, ("topics.log.56",)),
            "metadata": Cited(Json(self.metadata), ("topics.log.53",)),
            "client_message_id": Cited(self.client_message_id, ("topics.log.54",)),
            "created_at": Cited(self.created_at, ("topics.log.38", "topics.log.39")),
        }


@dataclass
class Draft:
    """An item of an outbox, checked."""

    content_markdown: str
    message_type: str
    reply_to: str | None
    metadata: dict[str, Any] | None
    client_message_id: str | None

    def says_the_same(self, message: Message) -> bool:
        """Is it that message again?"""
        return (
            self.content_markdown == message.content_markdown
            and self.message_type == message.message_type
            and self.reply_to == message.reply_to
            and same_json(self.metadata, message.metadata)
        )

    def is_written_alike(self, message: Message) -> bool:
        """Is it the same to the digit, too? Nobody says whether 1 is 1.0."""
        return json.dumps(self.metadata, sort_keys=True) == json.dumps(message.metadata, sort_keys=True)


@dataclass
class Cursor:
    """How far a reader has come, and when it last synced; `aged_s`: put back in time by the kit's hand since."""

    last_seq: int
    updated_at: Any
    aged_s: float = 0.0

    @property
    def synced_at(self) -> float | None:
        """The time in the file now; None if no answer has told it: a sync that was taken over while it waited."""
        at = plain(self.updated_at)
        return None if at is None else at - self.aged_s


@dataclass
class Reservation:
    """A name's holder. `claim` changes with each claim, so an older session is recognised."""

    token: Any
    claim: int
    created_at: Any
    claimed_at: Any


@dataclass(eq=False)
class Topic:
    """One lane."""

    topic_id: Any
    name: Any
    created_at: Any
    metadata: dict[str, Any] | None
    seq_at: Any
    status: str = "open"
    closed_at: Any = None
    close_reason: str | None = None
    messages: list[Message] = field(default_factory=list)
    cursors: dict[str, Cursor] = field(default_factory=dict)
    names: dict[str, Reservation] = field(default_factory=dict)

    def holds(self, message_id: str) -> bool:
        """Is it the id of a message on this topic?"""
        return any(plain(message.message_id) == message_id for message in self.messages)

    def told(self) -> dict[str, Any]:
        """In short."""
        return {"topic_id": self.topic_id, "name": self.name, "status": self.status}


@dataclass
class Reading:
    """A reader, and its request."""

    name: str
    max_items: int
    include_self: bool
    auto_advance: bool

    def unread(self, topic: Topic, after: int) -> list[Message]:
        """The messages that it would receive, oldest first."""
        return [message for message in topic.messages[after:] if self.include_self or message.sender != self.name]


class TopicsModel(Model):
    """One database, as all its servers see it."""

    SYSTEM = "topics"
    WRITES, STORED = ("topic_create",), ("topics.log.17",)
    KEEPS_SECRETS = "agent_bus.sqlite"
    ALWAYS: ClassVar[Mapping[str, tuple[str, ...]]] = {"DB_BUSY": ("topics.log.70",)}
    FOLLOWED = frozenset({REFUSES})
    EVERYTHING = frozenset({"log", "cursor", "route", "lease", "presence", "search", "limit", "sqlite"})

    def __init__(self, *bus: Any) -> None:
        super().__init__(*bus)
        self.topics: list[Topic] = []  # the oldest first
        self.joined: dict[tuple[int | str, Any], tuple[str, int]] = {}  # (server, topic) → name, claim
        self.claims = 0
        self.sent_away: set[int] = set()  # claims whose session was told that it has not joined

    def fingerprint(self) -> str:
        """Later answers do not show who read or came first; of a claim, only whether it is the latest of its name."""
        topics = [
            {
                **vars(topic),
                "cursors": sorted(topic.cursors.items()),
                "names": sorted((name, replace(held, claim=0)) for name, held in topic.names.items()),
            }
            for topic in self.topics
        ]
        latest = {(plain(t.topic_id), name): held.claim for t in self.topics for name, held in t.names.items()}
        joined = [
            (key, name, latest.get((key[1], name)) == claim, claim in self.sent_away)
            for key, (name, claim) in self.joined.items()
        ]
        return repr((topics, sorted(joined, key=repr)))

    # -- valid values

    def checked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Null is "not given"; nothing may be missing, nothing unknown."""
        if self.at == "hand" or method == "open":
            return params
        given = {name: value for name, value in params.items() if value is not None}
        fields = CONTRACTS["topics"].methods[method].params.model_fields
        required = {name for name, member in fields.items() if member.is_required()}
        if not required <= given.keys() <= fields.keys():
            known = {name: value for name, value in given.items() if name in fields}
            self.row("topics.route.19")
            also = self.deserved(method, known) if required <= known.keys() else ()
            raise Refuse("INVALID_ARGUMENT", also=also)
        if len(given) < len(params):
            self.may_refuse("null for what may be left out", "topics.route.19")
        return given

    def also_said(self, codes: set[str]) -> tuple[str, ...]:
        """A server whose SDK looks at arguments has no code for them: it breaks that row, and is followed."""
        has_none = "INVALID_ARGUMENT" in codes and self.choice(REFUSES, *CODES) == CODES[1]
        return (NO_CODE,) if has_none else ()

    def deserved(self, method: str, params: dict[str, Any]) -> tuple[str, ...]:
        """The refusals of a call as it would be without the faults already found."""
        trial = pickle.loads(pickle.dumps(self, pickle.HIGHEST_PROTOCOL))
        answer = trial.call(self._step, self.at, method, params, self.now_ms)
        codes = () if answer.refused is None else (answer.refused, *answer.also)
        return tuple(code for code in codes if code != "INVALID_ARGUMENT")

    def within(self, field: str, size: int) -> None:
        """Refuse a size that is out of the field's bound; another bus may take one above it."""
        bound = CONTRACT.bound_of[field]
        if size < bound.low:
            self.refuse("INVALID_ARGUMENT", bound.row)
        if size > bound.high and (self.is_cap(bound.cap) if bound.cap else self.refuses(f"{field} above {bound.high}")):
            self.refuse("INVALID_ARGUMENT", bound.cap or bound.row)

    def text(self, field: str, value: Any) -> str:
        """One line: no control characters, no half surrogates."""
        row = CONTRACT.bound_of[field].row
        if type(value) is not str:
            self.refuse("INVALID_ARGUMENT", row)
        self.within(field, len(value))
        if (what := _odd(value)) and self.refuses(f"{what} in what {row} is of"):
            self.refuse("INVALID_ARGUMENT", row)
        return str(value)

    def refuses(self, what: str) -> bool:
        """Does the bus refuse a thing that the reference refuses and no sentence forbids?"""
        return self.choice(what, "refused", "taken") == "refused"

    def is_cap(self, row: str) -> bool:
        """Does the bus keep to this cap, which the seed does not set?"""
        return self.choice(f"{row}: more than that", "is refused", "is taken") == "is refused"

    def stripped(self, field: str, value: Any) -> str:
        """One line, without the blanks around it; another bus may keep them."""
        row, bare = CONTRACT.bound_of[field].row, value.strip() if type(value) is str else value
        is_bare = (
            bare in ("", value) or self.choice(f"blanks around what {row} is of", "left out", "kept") == "left out"
        )
        return self.text(field, bare if is_bare else value)

    def body(self, field: str, value: Any) -> str:
        """Any characters that Unicode knows; a client's SDK sends no others."""
        row = CONTRACT.bound_of[field].row
        if type(value) is not str:
            self.refuse("INVALID_ARGUMENT", row)
        is_of_bytes = row == LIMIT_02 and self.choice(f"{LIMIT_02}: counts", "characters", "bytes") == "bytes"
        self.within(field, len(value.encode("utf-8", "surrogatepass")) if is_of_bytes else len(value))
        return str(value)

    def whole(self, field: str, value: Any) -> int:
        """A whole number; true is not one."""
        if type(value) is not int:
            self.refuse("INVALID_ARGUMENT", "topics.route.19")
        self.within(field, value)
        return int(value)

    def flag(self, value: Any) -> bool:
        """True or false."""
        if type(value) is not bool:
            self.refuse("INVALID_ARGUMENT", "topics.route.19")
        return bool(value)

    def object(self, value: Any, row: str) -> dict[str, Any] | None:
        """An optional JSON object."""
        if value is not None and type(value) is not dict:
            self.refuse("INVALID_ARGUMENT", row)
        return value if value is None else dict(value)

    # -- sessions

    def open(self, options: dict[str, Any]) -> dict[str, Any]:
        """A server starts; it has joined nothing (lease.16)."""
        self.joined = {key: reader for key, reader in self.joined.items() if key[0] != self.at}
        return {}

    def ping(self) -> dict[str, Any]:
        """The server lives."""
        self.row("topics.log.07", "topics.log.08", "topics.log.09")
        return {"ok": True, "spec_version": SOME_TEXT, "package_version": SOME_TEXT}

    # -- topics

    def topic(self, topic_id: Any, row: str = "topics.route.12") -> Topic:
        """The topic of this id. A text that cannot be an id is the id of no topic, either."""

        look = [lambda: self.found(topic_id) or self.refuse("TOPIC_NOT_FOUND", row)]
        topic: Topic = self.all_of(lambda: self.text("topic_id", topic_id), *look * (type(topic_id) is str))[1]
        return topic

    def found(self, topic_id: Any) -> Topic | None:
        """The topic of this id, if any."""
        return next((topic for topic in self.topics if plain(topic.topic_id) == topic_id), None)

    def newest(self, name: str, status: str) -> Topic | None:
        """The newest of that name and status."""
        fitting = [topic for topic in self.topics if plain(topic.name) == name and topic.status == status]
        return fitting[-1] if fitting else None

    def topic_create(self, name: Any = None, metadata: Any = None, mode: Any = "reuse") -> dict[str, Any]:
        """`reuse`: the newest open one of that name if there is one; it stays as it is."""
        if name is not None:
            self.text("name", name)
        if mode not in ("reuse", "new"):
            self.refuse("INVALID_ARGUMENT", "topics.route.19")
        metadata = self.object(metadata, "topics.route.19")
        self.row("topics.route.02" if mode == "reuse" else "topics.route.03")
        if mode == "reuse" and name is not None and self.newest(name, "closed"):
            self.row("topics.route.18")
        topic = self.newest(name, "open") if mode == "reuse" and name is not None else None
        if topic is None:
            self.row("topics.route.01", "topics.log.37")
            now = self.born(Moment, "now")
            given = self.born(SomeName, "name") if name is None else name
            topic = Topic(self.born(ShortId, "topic"), given, now, metadata, now)
            self.topics.append(topic)
        return topic.told() | {"name": Cited(topic.name, ("topics.route.01",))}

    def topic_list(self, status: Any = "open") -> dict[str, Any]:
        """The newest first."""
        if status not in ("open", "closed", "all"):
            self.refuse("INVALID_ARGUMENT", "topics.route.19")
        self.row("topics.route.08", "topics.route.09")
        return {"topics": [topic.told() for topic in reversed(self.topics) if status in ("all", topic.status)]}

    def resolved(self, name: str, allow_closed: bool, row: str) -> Topic:
        """The newest open one; if allowed and none is open, the newest closed one."""

        def look_up() -> Topic:
            newest = self.newest(name, "open")
            if newest is None and (allow_closed is True or (row == "topics.lease.06" and self.joins_closed())):
                newest = self.newest(name, "closed")
            return newest or self.refuse("TOPIC_NOT_FOUND", row)

        topic: Topic = self.all_of(lambda: self.text("name", name), *[look_up] * (type(name) is str))[1]
        return topic

    def joins_closed(self) -> bool:
        """Does a join by name lead to a closed topic, without allow_closed?"""
        return self.choice("topics.lease.26", "to open topics alone", "to a closed one, too") != "to open topics alone"

    def topic_resolve(self, name: Any, allow_closed: Any = False) -> dict[str, Any]:
        """Find a topic by its name."""
        self.row("topics.route.10", "topics.route.11")
        topic: Topic = self.all_of(
            lambda: self.flag(allow_closed), lambda: self.resolved(name, allow_closed, "topics.route.12")
        )[1]
        return topic.told()

    def topic_close(self, topic_id: Any, reason: Any = None) -> dict[str, Any]:
        """From now on it can only be read."""
        topic: Topic = self.all_of(lambda: reason is None or self.body("reason", reason), lambda: self.topic(topic_id))[
            1
        ]
        reply = {"topic_id": topic.topic_id, "status": Cited("closed", ("topics.route.13",))}
        if topic.status == "closed":
            self.row("topics.route.17")
            return reply | {"warnings": [warning("ALREADY_CLOSED")]}
        self.row("topics.route.13", "topics.route.16")
        topic.status, topic.closed_at, topic.close_reason = "closed", self.born(Moment, "now"), reason
        return reply

    # -- names

    def topic_join(
        self,
        agent_name: Any,
        topic_id: Any = None,
        name: Any = None,
        allow_closed: Any = False,
        reclaim_token: Any = None,
    ) -> dict[str, Any]:
        """Join a topic under a name. A claimed name is its holder's as long as the topic lives."""

        def asked() -> Topic:
            if bool(topic_id) == bool(name):
                self.refuse("INVALID_ARGUMENT", "topics.lease.04")
            if topic_id:
                return self.topic(topic_id, "topics.lease.06")
            return self.resolved(name, allow_closed, "topics.lease.06")

        def check_token() -> None:
            with contextlib.suppress(Refuse):
                if self.is_own_among_blanks(asked(), agent_name, reclaim_token):
                    return
            if reclaim_token is not None:
                self.stripped("reclaim_token", reclaim_token)

        agent_name, _, _, topic, _ = self.all_of(
            lambda: self.stripped("agent_name", agent_name),
            check_token,
            lambda: self.flag(allow_closed),
            asked,
            lambda: self.is_free(asked(), agent_name, reclaim_token),
        )
        self.row("topics.lease.01", "topics.lease.02" if topic_id else "topics.lease.03", "topics.lease.10")
        held = topic.names.get(agent_name)
        here = self.joined.get((self.at, plain(topic.topic_id)))
        if held is None:
            self.row("topics.lease.09", "topics.lease.21")
            self.claims += 1
            now = self.born(Moment, "now")
            held = topic.names[agent_name] = Reservation(
                self.born(Token, "token"), self.claims, now, self.same_moment(now)
            )
            self.secrets.append((held.token, "topics.lease.29"))
        elif here == (agent_name, held.claim):
            self.row("topics.lease.12")  # this session has the name already
            is_claim = self.choice("a join by who holds the name", "no claim", "a claim") == "a claim"
            held.claimed_at = self.born(Moment, "now") if is_claim else held.claimed_at
        else:
            self.row("topics.lease.12", "topics.lease.25")
            self.claims += 1
            held.claim, held.claimed_at = self.claims, self.born(Moment, "now")
        self.joined[self.at, plain(topic.topic_id)] = agent_name, held.claim
        reply: dict[str, Any] = topic.told() | {
            "agent_name": Cited(agent_name, ("topics.lease.08",)),
            "reclaim_token": Cited(self.confide(held.token), ("topics.lease.13",)),
        }
        return reply

    def is_free(self, topic: Topic, agent_name: Any, token: Any) -> None:
        """Is the name nobody's, this session's already, or does the token show that it is the caller's?"""
        agent_name = self.stripped("agent_name", agent_name)
        if self.is_own_among_blanks(topic, agent_name, token):
            if self.choice("a token among blanks of who is that peer", "is taken", "is refused") == "is refused":
                self.refuse("AGENT_NAME_IN_USE", "topics.lease.14")
            return
        token = token if token is None else self.stripped("reclaim_token", token)
        held = topic.names.get(agent_name)
        if held is None and token is not None and not self.takes_any_token():  # on another bus
            raise Refuse("AGENT_NAME_IN_USE", also=("INVALID_ARGUMENT",))
        if held is None or token == plain(held.token):
            return
        name, claim = self.joined.get((self.at, plain(topic.topic_id)), (None, 0))
        is_its_own = name == agent_name and (claim == held.claim or self.is_still_its_own(claim))
        if token is not None and not (is_its_own and self.asks_for_no_token()):
            self.refuse("AGENT_NAME_IN_USE", "topics.lease.14")
        if not is_its_own:
            self.refuse("AGENT_NAME_IN_USE", "topics.lease.07")

    def is_own_among_blanks(self, topic: Topic, agent_name: Any, token: Any) -> bool:
        """Who is that peer gives its token among blanks. A bus that takes it may leave the blanks out, or look at no
        token: neither is learnt from it."""
        held = topic.names.get(agent_name) if type(agent_name) is str else None
        is_own = held is not None and self.joined.get((self.at, plain(topic.topic_id))) == (agent_name, held.claim)
        return is_own and type(token) is str and held is not None and token != token.strip() == plain(held.token)

    def asks_for_no_token(self) -> bool:
        """A session that already is that peer needs no token; no sentence says how a bus treats a wrong one then."""
        return self.choice("a wrong token of who is that peer", "is refused", "is not looked at") != "is refused"

    def takes_any_token(self) -> bool:
        """Nobody has the name: is a token beside it looked at?"""
        return self.choice("a token for a name that nobody has", "is not looked at", "is refused") != "is refused"

    def is_still_its_own(self, claim: int) -> bool:
        """A bus that lets a session act after another one took its name over (B10) may let it join again, too."""
        ways = "needs the token", "needs none"
        return claim not in self.sent_away and self.choice(f"{ROW_25}: a join by the old session", *ways) == ways[1]

    def who(self, topic_id: Any, row: str = ROW_25) -> tuple[str, int]:
        """The name under which this session joined; another may have taken it over since (B10)."""

        def joined() -> tuple[str, int]:
            if (self.at, topic_id) not in self.joined:
                self.refuse("AGENT_NOT_JOINED", "topics.lease.16", "topics.lease.17", "topics.lease.18")
            return self.joined[self.at, topic_id]

        if type(topic_id) is not str:
            self.text("topic_id", topic_id)
        who: tuple[str, int] = self.all_of(joined, lambda: self.topic(topic_id))[0]
        self.still(self.topic(topic_id), who, row)
        return who

    def still(self, topic: Topic, who: tuple[str, int], row: str = ROW_25) -> str:
        """Its name, unless another session has taken it over since (B10)."""
        name, claim = who
        if claim in self.sent_away:
            self.refuse("AGENT_NOT_JOINED", "topics.lease.32")
        is_old = self.is_anothers(topic, who)
        if is_old and self.choice(row, "may no longer act", "may act") == "may no longer act":
            self.sent_away.add(claim)
            self.refuse("AGENT_NOT_JOINED", row)
        return name

    def end_of_wait(self, topic: Topic, who: tuple[str, int]) -> str:
        """How a wait ends; on another bus it may end otherwise for a session whose name was taken over since."""
        is_over = self.is_anothers(topic, who)
        return self.choice(f"{ROW_25}: a wait", *ENDS_OF_A_WAIT) if is_over else REFUSED

    def is_anothers(self, topic: Topic, who: tuple[str, int]) -> bool:
        """Has another session taken the name over?"""
        held = topic.names.get(who[0])
        return held is None or held.claim != who[1]

    # -- sync

    def sync(
        self,
        topic_id: Any,
        outbox: Any = None,
        max_items: Any = 20,
        include_self: Any = False,
        wait_seconds: Any = 60,
        auto_advance: Any = True,
        ack_through: Any = None,
    ) -> Generator[None, None, dict[str, Any]]:
        """Send, acknowledge and receive in one step. With nothing to return, it waits and looks a second time."""
        who, drafts, *_ = self.all_of(
            lambda: self.who(topic_id),
            lambda: self.drafts(outbox),
            lambda: self.whole("max_items", max_items),
            lambda: self.whole("wait_seconds", wait_seconds),
            lambda: self.flag(include_self),
            lambda: self.flag(auto_advance),
            lambda: self.may_acknowledge(topic_id, ack_through, auto_advance, outbox),
            lambda: self.may_send(topic_id, outbox),
        )
        topic, reading = self.topic(topic_id), Reading(who[0], max_items, include_self, auto_advance)
        now = self.born(Moment, "now")
        sent, warnings, new = self.accepted(topic, who[0], drafts, now)
        at = topic.cursors[who[0]].last_seq if who[0] in topic.cursors else 0
        if ack_through is not None:
            if self.is_beyond(topic, ack_through, new):
                if new and self.is_sent_all_the_same():  # on another bus
                    topic.messages += new
                self.refuse("INVALID_ARGUMENT", "topics.cursor.17", "topics.cursor.18")
            self.row("topics.cursor.15", "topics.cursor.19", "topics.cursor.20")
            is_back = ack_through < at and self.choice("topics.cursor.19", "is ignored", "goes back") == "goes back"
            at = ack_through if is_back else max(at, ack_through)
        topic.messages += new
        topic.seq_at = now if new else topic.seq_at
        received = self.received(topic, reading, at, now)
        if wait_seconds and not received["received"].value:
            passed = topic.cursors[who[0]]
            yield
            self.row("topics.cursor.26", "topics.cursor.27", "topics.cursor.28")
            if topic.status == "closed" and self.choice("topics.cursor.52", "no error", "TOPIC_CLOSED") != "no error":
                self.refuse("TOPIC_CLOSED", "topics.cursor.52")
            ended = self.end_of_wait(topic, who)
            if ended.endswith(UNPASSED) and topic.cursors[who[0]] is passed:  # on another bus
                topic.cursors[who[0]] = Cursor(at, self.born(Moment, "ended"))
            if ended.startswith(NOTHING_CAME):  # on another bus
                nothing = {"received": [], "received_count": 0, "has_more": False, "cursor": ANYTHING}
                return {"status": "timeout", "sent": sent, "topic_id": topic.topic_id, "agent_name": who[0], **nothing}
            self.still(topic, who)
            at = topic.cursors[who[0]].last_seq
            received = self.received(topic, reading, at, self.born(Moment, "later"))
            if auto_advance and topic.cursors[who[0]].last_seq > at and not received["received"].value:
                self.leave_own(topic, who[0], at, received)
            self.least_s = 0.0 if received["received"].value else wait_seconds
        status = "ready" if received["received"].value else "timeout" if wait_seconds else "empty"
        rows = {"ready": "topics.cursor.24", "timeout": "topics.cursor.25", "empty": "topics.cursor.23"}
        reply = {"status": Cited(status, (rows[status],)), "sent": Cited(sent, ("topics.log.48",)), **received}
        reply |= {"topic_id": Told(topic.topic_id), "agent_name": Told(who[0])}
        return reply | {"warnings": warnings}

    def leave_own(self, topic: Topic, name: str, at: int, received: dict[str, Any]) -> None:
        """A bus may leave the reader's own messages that came while it waited in vain to its next sync (B3, B8)."""
        if self.choice("topics.cursor.09: in vain", "past own messages", "at the next sync") == "at the next sync":
            topic.cursors[name].last_seq = at  # on another bus
            received["cursor"] = {"last_seq": at, "updated_at": topic.cursors[name].updated_at}

    def may_acknowledge(self, topic_id: Any, ack_through: Any, auto_advance: Any, outbox: Any) -> None:
        """Not with auto_advance, and no further than the newest message if all of the outbox were new."""
        if ack_through is None:
            return
        self.whole("ack_through", ack_through)
        if auto_advance:
            self.refuse("INVALID_ARGUMENT", "topics.cursor.21")
        topic = self.found(topic_id)
        if type(outbox) is not str and topic is not None:
            most = len(topic.messages) + (len(outbox) if type(outbox) is list else 1)
            if ack_through > most and not (outbox and self.is_sent_all_the_same()):
                self.refuse("INVALID_ARGUMENT", "topics.cursor.17", "topics.cursor.18")

    def is_beyond(self, topic: Topic, ack_through: int, new: list[Message]) -> bool:
        """Is that message not there? A message that the same call sends is (B5)."""
        newest = len(topic.messages)
        if newest < ack_through <= newest + len(new):
            return self.choice("topics.cursor.20", "after it has sent", "before it sends") == "before it sends"
        return ack_through > newest

    def is_sent_all_the_same(self) -> bool:
        """Is an outbox sent though the ack beside it is refused (B5)?"""
        return self.choice("topics.cursor.18", "nothing is sent", "the outbox is sent") == "the outbox is sent"

    def may_send(self, topic_id: Any, outbox: Any) -> None:
        """Nothing new on a closed topic."""
        topic = self.found(topic_id)
        if topic is None or topic.status == "open":
            return
        items = outbox if type(outbox) is list else [outbox] if type(outbox) is dict else []
        sender = self.joined.get((self.at, topic_id), ("", 0))[0]
        for item in items:
            key = item.get("client_message_id") if type(item) is dict else None
            keys = (key, key.strip()) if type(key) is str else (key,)
            if all(self.known(topic, sender, form, []) is None for form in keys):
                self.refuse("TOPIC_CLOSED", "topics.route.14")

    def received(self, topic: Topic, reading: Reading, at: int, now: Any) -> dict[str, Any]:
        """The unread messages from there on, and the cursor after them."""
        unread = reading.unread(topic, at)
        shown, has_more = unread[: reading.max_items], len(unread) > reading.max_items
        self.row(
            "topics.cursor.03", "topics.cursor.05", "topics.cursor.08" if reading.include_self else "topics.cursor.07"
        )
        if reading.auto_advance:
            self.row("topics.cursor.11", "topics.cursor.13", "topics.cursor.10")
            at = max(at, self.advanced(topic, shown, unread[reading.max_items] if has_more else None))
        else:
            self.row("topics.cursor.14")
        topic.cursors[reading.name] = Cursor(at, now)
        return {
            "received": Cited(
                [message.told() for message in shown], ("topics.cursor.03", "topics.cursor.05", "topics.cursor.07")
            ),
            "received_count": Told(len(shown)),
            "has_more": Told(Cited(has_more, ("topics.cursor.54" if has_more else "topics.cursor.06",))),
            "cursor": Cited({"last_seq": at, "updated_at": now}, ("topics.cursor.22", "topics.cursor.11")),
        }

    def advanced(self, topic: Topic, shown: list[Message], more: Message | None) -> int:
        """To the last message returned; also past the reader's own ones, unless the bus chose otherwise (B8)."""
        choice = self.choice("topics.cursor.09", "past own messages", "at what was returned")
        returned, past = shown[-1].seq if shown else 0, more.seq - 1 if more else len(topic.messages)
        return past if choice == "past own messages" else returned

    def drafts(self, outbox: Any) -> list[Draft]:
        """The items of an outbox. Models also send one object alone, or JSON text (0015); a bus need not take it."""
        if type(outbox) in (str, dict):
            self.may_refuse("an outbox as JSON text" if type(outbox) is str else "an outbox of one object", ROUTE_19)
        if type(outbox) is str:
            try:
                outbox = json.loads(outbox)
            except ValueError:
                self.refuse("INVALID_ARGUMENT", ROUTE_19)
        items = [] if outbox is None else [outbox] if type(outbox) is dict else outbox
        if type(items) is not list:
            self.refuse("INVALID_ARGUMENT", "topics.route.19")
        self.within("outbox", len(items))
        return [self.draft(item) for item in items]

    def draft(self, item: Any) -> Draft:
        """One item; unknown fields are ignored, or refused by another bus."""
        if type(item) is not dict:
            self.refuse("INVALID_ARGUMENT", "topics.log.59")
        if item.keys() - {"content_markdown", *OPTIONAL}:
            self.may_refuse("a field of an item that the seed does not name", ROUTE_19)
        if item.get("content_markdown") is None:
            self.refuse("INVALID_ARGUMENT", "topics.log.57", "topics.log.58")
        for name in OPTIONAL:
            if item.get(name, 0) is None and self.choice(f"null as {name}", "not given", "refused") == "refused":
                self.refuse("INVALID_ARGUMENT", "topics.log.59")
        texts = (item.get(name) for name in ("content_markdown", "message_type", "reply_to", "client_message_id"))
        if any(text is not None and type(text) is not str for text in texts):
            self.refuse("INVALID_ARGUMENT", "topics.log.59")
        kind, reply_to, client_id, metadata = (item.get(name) for name in OPTIONAL)
        return Draft(
            content_markdown=self.body("content_markdown", item["content_markdown"]),
            message_type="message" if kind is None else self.stripped("message_type", kind),
            reply_to=None if reply_to is None else self.text("reply_to", reply_to),
            metadata=self.object(metadata, "topics.log.59"),
            client_message_id=None if client_id is None else self.stripped("client_message_id", client_id),
        )

    def accepted(
        self, topic: Topic, sender: str, drafts: list[Draft], now: Any
    ) -> tuple[list[dict[str, Any]], Any, list[Message]]:
        """The record of each item, warnings, and the new messages. All or none (log.60)."""
        sent, new = list[dict[str, Any]](), list[Message]()
        warnings: list[Any] = []
        is_sure = True  # is it certain that no warning is due where none is expected?
        for draft in drafts:
            old = self.known(topic, sender, draft.client_message_id, new)
            if old is not None and self.is_taken_back(topic):
                self.row("topics.log.61", "topics.log.64", "topics.log.65", "topics.log.66")
                self.bound("INVALID_ARGUMENT", "topics.log.88")
                sent.append({"message": old.told(), "duplicate": Cited(True, ("topics.log.62",))})
                if not draft.says_the_same(old) and self.choice("topics.log.63", "is told", "is not told") == "is told":
                    warnings.append(warning("CONTENT_MISMATCH"))
                is_sure = is_sure and draft.says_the_same(old) <= draft.is_written_alike(old)
                continue
            self.all_of(
                lambda: topic.status == "open" or self.refuse("TOPIC_CLOSED", "topics.route.14"),
                partial(self.answers, topic, draft.reply_to),
            )
            message = Message(
                self.born(ShortId, "message"),
                topic.topic_id,
                len(topic.messages) + len(new) + 1,
                sender,
                draft.message_type,
                draft.reply_to,
                draft.content_markdown,
                draft.metadata,
                draft.client_message_id,
                self.same_moment(now),
            )
            new.append(message)
            sent.append({"message": message.told(), "duplicate": Told(False)})
        if new:
            self.row("topics.log.40", "topics.log.43", "topics.log.44")
        warned = Cited(warnings, ("topics.log.63",)) if warnings else NO_MISMATCH if is_sure else ANYTHING
        return sent, warned, new

    def same_moment(self, now: Any) -> Any:
        """The moment of this call; on another bus a moment of its own."""
        is_same = self.choice("topics.log.39", "one time in a call", "a time for each thing") == "one time in a call"
        return now if is_same else Moment(f"{self._step}.another")

    def answers(self, topic: Topic, reply_to: str | None) -> None:
        """A reply is to a message of its topic. A bus need not look; if it does, another topic's does not count."""
        if reply_to is None or topic.holds(reply_to):
            return
        if self.choice("topics.log.52", "refused", "taken") == "refused":
            is_elsewhere = any(other.holds(reply_to) for other in self.topics)
            rows = ("topics.log.89",) if is_elsewhere else ("topics.log.52", "topics.log.60")
            self.refuse("INVALID_ARGUMENT", *rows)

    def known(self, topic: Topic, sender: str, client_id: str | None, new: list[Message]) -> Message | None:
        """The message that has this key of the sender's on this topic already."""
        if client_id is None:
            return None
        stored = [*topic.messages, *new]
        return next((old for old in stored if (old.sender, old.client_message_id) == (sender, client_id)), None)

    def is_taken_back(self, topic: Topic) -> bool:
        """Does a retry find its record on a closed topic (B7)?"""
        return topic.status == "open" or self.choice("topics.log.66", "the record", "TOPIC_CLOSED") == "the record"

    def cursor_reset(self, topic_id: Any, last_seq: Any = 0) -> dict[str, Any]:
        """Put the caller's cursor somewhere between 0 and the newest message."""
        self.row("topics.cursor.46")

        def reachable() -> None:
            self.whole("last_seq", last_seq)
            topic = self.found(topic_id)
            if topic is not None and last_seq > len(topic.messages):
                self.refuse("INVALID_ARGUMENT", "topics.cursor.45")

        (name, _), _ = self.all_of(lambda: self.who(topic_id, "topics.lease.28"), reachable)
        topic = self.topic(topic_id)
        self.row("topics.cursor.40", "topics.cursor.41", "topics.cursor.42", "topics.cursor.43")
        topic.cursors[name] = Cursor(last_seq, self.born(Moment, "now"))
        return {"cursor": {"last_seq": last_seq, "updated_at": topic.cursors[name].updated_at}}

    # -- looking

    def topic_presence(self, topic_id: Any, window_seconds: Any = 300, limit: Any = 200) -> dict[str, Any]:
        """Peers that synced within the window, the latest first."""
        _, _, topic = self.all_of(
            lambda: self.whole("window_seconds", window_seconds),
            lambda: self.whole("topic_presence.limit", limit),
            lambda: self.topic(topic_id, "topics.presence.10"),
        )
        self.row("topics.presence.01", "topics.presence.02", "topics.presence.03", "topics.presence.05")
        peers = {name: (cursor.last_seq, cursor.synced_at) for name, cursor in topic.cursors.items()}
        test = Peers(peers, window_seconds, limit)
        rows = ("topics.presence.02", "topics.presence.03", "topics.presence.08", "topics.presence.09")
        return {"peers": Cited(Fits(f"those of {peers} within {window_seconds} s, at most {limit}", test), rows)}

    def messages_search(
        self,
        query: Any,
        topic_id: Any = None,
        mode: Any = "hybrid",
        limit: Any = 20,
        model: Any = None,
        include_content: Any = False,
    ) -> dict[str, Any]:
        """Messages that hold all words of the query, in any order of rank. Matches by meaning are free (B9)."""
        words, _, _, _, _, topic = self.all_of(
            lambda: self.words(query),
            lambda: mode in ("hybrid", "fts", "semantic") or self.refuse("INVALID_ARGUMENT", "topics.search.09"),
            lambda: self.whole("messages_search.limit", limit),
            lambda: self.flag(include_content),
            lambda: model is None or self.text("model", model),
            lambda: None if topic_id is None else self.topic(topic_id, "topics.search.21"),
        )
        within = self.topics if topic is None else [topic]
        finds = {"fts": "topics.search.12", "hybrid": "topics.search.13", "semantic": "topics.search.14"}[mode]
        self.row("topics.search.01" if topic_id is None else "topics.search.02", finds, "topics.search.16")
        if any(not (char.isalnum() or char.isspace()) for char in query):
            self.bound("INVALID_ARGUMENT", "topics.search.16")  # it is taken for more than words
        has_parts = any(len(tokens(word)) > 1 for word in words)
        is_apart = has_parts and self.choice("the parts of a word", "side by side", "anywhere") == "anywhere"
        words = [part for word in words for part in tokens(word, str)] if is_apart else words
        there = {(plain(topic.topic_id), m.seq): (topic, m) for topic in within for m in topic.messages}
        hits = {key: pair for key, pair in there.items() if holds(pair[1].content_markdown, words)}
        as_written = {key: pair for key, pair in hits.items() if holds(pair[1].content_markdown, words, str)}
        if len(as_written) < len(hits) and self.choice("words in another case", "are found", "may be") == "may be":
            hits = as_written  # on another bus
        if mode == "semantic":
            test = Results({}, limit, include_content, there)
        else:
            others = there if mode == "hybrid" else self.alike(there, query, words)
            test = Results(hits, limit, include_content, others)
        rows = ("topics.search.04", "topics.search.10", finds, "topics.search.19")
        return {"results": Cited(Fits(f"results among {sorted(map(str, hits))}", test), rows)}

    def alike(self, there: dict[Place, Any], query: str, words: list[str]) -> dict[Place, Any]:
        """Those that an index may find that takes no notice of marks. Letters of ASCII have none."""
        bodies = {key: message.content_markdown for key, (_, message) in there.items()}
        wide = [key for key, body in bodies.items() if not (query.isascii() and body.isascii())]
        return {key: there[key] for key in wide if holds(bodies[key], words, folded)}

    def words(self, query: Any) -> list[str]:
        """The words of a query; there must be one."""
        words = self.body("query", query).split()
        if not words and self.refuses("a query of blanks alone"):
            self.refuse("INVALID_ARGUMENT", "topics.search.07")
        return words

    # -- in words

    def unsaid(self, method: str, seen: Any, text: str) -> Difference | None:
        """A token, which its owner is told, or a word of a body. A text may escape, and shorten what is long."""
        if method == "topic_join" and f"reclaim_token={seen['reclaim_token']}" not in text:  # on another bus
            return Difference("text", "reclaim_token=TOKEN", f"{text:.300}", ("topics.lease.19",))
        bodies = [row["content_markdown"] for row in seen["received"]] if method == "sync" else []
        if sum(map(len, bodies)) > SHORT_CHARS:
            return None
        words = [word for body in bodies for word in re.findall(r"[a-zA-Z0-9]+", body)]
        missing = [word for word in words if word not in text]
        if missing:  # on another bus
            return Difference("text", f"{missing[0]} of a body", f"{text:.300}", ("topics.log.68",))
        return None

    # -- the file, as the kit's hand reads and changes it

    def tables(self) -> dict[str, Any]:
        """The rows of the seed's tables. Each part cites a row: a difference breaks its sentence, or none."""
        topics, cursors, names, messages, numbers = [], [], [], [], []
        for t in self.topics:
            made = {"name": t.name, "created_at": t.created_at, "topic_id": Cited(t.topic_id, ("topics.log.37",))}
            kept = {"metadata": Cited(Json(t.metadata), ("topics.route.06",))}
            closed = {"closed_at": t.closed_at, "close_reason": t.close_reason}
            closed = {name: Cited(value, ("topics.route.16",)) for name, value in closed.items()}
            topics.append(made | kept | {"status": Cited(t.status, ("topics.route.13",))} | closed)
            if t.messages:  # or it may have no row yet
                numbers.append({"topic_id": t.topic_id, "next_seq": len(t.messages) + 1})
            messages += [message.told() for message in t.messages]
            for name, cursor in t.cursors.items():
                cursors.append({"topic_id": plain(t.topic_id), "agent_name": name, "last_seq": cursor.last_seq})
            for name, held in t.names.items():
                times = {"created_at": held.created_at, "last_claimed_at": held.claimed_at}
                names.append({"topic_id": plain(t.topic_id), "agent_name": name, "reclaim_token": held.token} | times)
        return {
            "topics": Cited(topics, ("topics.route.01",)),
            "topic_seq": Cited(numbers, ("topics.log.44",)),
            "messages": Cited(messages, ("topics.log.42",)),
            "cursors": Cited(AnyOrder(cursors, ("topic_id", "agent_name")), ("topics.cursor.39",)),
            "agent_name_reservations": Cited(AnyOrder(names, ("topic_id", "agent_name")), ("topics.lease.24",)),
        }

    def age_cursor(self, topic_id: Any, agent_name: str, seconds: float) -> dict[str, Any]:
        """A reader that has been silent for so long; or has a time in the future, if the clock was set back."""
        cursor = self.topic(topic_id).cursors.get(agent_name)
        if cursor is not None:
            cursor.aged_s += seconds
        return {}

    def stranger_sends(
        self,
        message_id: str,
        topic_id: Any,
        sender: str,
        content_markdown: str,
        created_at: float,
        client_message_id: str | None = None,
    ) -> dict[str, Any]:
        """A message of another program, which knows the seed's tables and nothing else (log.11)."""
        topic = self.topic(topic_id)
        place = len(topic.messages) + 1
        columns = (sender, "message", None, content_markdown, None, client_message_id)
        topic.messages.append(Message(message_id, topic.topic_id, place, *columns, created_at))
        return {}

    def stranger_joins(
        self, topic_id: Any, agent_name: str, reclaim_token: str, created_at: float, last_claimed_at: float
    ) -> dict[str, Any]:
        """A name that such a program reserved; any holder of its token may claim it."""
        self.claims += 1
        held = Reservation(reclaim_token, self.claims, created_at, last_claimed_at)
        self.topic(topic_id).names.setdefault(agent_name, held)
        self.secrets.append((reclaim_token, "topics.lease.29"))
        return {}


def warning(code: str) -> dict[str, Any]:
    """A warning beside the result of a reply."""
    return {"code": code, "message": SOME_TEXT}
