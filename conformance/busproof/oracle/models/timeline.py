"""`timeline` (seed 003, decisions T1 to T21) as an executable specification: read it as the seed's text.

To send a message is to record it: it gets the next number of its timeline and the hash of all before it. A fork is a
timeline whose record begins in its parent's. Workers fetch messages that match a filter; a call sends, and waits for
the message with exactly the reply key. Keys and subjects stand in `timeline_keys`, the record in `timeline_record`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from typing import Any

from busproof.contract.timeline import CONTRACT
from busproof.oracle.models.parts import BIG_NUMBER, has_big_number
from busproof.oracle.models.spec import (
    AnyOrder,
    Cited,
    Difference,
    Fits,
    Free,
    Model,
    Part,
    Refuse,
    Told,
    differs,
    plain,
)
from busproof.oracle.models.timeline_keys import (
    REPLY_TYPES,
    VARIANTS,
    WITH_STATE,
    NoKey,
    checked_filter,
    checked_key,
    checked_text,
    filter_subjects,
    in_lower_case,
    in_upper_case,
    key_of,
    matches,
    reply_key,
    subject,
)
from busproof.oracle.models.timeline_record import (
    Digest,
    DigestOf,
    Message,
    Timeline,
    canonical,
    is_json,
    row_of,
    text_of,
)

LOG_LIMIT = 1_000
AN_HOUR_MS = 60 * 60 * 1000
# Things that a bus may take or refuse, or do either way.
UNKNOWN, NULL_DIMENSION = "a parameter that the method does not have", "a dimension of a filter that is null"
NO_HASH = "a head that is no hash"
STATELESS, NAK_OF_OVER = "a state with a response", "the nak of a delivery whose time is over"
NAK_EFFECTS = "gives it back", "has no effect"
# A server that gives back by the nak of any delivery must know that nobody else has the message.
NAK_OF_ANOTHER = "the nak of what another session fetched"
NAKS = "comes at once", "comes at once where surely nobody else has it"
# By which clock ack_wait_ms ends, on a bus that keeps no file that the kit knows.
TIME_OF_WORK = "the time of which ack_wait_ms is"
TIMES_OF_WORK = "its own", "the session's"
# A row's second choice.
MEMBERS, UNASKED = "timeline.log.26: the members of a state", "timeline.log.28: where no limit is given"
BELOW_0 = "timeline.retry.10: below 0"
SUBJECT_ROWS = dict(
    zip(VARIANTS, ("route.04", "route.05", "route.06", "route.07", "route.08", "route.09", "route.10"), strict=True)
)
REPLY_ROWS = {"complete": "timeline.route.11", "response": "timeline.route.12", "delegate-reply": "timeline.route.13"}
BOUND_OF = CONTRACT.bound_of
REFUSED_KEY = {
    "shape": "timeline.route.01",
    "empty": "timeline.route.20",
    "text": BOUND_OF["agent"].row,
    "sequence": BOUND_OF["sequence"].row,
    "subject": "timeline.route.18",
}


@dataclass(frozen=True)
class FirstOf(Part):
    """As many of a list's first members as a bus shows, at least one."""

    value: list[Any]

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """Compare as many as were shown."""
        shown = min(max(1, len(actual)), LOG_LIMIT) if isinstance(actual, list) else LOG_LIMIT
        return differs(self.value[:shown], actual, path, rows)


class Name(Free):
    """The name of a durable consumer: a text that NATS takes, and no other consumer's."""

    def __init__(self, name: str, others: list[Free]) -> None:
        super().__init__(name)
        self.others = others

    def fits(self, value: Any) -> bool:
        is_name = type(value) is str and re.fullmatch(r"[^\s.*>/\\]{1,255}", value) is not None
        return is_name and all(other.value != value for other in self.others)


class Ticket(Free):
    """The parameter of ack and nak; a different one for each delivery."""

    def fits(self, value: Any) -> bool:
        return type(value) is str and value != ""


@dataclass
class Held:
    """A consumer's message that was handed out: the end of its worker's time, and the ticket of that delivery."""

    ticket: Any
    count: int
    until_ms: int
    by: tuple[int | str, int]  # its holder: a process, and which of its sessions
    back_at: int = 0  # its place among those that came back by nak; 0: it did not
    back_ms: int = 0  # and when

    def moment(self) -> tuple[int, int]:
        """When it came back. Of two given back at the same moment, the first comes first."""
        return (self.back_ms if self.back_at else self.until_ms, self.back_at)


# How buses may sort the messages that came back, if not by age.
ORDERS: dict[str, Callable[[Held], tuple[int, ...]]] = {
    "in the order of coming back": Held.moment,
    "what ran out, then what was given back in turn": lambda held: (held.back_at, held.until_ms),
    "what was given back, by age, then what ran out": lambda held: (0, 0) if held.back_at else (1, held.until_ms),
}


@dataclass
class Consumer:
    """The messages of a filter that were handed out, by place in the record, and those that are done."""

    name: Any
    held: dict[int, Held] = field(default_factory=dict)
    done: set[int] = field(default_factory=set)
    has_begun: bool = False
    newest: Any = None  # the ticket of the last delivery

    def is_sure(self, held: Held) -> bool:
        """Is it certain that nobody else can have that message, if one sees only how many were delivered again?"""
        is_first = held.count == 1 and all(other.count == 1 for other in self.held.values())
        return held.ticket is self.newest or is_first

    def told(self) -> str:
        """In words."""
        held = {at: (handed.count, handed.until_ms, handed.back_at) for at, handed in self.held.items()}
        return f"done {sorted(self.done)}, handed out {held}"


class TimelineModel(Model):
    """One store, as all its processes see it."""

    SYSTEM = "timeline"
    EXACT = ("timeline.log.45",)
    WRITES, STORED = ("send",), ("timeline.log.32",)
    NOUNS = frozenset({"log", "cursor", "route", "retry", "export", "fork"})
    EVERYTHING = NOUNS | CONTRACT.features.keys()

    def __init__(self, *bus: Any) -> None:
        super().__init__(*bus)
        self.ack_wait_ms: dict[int | str, int] = {}
        self.sessions: Counter[int | str] = Counter()
        self.record: list[Message] = []  # of all timelines, in the order of sending
        self.lanes: dict[str, Timeline] = {}
        self.by_identity: dict[tuple[str, str | None], Message] = {}
        self.consumers: dict[tuple[str, str | None], Consumer] = {}
        self.tickets: dict[Any, tuple[Consumer, int]] = {}
        self.came_back = 0
        self.is_tampered = False
        self.taken_out: set[tuple[str, int]] = set()  # the timeline and the number of each

    # -- valid values

    def options_declared(self, options: dict[str, Any]) -> dict[str, Any]:
        """ack_wait_ms of a script is for a file. A server may have its own time: nothing is back in an hour of it."""
        return options if "sqlite" in self.features else {"ack_wait_ms": AN_HOUR_MS}

    def checked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Nothing may be missing."""
        if self.at == "hand":
            return params
        fields = CONTRACT.methods[method].params.model_fields
        if method == "open":
            return params
        if not {name for name, member in fields.items() if member.is_required()} <= params.keys():
            self.refuse("INVALID_ARGUMENT", "timeline.log.31", why="a parameter is missing")
        if not params.keys() <= fields.keys():
            self.may_refuse(UNKNOWN, "timeline.log.31", reference_refuses=True)
        return {name: value for name, value in params.items() if name in fields}

    def open(self, options: dict[str, Any]) -> dict[str, Any]:
        """A session on the store."""
        ack_wait_ms = options.get("ack_wait_ms", 30_000)
        self.keep("ack_wait_ms", ack_wait_ms)
        self.ack_wait_ms[self.at] = ack_wait_ms
        self.sessions[self.at] += 1
        return {}

    def key(self, value: Any) -> dict[str, Any]:
        """A key, whole."""
        try:
            return checked_key(value)
        except NoKey as error:
            self.refuse("INVALID_ARGUMENT", REFUSED_KEY[error.of])

    def text(self, value: Any) -> str:
        """One dimension."""
        try:
            return checked_text(value)
        except NoKey as error:
            self.refuse("INVALID_ARGUMENT", REFUSED_KEY[error.of])

    def filter(self, value: Any, group: Any) -> dict[str, Any]:
        """A filter; its null dimensions are open."""
        open_too = {name: text for name, text in value.items() if text is not None} if type(value) is dict else value
        if group is not None:
            self.text(group)
        if open_too != value:
            self.may_refuse(NULL_DIMENSION, "timeline.route.23")
        try:
            return checked_filter(open_too)
        except NoKey as error:
            self.refuse("INVALID_ARGUMENT", REFUSED_KEY[error.of])

    def nonce(self, key: dict[str, Any], nonce: Any) -> str | None:
        """A delegation has one, nothing else."""
        if key["type"] == "delegate":
            self.row("timeline.route.28")
            return self.text(nonce)
        if nonce is not None:
            self.refuse("INVALID_ARGUMENT", "timeline.route.29")
        return None

    def json(self, value: Any) -> str:
        """The text of a payload."""
        if not is_json(value):
            self.refuse("INVALID_ARGUMENT", "timeline.log.33")
        text = text_of(value)
        if len(text) > self.limits.get("payload_bytes_max", BOUND_OF["payload"].high):
            self.refuse("PAYLOAD_TOO_LARGE", "timeline.log.33")
        if has_big_number(value):
            self.may_refuse(BIG_NUMBER, "timeline.log.33")
        return text

    # -- keys

    def subject_of(self, key: Any, nonce: Any = None) -> dict[str, Any]:
        """How a key is written."""
        key = self.key(key)
        if nonce is not None:
            self.nonce(key, nonce)
        self.row("timeline.route.02", "timeline.route.03", "timeline." + SUBJECT_ROWS[key["type"]])
        self.row("timeline.route.16", "timeline.route.21", "timeline.route.22")
        return {"subject": self.written(subject(key)), "consumer": self.named(subject(key), None)}

    def written(self, text: str) -> str:
        """A subject as this bus writes it."""
        return in_lower_case(text) if "%" in text and self.escapes_are_lower() else text

    def escapes_are_lower(self) -> bool:
        """Has an escape lower-case digits?"""
        return self.choice("timeline.route.21", "upper-case digits", "lower-case digits") == "lower-case digits"

    def key_of(self, subject: Any) -> dict[str, Any]:
        """The key of a subject."""
        try:
            is_lower = type(subject) is str and "%" in subject and self.escapes_are_lower()
            key = key_of(in_upper_case(subject) if is_lower else subject)
        except NoKey as error:
            self.refuse("INVALID_ARGUMENT", REFUSED_KEY[error.of])
        self.row("timeline.route.17", "timeline.route.02", "timeline." + SUBJECT_ROWS[key["type"]])
        return {"key": key}

    def answering(self, key: Any, nonce: Any) -> dict[str, Any]:
        """The one reply key of a message that asks."""
        key = self.key(key)
        if reply_key(key, nonce) is None:  # whatever the nonce
            self.refuse("INVALID_ARGUMENT", "timeline.route.14")
        reply = reply_key(key, self.nonce(key, nonce))
        assert reply is not None
        return reply

    def reply_key(self, key: Any, nonce: Any = None) -> dict[str, Any]:
        """Where an answer goes."""
        reply = self.answering(key, nonce)
        self.row(REPLY_ROWS[reply["type"]], "timeline.route.15")
        return {"key": reply}

    def filter_subject(self, filter: Any, group: Any = None) -> dict[str, Any]:
        """How a filter is written: an open dimension is a wildcard."""
        wanted = self.filter(filter, group)
        self.row("timeline.route.23", "timeline.route.24", "timeline.route.19")
        forms = tuple(map(self.written, filter_subjects(wanted)))
        name = self.named(filter_subjects(wanted)[0], group)
        return {"subject": Fits(forms[0], lambda text: text in forms), "consumer": name}

    def matches(self, filter: Any, key: Any) -> dict[str, Any]:
        """Does the filter match the key?"""
        wanted, key = self.filter(filter, None), self.key(key)
        self.row("timeline.route.23", "timeline.route.25")
        return {"matches": matches(wanted, key)}

    def consumer(self, written: str, group: str | None) -> Consumer:
        """The consumer of a filter and a group: always the same one."""
        if (written, group) not in self.consumers:
            others = [known.name for known in self.consumers.values()]
            self.consumers[written, group] = Consumer(self.born(Name, "consumer", others))
        return self.consumers[written, group]

    def named(self, written: str, group: str | None) -> Cited:
        """The consumer's name: no other consumer's, and the same ever after."""
        name = self.consumer(written, group).name
        row = "timeline.route.19" if plain(name) is None else "timeline.cursor.15"
        self.row(row)
        return Cited(name, (row,))

    # -- sending

    def send(self, key: Any, nonce: Any = None, payload: Any = None) -> dict[str, Any]:
        """Send a message that asks."""
        (key, nonce), text = self.all_of(lambda: self.asking(key, nonce), lambda: self.json(payload))
        message, is_new = self.append(key, nonce, text, None)
        return self.sent(message, is_new)

    def asking(self, key: Any, nonce: Any) -> tuple[dict[str, Any], str | None]:
        """A key that can be sent, and its nonce."""
        key = self.key(key)
        if key["type"] not in REPLY_TYPES:
            self.refuse("INVALID_ARGUMENT", "timeline.log.15")
        return key, self.nonce(key, nonce)

    def reply(self, key: Any, nonce: Any = None, payload: Any = None, state: Any = None) -> dict[str, Any]:
        """Send the answer to the request with this key."""
        answering, text, state_text = self.all_of(
            lambda: self.answering(key, nonce),
            lambda: self.json(payload),
            lambda: self.stated(self.answering(key, nonce)["type"], state),
        )
        self.row(REPLY_ROWS[answering["type"]], "timeline.route.15", "timeline.log.13", "timeline.log.26")
        message, is_new = self.append(answering, None, text, state_text)
        return self.sent(message, is_new)

    def stated(self, type_: str, state: Any) -> str | None:
        """The text of the state that an agent gives with its result; its hash is recorded. A service has none."""
        if type_ not in WITH_STATE:
            if state is not None:
                self.may_refuse(STATELESS, "timeline.log.26", reference_refuses=True)
            return None
        text = self.json(state)
        if state is None and self.choice("timeline.log.26", "the hash of null", "null") == "null":
            return None
        if canonical(state) != text and self.choice(MEMBERS, "are sorted", "are as given") == "are as given":
            return text
        return canonical(state)

    def sent(self, message: Message, is_new: bool) -> dict[str, Any]:
        """Its place in the record."""
        return {
            "subject": message.subject,
            # Another number: they are not dense, or a fork of this timeline has taken one.
            "number": Cited(
                message.number, ("timeline.log.16", *(["timeline.fork.04"] if message.follows_fork else []))
            ),
            # A hash covers all that is recorded: if it differs, the message itself may differ, or its state.
            "hash": Cited(
                message.hash_told,
                ("timeline.log.18", "timeline.log.19", "timeline.log.26", row_of(message.key["type"])),
            ),
            "duplicate": Cited(not is_new, ("timeline.log.11",)),
        }

    def append(self, key: dict[str, Any], nonce: str | None, payload: str, state: str | None) -> tuple[Message, bool]:
        """Append to its timeline, or return the same one already there; True: it is new. `state`: as text."""
        known = self.by_identity.get((subject(key), nonce))
        if known is not None:
            return self.again(known, payload, state), False
        timeline = self.lanes.setdefault(key["timeline"], Timeline(key["timeline"]))
        is_in_ms = self.choice("timeline.log.30", "microseconds", "milliseconds") == "milliseconds"
        message = Message(key, self.written(subject(key)), nonce, state, payload, self.now_ms * 1000, is_in_ms)
        timeline.append(message)
        if self.choice("timeline.log.19", "the hash of the page", "of another form") == "of another form":
            message.hash = self.born(Digest, "hash", [earlier.hash for earlier in self.record])
        self.row(row_of(key["type"]), "timeline.log.08", "timeline.log.09", "timeline.log.14")
        self.row("timeline.log.16", "timeline.log.17", "timeline.log.19", "timeline.log.30")
        self.row("timeline.log.10", "timeline.log.31")
        # Sentences of parts that a bus need not have: without them it can send all the same.
        self.row(*(["timeline.log.18"] if "verify" in self.features else []))
        self.row(*(["timeline.fork.04"] if "fork" in self.features else []))
        self.record.append(message)
        self.by_identity[subject(key), nonce] = message
        return message, True

    def again(self, known: Message, payload: str, state: str | None) -> Message:
        """The first message, if this one says the same."""
        if known.content != (payload, state):
            asks = known.key["type"] in REPLY_TYPES
            if not asks or self.choice("timeline.log.12", "ID_CONFLICT", "the first counts") == "ID_CONFLICT":
                self.refuse("ID_CONFLICT", "timeline.log.12")
        self.row("timeline.log.11")
        return known

    # -- receiving

    def fetch(self, filter: Any, group: Any = None, wait_ms: Any = 0) -> Generator[None, None, dict[str, Any]]:
        """The oldest message that nobody of the group has."""
        wanted = self.filter(filter, group)
        self.keep("wait_ms", wait_ms)
        consumer = self.consumer(filter_subjects(wanted)[0], self.sharing(group))
        self.begin(consumer, group)
        self.row("timeline.cursor.01", "timeline.cursor.03", "timeline.cursor.07", "timeline.cursor.09")
        if group is not None:
            self.row("timeline.cursor.08")
        place = self.next_of(consumer, wanted)
        if place is None and wait_ms:
            yield
            place = self.next_of(consumer, wanted)
            self.least_s = 0.0 if place is not None else wait_ms / 1000
        return {"message": None if place is None else self.handed(consumer, place)}

    def next_of(self, consumer: Consumer, mask: dict[str, Any]) -> int | None:
        """The place of the next message: first those that came back, then those that nobody has had yet."""
        there = [at for at, message in enumerate(self.record) if not self.is_taken_out(message)]
        open_ = [at for at in there if at not in consumer.done and matches(mask, self.record[at].key)]
        back = [at for at in open_ if at in consumer.held and self.is_back(consumer.held[at])]
        fresh = [at for at in open_ if at not in consumer.held]
        first = self.choice("timeline.cursor.07", "the oldest", *ORDERS, "what nobody had yet")
        if first in ORDERS:  # on another bus
            back.sort(key=lambda at: ORDERS[first](consumer.held[at]))
        return next(iter(fresh + back if first == "what nobody had yet" else back + fresh), None)

    def is_taken_out(self, message: Message) -> bool:
        """Did somebody remove it from the file?"""
        return (message.key["timeline"], message.number) in self.taken_out

    def sharing(self, group: str | None) -> str | None:
        """The owner of the work: the group itself, or all that ask with the filter."""
        if group is None:
            return None
        return None if self.work_of_groups() == "they share it" else group

    def begin(self, consumer: Consumer, group: str | None) -> None:
        """A group asks for the first time: which part of the record is its work?"""
        is_new = group is not None and not consumer.has_begun
        if is_new and self.work_of_groups() == "what comes later":  # on another bus
            consumer.done = set(range(len(self.record)))
        consumer.has_begun = True

    def work_of_groups(self) -> str:
        """Each group has all of the record, or the bus chose otherwise."""
        return self.choice("timeline.cursor.08", "all of the record", "what comes later", "they share it")

    def is_back(self, held: Held) -> bool:
        """Given back, or not acknowledged in time. Who has no file that we know may keep a server's time."""
        if held.back_at:
            return True
        if "sqlite" not in self.features and self.choice(TIME_OF_WORK, *TIMES_OF_WORK) == TIMES_OF_WORK[0]:
            return False
        if self.now_ms == held.until_ms:
            return self.choice("timeline.cursor.06", "at that time", "after it") == "at that time"
        return self.now_ms > held.until_ms

    def handed(self, consumer: Consumer, at: int) -> dict[str, Any]:
        """Hand it to the caller."""
        before = consumer.held.get(at)
        if before is not None:
            self.row("timeline.cursor.12" if before.back_at else "timeline.cursor.06")
            self.row(*(["timeline.cursor.04"] if "nak" in self.features else []))
        until_ms, by = self.now_ms + self.ack_wait_ms[self.at], (self.at, self.sessions[self.at])
        held = Held(self.born(Ticket, "delivery"), before.count + 1 if before else 1, until_ms, by)
        consumer.held[at], consumer.newest = held, held.ticket
        self.tickets[held.ticket.name] = consumer, at
        message = self.record[at]
        self.row("timeline.cursor.10", row_of(message.key["type"]))
        counted = Cited(held.count, ("timeline.cursor.04",))
        which = {"subject": message.subject, "number": message.number}  # another message is a fault of the queue
        return {**which, **message.told(), **which, "delivery": held.ticket, "delivery_count": counted}

    def delivery(self, ticket: Any) -> tuple[Consumer, int, bool]:
        """The message of the ticket, and whether that delivery is still the last. Raises for one that no fetch gave."""
        free = next((free for free in self.frees.values() if type(free) is Ticket and plain(free) == ticket), None)
        if type(ticket) is not str or free is None:
            self.refuse("INVALID_ARGUMENT", "timeline.cursor.13")
        consumer, at = self.tickets[free.name]
        held = consumer.held.get(at)
        return consumer, at, held is not None and held.ticket is free

    def ack(self, delivery: Any) -> dict[str, Any]:
        """Done; it never comes again. A late ack says so too: the work is done."""
        consumer, at, is_last = self.delivery(delivery)
        self.row("timeline.cursor.03" if is_last else "timeline.cursor.14")
        consumer.done.add(at)
        consumer.held.pop(at, None)
        return {}

    def nak(self, delivery: Any) -> dict[str, Any]:
        """Given back, by its holder."""
        consumer, at, is_last = self.delivery(delivery)
        if not is_last:
            self.row("timeline.cursor.13")
            return {}
        self.row("timeline.cursor.12")
        held = consumer.held[at]
        if self.choice("timeline.cursor.12", "comes at once", "comes when its time is over") != "comes at once":
            return {}
        is_anothers = "sqlite" not in self.features and held.by != (self.at, self.sessions[self.at])
        if is_anothers and self.choice(NAK_OF_ANOTHER, *NAKS) != NAKS[0] and not consumer.is_sure(held):
            return {}
        # Its time is over and nobody else has it: only a clock that goes back shows the difference.
        if self.is_back(held) and not held.back_at and self.choice(NAK_OF_OVER, *NAK_EFFECTS) != NAK_EFFECTS[0]:
            return {}
        self.came_back += 1
        if not held.back_at:
            held.back_at, held.back_ms = self.came_back, self.now_ms
        return {}

    # -- calls

    def run_agent(
        self,
        timeline: Any,
        submission: Any,
        harness: Any,
        runtime: Any,
        agent: Any,
        payload: Any = None,
        timeout_ms: Any = 30_000,
    ) -> Generator[None, None, dict[str, Any]]:
        """An Invoke, and its Complete."""
        given = {"timeline": timeline, "submission": submission, "harness": harness, "runtime": runtime, "agent": agent}
        return self.called("timeline.retry.01", {"type": "invoke", **given}, None, payload, timeout_ms)

    def call_service(
        self,
        timeline: Any,
        submission: Any,
        agent: Any,
        service: Any,
        backend: Any,
        operation: Any,
        sequence: Any,
        payload: Any = None,
        timeout_ms: Any = 30_000,
    ) -> Generator[None, None, dict[str, Any]]:
        """A Request, and its Response."""
        given = {"timeline": timeline, "submission": submission, "agent": agent, "service": service}
        given |= {"backend": backend, "operation": operation, "sequence": sequence}
        return self.called("timeline.retry.02", {"type": "request", **given}, None, payload, timeout_ms)

    def delegate(
        self,
        timeline: Any,
        submission: Any,
        caller: Any,
        target: Any,
        nonce: Any,
        payload: Any = None,
        timeout_ms: Any = 30_000,
    ) -> Generator[None, None, dict[str, Any]]:
        """A Delegate, and the reply with its nonce."""
        given = {"timeline": timeline, "submission": submission, "caller": caller, "target": target}
        return self.called("timeline.retry.03", {"type": "delegate", **given}, nonce, payload, timeout_ms)

    def called(
        self, row: str, given: dict[str, Any], nonce: Any, payload: Any, timeout_ms: Any
    ) -> Generator[None, None, dict[str, Any]]:
        """Answered from the record, or sent; then a message with exactly the reply key counts, within the time."""
        (key, nonce), text, timeout_ms = self.all_of(
            lambda: self.asking(given, nonce), lambda: self.json(payload), lambda: self.timeout(timeout_ms)
        )
        self.row(row)
        answer = self.recorded(key, nonce, text)
        if answer is not None:
            self.row("timeline.retry.08")
            return self.answered(answer, True)
        yield
        self.append(key, nonce, text, None)
        yield
        answer = self.answer_on(key, nonce)
        if answer is None:
            # A bus that says for certain that nothing happened has recorded a call that it refused.
            self.row(
                "timeline.retry.04", "timeline.retry.05", "timeline.retry.06", "timeline.retry.07", "timeline.log.31"
            )
            self.least_s = timeout_ms / 1000
            raise Refuse("TIMEOUT", definite=False)
        return self.answered(answer, False)

    def timeout(self, value: Any) -> int:
        """How long a call waits."""
        if type(value) is int and value < 0 and self.choice(BELOW_0, "is refused", "is 0") == "is 0":
            return 0
        return int(self.keep("timeout_ms", value))

    def recorded(self, key: dict[str, Any], nonce: str | None, text: str) -> Message | None:
        """The reply that the timeline already sees. The nearest that knows of the call decides: own, then parents."""
        for name, upto in self.lineage(key["timeline"]):
            there = key | {"timeline": name}
            asked = self.by_identity.get((subject(there), nonce))
            answer = self.answer_on(there, nonce)
            asked, answer = [m if m and (upto is None or m.number <= upto) else None for m in (asked, answer)]
            if asked is not None and asked.content != (text, None) and not self.takes_any_answer():
                self.refuse("ID_CONFLICT", "timeline.retry.09")
            if asked is None and answer is None:
                continue
            if upto is not None:
                self.row("timeline.fork.06" if answer else "timeline.fork.07", "timeline.fork.03")
            return answer
        return None

    def takes_any_answer(self) -> bool:
        """Does it also take the answer to a call of the same key with other content?"""
        return self.choice("timeline.retry.09", "ID_CONFLICT", "the first one's answer") == "the first one's answer"

    def answer_on(self, key: dict[str, Any], nonce: str | None) -> Message | None:
        """The message under exactly the reply key."""
        return self.by_identity.get((subject(reply_key(key, nonce) or {}), None))

    def answered(self, answer: Message, is_replayed: bool) -> dict[str, Any]:
        """The answer, as the caller gets it."""
        return {
            "payload": answer.value,
            "number": answer.number,
            "hash": answer.hash,
            "state": answer.state,
            "replayed": Cited(is_replayed, ("timeline.retry.08",)),
        }

    # -- the record

    def lineage(self, name: str) -> list[tuple[str, int | None]]:
        """A timeline and its ancestors, each with the number up to which it is seen; None: all."""
        seen: list[tuple[str, int | None]] = [(name, None)]
        names = set[str]()
        timeline = self.lanes.get(name)
        while timeline is not None and timeline.parent is not None:
            before, upto = seen[-1]
            names.add(before)
            seen.append((timeline.parent, timeline.at if upto is None else min(timeline.at, upto)))
            is_known = timeline.parent in self.lanes and timeline.parent not in names
            timeline = self.lanes[timeline.parent] if is_known else None
        return seen

    def seen(self, name: str) -> list[Message]:
        """The messages that a timeline shows: its ancestors' up to the fork points, then its own."""
        parts = [
            [message for message in self.lanes[of].messages if upto is None or message.number <= upto]
            for of, upto in self.lineage(name)
            if of in self.lanes
        ]
        return [message for part in reversed(parts) for message in part]

    def known(self, timeline: Any) -> str:
        """A timeline that somebody has written to."""
        name = self.text(timeline)
        if name not in self.lanes:
            self.refuse("NOT_FOUND", "timeline.log.29")
        if self.lanes[name].parent is not None:
            self.row("timeline.fork.02", "timeline.fork.03")
        return name

    def log(self, timeline: Any, submission: Any = None, after: Any = 0, limit: Any = None) -> dict[str, Any]:
        """The messages that the timeline sees, in the order of their numbers."""
        *_, name = self.all_of(
            lambda: submission is None or self.text(submission),
            lambda: self.keep("after", after),
            lambda: limit is None or self.keep("limit", limit),
            lambda: self.known(timeline),
        )
        self.row("timeline.log.28", "timeline.log.09", "timeline.log.08", "timeline.log.31")
        if after and self.choice("timeline.log.28", "after the number", "from it on") == "from it on":
            after -= 1
        messages = [message for message in self.seen(name) if message.number > after]
        messages = [message for message in messages if submission in (None, message.key["submission"])]
        if limit is None and len(messages) > 1 and self.choice(UNASKED, f"at most {LOG_LIMIT}", "fewer") == "fewer":
            return {"messages": FirstOf([message.told() for message in messages])}
        return {"messages": [message.told() for message in messages[: LOG_LIMIT if limit is None else limit]]}

    def state(self, timeline: Any, agent: Any) -> dict[str, Any]:
        """The state of the agent's newest result."""
        _, name = self.all_of(lambda: self.text(agent), lambda: self.known(timeline))
        results = [message for message in self.seen(name) if message.is_result_of(agent)]
        self.row("timeline.log.27")
        last = results[-1] if results else None
        return {"state": last.state if last else None, "number": last.number if last else None}

    def verify(self, timeline: Any = None, head: Any = None) -> dict[str, Any]:
        """The chain of a sound record holds; the remembered head is there, or it is not."""
        if timeline is None:
            if head is not None:
                self.refuse("INVALID_ARGUMENT", "timeline.log.23")
            counts = {len(self.record)}
        else:
            name, _ = self.all_of(lambda: self.known(timeline), lambda: self.head(head))
            whole = sum(len(self.lanes[of].messages) for of, _ in self.lineage(name) if of in self.lanes)
            counts = {whole, len(self.seen(name))}  # with its ancestors' messages after the fork point, or without
            self.row("timeline.fork.12")
        if self.is_tampered:
            self.row("timeline.log.21")
            return {"ok": False, "faults": Fits("at least one", lambda shown: type(shown) is list and shown != [])}
        self.row("timeline.log.24")
        number, hash_ = self.lanes[timeline].last if timeline is not None else (0, head)
        faults = [] if head in (None, plain(hash_)) else [{"timeline": timeline, "number": number}]
        looked_at = Fits(" or ".join(map(str, sorted(counts))), lambda count: type(count) is int and count in counts)
        return {"ok": not faults, "checked": looked_at, "faults": faults}

    def head(self, value: Any) -> None:
        """A hash that somebody remembered."""
        if value is not None and type(value) is not str:
            self.refuse("INVALID_ARGUMENT", "timeline.log.23")
        if value is not None and not re.fullmatch("[0-9a-f]{64}", value):
            self.may_refuse(NO_HASH, "timeline.log.23")

    def tamper(self, table: str, timeline: str, column: str, value: Any, number: Any = None) -> dict[str, Any]:
        """Somebody changes a row of the file, of a message or of a timeline.

        Until it is mended, no other call than verify promises anything.
        """
        self.is_tampered = True
        return {"is_other": True}

    def take_out(self, timeline: str, number: int) -> dict[str, Any]:
        """Somebody removes a message from the file; see tamper. And no worker is given it: it holds up no other."""
        self.is_tampered = True
        self.taken_out.add((timeline, number))
        return {"is_other": True}

    def mend(self) -> dict[str, Any]:
        """Everything is as it was."""
        self.is_tampered = False
        self.taken_out.clear()
        return {}

    def burn(self, upto: int) -> dict[str, Any]:
        """Numbers of rows that are gone: a position is told to nobody."""
        return {}

    def replay(self, timeline: Any, submission: Any) -> dict[str, Any]:
        """A submission, as it happened."""
        _, name = self.all_of(lambda: self.text(submission), lambda: self.known(timeline))
        messages = [message for message in self.seen(name) if message.key["submission"] == submission]
        if not messages:
            self._rows.clear()  # of a fork that sees nothing of it, nothing is told
            if self.choice("timeline.export.04", "NOT_FOUND", "is empty") == "NOT_FOUND":
                self.refuse("NOT_FOUND", "timeline.export.04")
        self.row("timeline.export.01", "timeline.export.02", "timeline.export.03", "timeline.export.05")
        complete = [message for message in messages if message.key["type"] == "complete"]
        return {
            "messages": [message.told() for message in messages],
            "complete": complete[-1].told() if complete else None,
            "digest": Cited(DigestOf(messages), ("timeline.export.03",)),
        }

    # -- forks

    def fork(self, timeline: Any, submission: Any, agent_name: Any, parent: Any, at: Any) -> dict[str, Any]:
        """A timeline that begins at the parent's message `at`."""
        given = {"type": "fork", "timeline": timeline, "submission": submission, "agent_name": agent_name}
        key, *_ = self.all_of(lambda: self.key(given), lambda: self.text(parent), lambda: self.keep("at", at))
        start, begun = self.all_of(lambda: self.point(parent, at), lambda: self.begun(key, parent, at))
        if begun is not None:
            return self.forked(begun, False)
        if parent in self.lanes:  # always; not on another bus
            self.lanes[parent].was_forked = True
        begun = self.lanes[timeline] = Timeline(timeline, parent, at, *start)
        self.append(key, None, text_of({"parent": parent, "at": at}), None)
        self.row("timeline.fork.01", "timeline.fork.04", "timeline.fork.05", "timeline.fork.08")
        return self.forked(begun, True)

    def point(self, parent: str, at: int) -> list[str | Free]:
        """The hash of the parent's message `at`; at 0, none."""
        before = self.seen(parent) if parent in self.lanes else []
        if at > len(before) or not (parent in self.lanes or self.may_be_a_name_alone()):
            self.refuse("NOT_FOUND", "timeline.fork.10")
        return [before[at - 1].hash] if at else []

    def may_be_a_name_alone(self) -> bool:
        """Is there a point before the first message of a timeline that nobody has written to?"""
        return self.choice("timeline.fork.10: at 0 of a name alone", "is refused", "is made") == "is made"

    def begun(self, key: dict[str, Any], parent: str, at: int) -> Timeline | None:
        """The timeline, if this very fork has begun it."""
        begun = self.lanes.get(key["timeline"])
        if begun is None:
            return None
        self.row("timeline.fork.09")
        if (begun.parent, begun.at) != (parent, at) or begun.messages[0].key != key:
            self.refuse("ID_CONFLICT")
        return begun

    def forked(self, begun: Timeline, is_new: bool) -> dict[str, Any]:
        """Its first message."""
        first = begun.messages[0]
        return {
            "timeline": begun.name,
            "parent": begun.parent,
            "at": begun.at,
            "number": Cited(first.number, ("timeline.fork.08",)),
            "hash": Cited(first.hash, ("timeline.fork.08", "timeline.log.07")),
            "duplicate": Cited(not is_new, ("timeline.fork.09",)),
        }

    def timelines(self) -> dict[str, Any]:
        """The DAG; the order of its names is free."""
        self.row("timeline.fork.11")
        return {"timelines": AnyOrder([lane.told() for lane in self.lanes.values()], ("timeline",))}

    def dump(self) -> dict[str, Any]:
        """Everything."""
        messages = [message.told() | {"subject": message.subject, "hash": message.hash} for message in self.record]
        rows = ("timeline.log.08", "timeline.log.31")
        return {
            "messages": Cited(AnyOrder(messages, ("subject", "hash")), rows),
            **self.timelines(),
            "integrity": Told("ok"),
        }

    def in_words(self) -> str:
        """The state, a line a thing."""
        lines = [f"{t.name!a} from {t.parent!a} at {t.at}: numbers up to {t.last[0]}" for t in self.lanes.values()]
        lines += [f"  {message.number} {message.subject} {message.payload:.60}" for message in self.record[-20:]]
        lines += [f"consumer {name!a}: {consumer.told()}" for name, consumer in self.consumers.items()]
        return "\n".join(lines)
