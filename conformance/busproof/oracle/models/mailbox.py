"""The model of `mailbox`: one store, as all its processes see it. docs/spec/mailbox.md is its text.

A bus is asked for what it promises and for nothing else: a call whose answer no promise decides raises DoesNotApply,
and is left out. Where a bus may choose, what it shows is followed: which job it handed out, for one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Generator
from dataclasses import dataclass, replace
from typing import Any

from busproof.contract.mailbox import CONTRACT
from busproof.oracle.models.mailbox_parts import TOO_MANY, Entry, Handed, Inbox, Job, Message, OwnId, Unspent
from busproof.oracle.models.parts import ANYTHING
from busproof.oracle.models.spec import ANY_CODE, Above, AnyOrder, Cited, DoesNotApply, Free, Model, Told, plain

NAME = re.compile("[a-z][a-z0-9]{0,15}")
NAMES = ("agent_id", "to", "name", "queue")
SHORTEST_NAME, WORDS = 3, frozenset({"all", "con", "null", "true"})  # a shorter name, or a word, may be refused
TEXT_CHARS_MAX, BODY_CHARS_SURE, TIME_MS_MAX, WAIT_MS_MAX = 200, 10_000, 10**10, 60_000
NUMBERS = {"limit": (1, 1_000), "ttl_ms": (1, TIME_MS_MAX), "visible_ms": (1, TIME_MS_MAX), "priority": (0, 9)}
NUMBERS |= {"wait_ms": (0, WAIT_MS_MAX)}
# A parameter → the feature that it needs.
NEEDS = {"key": "key", "thread": "threads", "reply_to": "threads", "priority": "priority", "base": "compare_and_append"}
NEEDS |= {"after": "page", "wait_ms": "wait", "token": "fencing"}
ACK_OF_ANOTHERS = "an ack of another's message"
RENEWAL_BY_ANOTHER = "a renewal by somebody who does not hold the name"
RELEASE_BY_ANOTHER = "a release by somebody who does not hold the name"


@dataclass
class Claim:
    """The latest grant of a name. until_ms is None: it was let go."""

    holder: str
    until_ms: int | None
    token: Any
    was_renewed: bool = False
    was_named: bool = False  # in a release by another agent
    was_outdated: bool = False  # a call showed the token of an earlier grant, and has no effect


class MailboxModel(Model):
    """All promises; `features` says which of them hold."""

    SYSTEM = "mailbox"
    ALWAYS = {"MAILBOX_FULL": ("mailbox.log.15",), "BODY_TOO_LARGE": ("mailbox.log.16",)}  # noqa: RUF012
    EITHER = frozenset({ACK_OF_ANOTHERS, RENEWAL_BY_ANOTHER, RELEASE_BY_ANOTHER})
    EVERYTHING = frozenset({"no bus declares this: some calls are never asked"})

    def __init__(self, *bus: Any) -> None:
        super().__init__(*bus)
        self.messages: list[Message] = []
        self.inboxes: dict[str, list[Entry]] = {}  # of all agents that have received
        self.positions: list[tuple[str, Any, int]] = []  # agent, the bus's value, the entries before it
        self.bases: list[tuple[Any, int, int | None]] = []  # the bus's value, messages then, the message sent on it
        self.claims: dict[str, Claim] = {}
        self.jobs: dict[str, list[Job]] = {}

    def has(self, *features: str) -> bool:
        """Does the bus promise all of these?"""
        return self.features.issuperset(features)

    def checked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters that every bus takes: what is beyond them is never asked."""
        known = CONTRACT.methods.get(method)
        if known is None or known.noun is None:
            return params
        params = {name: value for name, value in params.items() if value is not None}
        fields = known.params.model_fields
        if not fields.keys() >= params.keys() or any(
            field.is_required() and name not in params for name, field in fields.items()
        ):
            raise DoesNotApply("a call of another form")
        for name, value in params.items():
            if not self._is_taken(name, value):
                raise DoesNotApply(f"{name} {value!r:.100}")
            if name in NEEDS and not self.has(NEEDS[name]):
                raise DoesNotApply(f"{name} on a bus without {NEEDS[name]}")
        return params

    def _is_taken(self, name: str, value: Any) -> bool:
        """Is it a value that a bus cannot but take?"""
        if name in NAMES:
            return type(value) is str and NAME.fullmatch(value) is not None
        if name in NUMBERS:
            low, high = NUMBERS[name]
            return type(value) is int and low <= value <= high
        if name == "body":
            return type(value) is str and value.strip() != "" and _is_text(value, self._body_chars(value))
        if name == "ids":
            return type(value) is list and value != [] and all(type(id_) is str and id_ for id_ in value)
        if name in ("token", "after", "base"):
            return True
        return type(value) is str and value.strip() == value != "" and _is_text(value, TEXT_CHARS_MAX)

    def _body_chars(self, body: str) -> int:
        """How long a body is surely no other fault: beside a declared limit only ASCII is counted alike by all."""
        limit = self.limits.get("body_chars_max")
        return BODY_CHARS_SURE if limit is None else limit + 1 if body.isascii() else limit // 4

    def open(self, options: dict[str, Any] | None = None) -> dict[str, Any]:
        """A process more on the store."""
        return {}

    def options_declared(self, options: dict[str, Any]) -> dict[str, Any]:
        """None."""
        return {}

    # -- log

    def send(self, agent_id: str, body: str, to: str | None = None, **more: Any) -> dict[str, Any]:
        """A message into one inbox, or into all."""
        self.known(agent_id)
        readers = self.readers(agent_id, to)
        key, base = more.pop("key", None), more.pop("base", None)
        content = {"to": to, "body": body, **more}
        message = Message(agent_id, content, key, self.now_ms)
        first = self.sent_before(message) if key is not None else None
        full = [name for name in readers if self.is_full(name)]
        is_long = len(body) > self.limits.get("body_chars_max", len(body))
        is_again = first is not None and first.content == content and plain(self.base_of(first)) == base is not None
        # The same call again: its own first time has used the base.
        is_stale = base is not None and self.is_stale(base, to) and not is_again
        is_of_two = first is not None and base is not None and not is_again
        if is_of_two or sum((first is not None, bool(full), is_long, is_stale)) > 1:
            raise DoesNotApply("more than one thing is special about it")
        if full and to is None:
            raise DoesNotApply("a broadcast to a full inbox")
        if first is not None:
            return self.repeated(first, message)
        if is_long:
            self.refuse("BODY_TOO_LARGE", "mailbox.log.16", "mailbox.log.04")
        if full:
            self.refuse("MAILBOX_FULL", "mailbox.log.15", "mailbox.log.04")
        if is_stale:
            self.refuse("BASE_CONFLICT", "mailbox.log.12", "mailbox.log.04")
        return self.accepted(message, readers, base)

    def known(self, agent_id: str) -> None:
        """Who has never received may be nobody yet."""
        if agent_id not in self.inboxes:
            raise DoesNotApply(f"{agent_id} has not received before")

    def readers(self, agent_id: str, to: str | None) -> list[str]:
        """Whose inboxes it goes to."""
        if to is not None:
            self.known(to)
            if to == agent_id:
                self.only_with("self_delivery", "mailbox.log.10")
            return [to]
        self.only_with("broadcast", "mailbox.log.08")
        return [name for name in self.inboxes if name != agent_id or self.has("self_delivery")]

    def only_with(self, feature: str, row: str) -> None:
        """The call needs a promise."""
        if not self.has(feature):
            raise DoesNotApply(f"a bus without {feature}")
        self.row(row)

    def sent_before(self, message: Message) -> Message | None:
        """An earlier one of this sender with its key."""
        same = [earlier for earlier in self.messages if (earlier.sender, earlier.key) == (message.sender, message.key)]
        if any(self.is_over(earlier) for earlier in same):
            raise DoesNotApply("a key of a message whose time is over")
        if not same and any(earlier.key == message.key for earlier in self.messages):
            self.row("mailbox.log.07")
        return same[0] if same else None

    def repeated(self, first: Message, message: Message) -> dict[str, Any]:
        """A send again is the first one; with other content it is refused, or is the first one all the same."""
        if first.content == message.content:
            self.row("mailbox.log.05")
        elif self.choice("mailbox.log.06", "is refused", "is the first message") == "is refused":
            self.refuse("KEY_CONFLICT", "mailbox.log.06")
        return {"id": first.id, "n": Told(first.n)} if self.has("number") else {"id": first.id}

    def is_full(self, reader: str) -> bool:
        """May no more come in?"""
        unread_max = self.limits.get("unread_max", math.inf)
        return len(self.inboxes[reader]) >= unread_max and len(self.waiting(reader)) >= unread_max

    def is_stale(self, base: Any, to: str | None) -> bool:
        """Was this base used? What others sent since it was told is nobody's promise, so such a send is not asked."""
        same = [record for record in self.bases if plain(record[0]) == base]
        if not same:
            raise DoesNotApply("a base that was never told")
        _, messages, used = same[-1]
        if used is None and messages < len(self.messages):
            raise DoesNotApply("a base after which somebody else has sent")
        if used is not None and self.messages[used].content["to"] != to:
            raise DoesNotApply("a base that was used for another inbox")
        return used is not None

    def base_of(self, message: Message) -> Any:
        """The base that it was sent on, or None."""
        used = (base for base, _, sent in self.bases if sent is not None and self.messages[sent] is message)
        return next(used, None)

    def accepted(self, message: Message, readers: list[str], base: Any) -> dict[str, Any]:
        """It is in all inboxes that it goes to."""
        message.id = self.born(OwnId, "id", [sent.id for sent in self.messages])
        if self.has("number"):
            newest = [self.inboxes[name][-1].message for name in readers if self.inboxes[name]]
            low = self.messages[max(newest)].n if newest else -1
            message.n = self.born(Above, "n", low)
        if base is not None:
            self.row("mailbox.log.13")
            same = (plain(record[0]) == base for record in self.bases)
            self.bases = [
                (old_base, then, len(self.messages) if is_it else used)
                for is_it, (old_base, then, used) in zip(same, self.bases, strict=True)
            ]
        for name in readers:
            self.inboxes[name].append(Entry(len(self.messages)))
        self.messages.append(message)
        number = {"n": Told(Cited(message.n, ("mailbox.log.14",)))} if self.has("number") else {}
        return {"id": Cited(message.id, ("mailbox.log.03",)), **number}

    def is_over(self, message: Message) -> bool:
        """Is it older than the bus keeps any?"""
        return "ttl_ms" in self.limits and message.at_ms + self.limits["ttl_ms"] <= self.now_ms

    # -- cursor

    def receive(self, agent_id: str, limit: int = 100, after: Any = None, wait_ms: int = 0) -> dict[str, Any]:
        """What waits for this agent."""
        self.register(agent_id)
        start = 0 if after is None else self.place_of(agent_id, after)
        limit = min(limit, self.limits.get("page_max", limit))
        waiting = self.waiting(agent_id, start)
        is_sure = self.has("arrival") or len({self.messages[entry.message].sender for entry in waiting}) < 2
        if limit < len(waiting) and not self.has("limit"):  # on another bus
            raise DoesNotApply("a part of what waits, on a bus whose receive takes no limit")
        if limit < len(waiting) and not is_sure:
            raise DoesNotApply("a part of what waits, of several senders, on a bus that orders each sender's alone")
        if wait_ms:
            self.row("mailbox.cursor.13" if waiting else "mailbox.cursor.14")
            self.least_s = 0 if waiting else wait_ms / 1000
        shown, special = waiting[:limit], "mailbox.cursor.13" if wait_ms else "mailbox.cursor.10" if start else ""
        self.told_of_what_was(agent_id, shown, is_cut=len(waiting) > limit == self.limits.get("page_max"))
        reply: dict[str, Any] = {"messages": self.inbox(agent_id, shown, start, special)}
        for entry in shown:
            entry.is_shown = True
        own = self.inboxes[agent_id]
        self.position_and_base(agent_id, reply, max((own.index(entry) + 1 for entry in shown), default=start))
        return reply

    def position_and_base(self, agent_id: str, reply: dict[str, Any], place: int) -> None:
        """What the bus tells beside the messages. Scripts know both by name, so both are born on every bus."""
        position = self.born(Free, "position")
        base = self.born(Unspent, "base", [spent for spent, _, sent in self.bases if sent is not None])
        if self.has("page"):
            reply["position"] = Cited(position, ("mailbox.cursor.10",))
            self.positions.append((agent_id, position, place))
        if self.has("compare_and_append"):
            reply["base"] = Cited(base, ("mailbox.log.13",))
            self.bases.append((base, len(self.messages), None))

    def told_of_what_was(self, agent_id: str, shown: list[Entry], *, is_cut: bool) -> None:
        """The sentences about what was shown before, what is too old, and what did not fit in."""
        own = self.inboxes[agent_id]
        if any(entry.is_shown for entry in shown) and self.has("ack"):
            self.row("mailbox.cursor.05")
        if any(entry.is_shown for entry in own) and self.has("consumes"):
            self.row("mailbox.cursor.07")
        if any(self.is_over(self.messages[entry.message]) for entry in own):
            self.row("mailbox.log.17")
        if is_cut:
            self.row("mailbox.cursor.15")

    def register(self, agent_id: str) -> None:
        """An inbox is there from the first receive on."""
        if agent_id in self.inboxes:
            return
        may_refuse = len(agent_id) < SHORTEST_NAME or agent_id in WORDS
        if may_refuse and self.choice(f"the name {agent_id}", "is taken", "is refused") == "is refused":
            self.refuse(ANY_CODE, why="a short name, or a word that means something to this bus")
        self.inboxes[agent_id] = []
        if self.has("broadcast", "late_readers"):
            for number, message in enumerate(self.messages):
                if message.content["to"] is None:
                    self.row("mailbox.log.09")
                    self.inboxes[agent_id].append(Entry(number, is_late=True))

    def place_of(self, agent_id: str, position: Any) -> int:
        """How many entries of the inbox lie before a position that the bus told this agent."""
        places = [place for agent, value, place in self.positions if agent == agent_id and plain(value) == position]
        if not places:
            raise DoesNotApply("a position that this agent was never told")
        self.row("mailbox.cursor.10")
        return places[0]

    def waiting(self, agent_id: str, start: int = 0) -> list[Entry]:
        """The entries that the next receive shows, in their order."""
        entries = [
            entry
            for entry in self.inboxes[agent_id][start:]
            if not entry.is_acked
            and not (entry.is_shown and self.has("consumes"))
            and not self.is_over(self.messages[entry.message])
        ]
        if self.has("priority") and not self.has("page"):
            entries.sort(key=lambda entry: -self.messages[entry.message].priority)
        return entries

    def inbox(self, agent_id: str, shown: list[Entry], start: int, special: str) -> Inbox:
        """What an answer must hold, and the sentence of everything that it must not hold."""
        own = self.inboxes[agent_id]
        others = {plain(sent.id): ("mailbox.cursor.02",) for sent in self.messages}
        for place, entry in enumerate(own):
            message = self.messages[entry.message]
            if self.is_over(message):
                row = "mailbox.log.17"
            elif entry.is_acked:
                row = "mailbox.cursor.09" if self.has("cumulative_ack") else "mailbox.cursor.04"
            elif entry.is_shown and self.has("consumes"):
                row = "mailbox.cursor.07"
            else:
                row = "mailbox.cursor.10" if place < start else ""
            others[plain(message.id)] = (row,) if row else TOO_MANY
        lost = {plain(self.messages[entry.message].id): self.lost_row(agent_id, entry, special) for entry in own}
        self.row("mailbox.cursor.01", "mailbox.log.04")
        each = [self.messages[entry.message] for entry in shown]
        lanes = [(message.priority if self.has("priority") else 0, message.sender) for message in each]
        return Inbox([self.shown(entry) for entry in shown], lanes, others, lost, self.has("arrival"))

    def lost_row(self, reader: str, entry: Entry, special: str) -> tuple[str, ...]:
        """The sentence that is broken where this entry is missing; `special`: of this kind of receive."""
        message = self.messages[entry.message]
        if entry.was_named:
            return ("mailbox.cursor.06",)
        if special:
            return (special,)
        if entry.is_shown and self.has("ack") and not self.has("consumes"):
            return ("mailbox.cursor.05",)
        if message.sender == reader:
            return ("mailbox.log.10",)
        if entry.is_late:
            return ("mailbox.log.09",)
        return ("mailbox.log.08", "mailbox.log.01") if message.content["to"] is None else ("mailbox.log.01",)

    def shown(self, entry: Entry) -> dict[str, Any]:
        """A message as its reader sees it."""
        message = self.messages[entry.message]
        content = message.content
        part: dict[str, Any] = {
            "id": Cited(message.id, ("mailbox.log.03",)),
            "body": Cited(content["body"], ("mailbox.log.02",)),
            "to_agent": Told(ANYTHING if content["to"] is None else content["to"]),
            "priority": Told(message.priority) if self.has("priority") else Told(ANYTHING),
        }
        if self.has("number"):
            part["n"] = Cited(message.n, ("mailbox.log.14",))
        if self.has("sender"):
            part["from_agent"] = Cited(message.sender, ("mailbox.cursor.11",))
        if self.has("threads"):
            part |= {name: Cited(content.get(name), ("mailbox.log.11",)) for name in ("thread", "reply_to")}
        return part

    def unacked(self, agent_id: str) -> dict[str, Any]:
        """What is not acked, whatever was shown."""
        self.known(agent_id)
        self.row("mailbox.cursor.08")
        own = self.inboxes[agent_id]
        left = [entry for entry in own if not entry.is_acked and not self.is_over(self.messages[entry.message])]
        others = {plain(sent.id): ("mailbox.cursor.02",) for sent in self.messages}
        others |= {plain(self.messages[entry.message].id): ("mailbox.cursor.08",) for entry in own}
        if any(entry.is_shown for entry in left):
            self.row("mailbox.cursor.05")
        shown = [self.shown(entry) for entry in left]
        lost = {plain(self.messages[entry.message].id): ("mailbox.cursor.06",) for entry in own if entry.was_named}
        return {"messages": Inbox(shown, [(0, f"{number}") for number in range(len(left))], others, lost)}

    def ack(self, agent_id: str, ids: list[str]) -> Generator[None, None, dict[str, Any]]:
        """These are done, for this agent alone; as a whole, or one after another."""
        self.known(agent_id)
        own = self.inboxes[agent_id]
        entries = [entry for entry in own if plain(self.messages[entry.message].id) in ids]
        if not entries:
            return self.acked_of_others(agent_id, ids)
        if len(entries) < len(set(ids)) or any(self.is_over(self.messages[entry.message]) for entry in entries):
            raise DoesNotApply("some of its own and some of others, or too late")
        if any(not entry.is_shown for entry in entries) or all(entry.is_acked for entry in entries):
            raise DoesNotApply("an ack of what was not shown yet, or is done")
        self.row("mailbox.cursor.04")
        last = max(map(own.index, entries))
        if self.has("cumulative_ack"):
            self.row("mailbox.cursor.09")
            entries = own[: last + 1]
        for entry in entries:
            if not (entry is entries[0] or self.has("ack_many")):
                yield
            entry.is_acked = True
        return {}

    def acked_of_others(self, agent_id: str, ids: list[str]) -> dict[str, Any]:
        """An ack of what is another agent's: it has no effect, whatever the bus answers."""
        if not {plain(sent.id) for sent in self.messages}.issuperset(ids):
            raise DoesNotApply("an ack of nothing")
        self.row("mailbox.cursor.06")
        for entries in self.inboxes.values():
            for entry in entries:
                entry.was_named |= plain(self.messages[entry.message].id) in ids
        self.taken_or_refused(ACK_OF_ANOTHERS)
        return {}

    def taken_or_refused(self, what: str, usual: str = "is taken") -> None:
        """No promise says what the bus answers, nor that it answers all of them alike; it changes nothing."""
        answer = self.choice(what, usual, "is taken or refused")
        if answer == "is refused" or (answer != usual and self.either()):
            self.refuse(ANY_CODE, why=what)

    # -- lease

    def claim(self, name: str, agent_id: str, ttl_ms: int) -> dict[str, Any]:
        """Granted where nobody holds the name."""
        held = self.claims.get(name)
        self.row("mailbox.lease.01")
        if held is not None and self.is_live(held):
            if held.holder == agent_id:
                raise DoesNotApply("a second claim by the holder")
            row = "mailbox.lease.05" if held.was_renewed else "mailbox.lease.01"
            row = "mailbox.lease.03" if held.was_named else row
            row = "mailbox.lease.06" if held.was_outdated else row
            return {"granted": Cited(value=False, rows=(row,))}
        row = (
            "mailbox.lease.01" if held is None else "mailbox.lease.04" if held.until_ms is None else "mailbox.lease.02"
        )
        row = "mailbox.lease.06" if held is not None and held.was_outdated else row
        self.row(row)
        token = self.born(Above, "token", held.token if held else -1) if self.has("fencing") else None
        self.claims[name] = Claim(agent_id, self.now_ms + ttl_ms, token)
        return {"granted": Cited(value=True, rows=(row,)), **self.token_of(token)}

    def is_live(self, held: Claim) -> bool:
        """Does it still keep others out?"""
        return held.until_ms is not None and held.until_ms > self.now_ms

    def token_of(self, token: Any) -> dict[str, Any]:
        """As an answer tells it."""
        return {"token": Cited(token, ("mailbox.lease.06",))} if self.has("fencing") else {}

    def holds(self, name: str, agent_id: str, token: Any) -> bool:
        """Is the claim this agent's? Whether one that ended and was not taken since still is, is not asked."""
        held = self.claims.get(name)
        if held is None or held.holder != agent_id:
            return False
        if held.until_ms is not None and not self.is_live(held):
            raise DoesNotApply("a claim that has ended")
        if token is not None and plain(held.token) != token:
            held.was_outdated = True
            self.row("mailbox.lease.06")
            return False
        return held.until_ms is not None

    def renew(self, name: str, agent_id: str, ttl_ms: int, token: Any = None) -> dict[str, Any]:
        """The holder's claim begins anew; nobody else's does."""
        if not self.holds(name, agent_id, token):
            self.row("mailbox.lease.08")
            self.taken_or_refused(RENEWAL_BY_ANOTHER)
            return {"granted": False}
        self.row("mailbox.lease.05")
        held = self.claims[name]
        self.claims[name] = replace(held, until_ms=self.now_ms + ttl_ms, was_renewed=True, was_outdated=False)
        return {"granted": True, "token": Told(held.token)} if self.has("fencing") else {"granted": True}

    def release(self, name: str, agent_id: str, token: Any = None) -> dict[str, Any]:
        """The holder lets go; anybody else changes nothing."""
        if not self.holds(name, agent_id, token):
            self.row("mailbox.lease.03")
            if (held := self.claims.get(name)) is not None:
                held.was_named |= held.holder != agent_id
            self.taken_or_refused(RELEASE_BY_ANOTHER, "is refused")
            return {}
        self.row("mailbox.lease.04")
        self.claims[name] = replace(self.claims[name], until_ms=None, was_outdated=False)
        return {}

    # -- jobs

    def put(self, agent_id: str, queue: str, body: str) -> dict[str, Any]:
        """A job for whoever takes it first."""
        if len(body) > self.limits.get("body_chars_max", len(body)):
            raise DoesNotApply("the limit is that of a message")
        id_ = self.born(OwnId, "id", [job.id for jobs in self.jobs.values() for job in jobs])
        self.jobs.setdefault(queue, []).append(Job(id_, body))
        self.row("mailbox.jobs.01")
        return {"id": Cited(id_, ("mailbox.jobs.01",))}

    def take(self, agent_id: str, queue: str, visible_ms: int) -> dict[str, Any]:
        """A job that nobody has, if there is one: the bus's choice, within its promises."""
        jobs = self.settled(queue)
        fresh = [job for job in jobs if self.is_free(job) and not job.taken]
        again = [job for job in jobs if self.is_free(job) and job.taken and not self.is_dead(job)]
        candidates = again + (fresh[:1] if self.has("fifo") else fresh)
        if not candidates:
            self.row("mailbox.jobs.02" if any(not job.is_done for job in jobs) else "mailbox.jobs.03")
            return {"job": self.handed([], jobs, agent_id, visible_ms)}
        if any(job.was_given_back for job in again):
            self.row("mailbox.jobs.06")
        if any(not job.was_given_back for job in again):
            self.row("mailbox.jobs.04")
        if self.has("attempts"):
            self.row("mailbox.jobs.05")
        if self.has("fifo") and len(fresh) > 1:
            self.row("mailbox.jobs.08")
        self.row("mailbox.jobs.01")
        return {"job": self.handed(candidates, jobs, agent_id, visible_ms)}

    def handed(self, candidates: list[Job], jobs: list[Job], taker: str, visible_ms: int) -> Handed:
        """One of them, from now on in the taker's hands."""
        until_ms, has_attempts = self.now_ms + visible_ms, self.has("attempts")
        handle, receipt = self.born(Free, "job"), self.born(Free, "receipt")
        dead = [job for job in jobs if self.is_free(job) and self.is_dead(job)]
        return Handed(candidates, jobs, dead, taker, until_ms, handle, receipt, has_attempts)

    def done(self, agent_id: str, queue: str, id: str, receipt: str) -> dict[str, Any]:
        """It never comes again."""
        self.in_hand(agent_id, queue, id, receipt).is_done = True
        self.row("mailbox.jobs.03")
        return {}

    def back(self, agent_id: str, queue: str, id: str, receipt: str) -> dict[str, Any]:
        """It waits again, at once."""
        job = self.in_hand(agent_id, queue, id, receipt)
        job.until_ms, job.was_given_back = None, True
        self.row("mailbox.jobs.06")
        return {}

    def in_hand(self, agent_id: str, queue: str, id: str, receipt: str) -> Job:
        """The job that this agent has: what becomes of another one, no promise says."""
        for job in self.jobs.get(queue, []):
            is_it = (plain(job.id), job.taker, plain(job.receipt)) == (id, agent_id, receipt)
            if is_it and not job.is_done and job.until_ms is not None and job.until_ms > self.now_ms:
                return job
        raise DoesNotApply("a job that the agent does not have")

    def dead(self, agent_id: str, queue: str) -> dict[str, Any]:
        """What is not handed out any more."""
        gone = [job for job in self.settled(queue) if self.is_free(job) and self.is_dead(job)]
        self.row("mailbox.jobs.07")
        return {"jobs": AnyOrder([{"id": job.id, "body": job.body} for job in gone], ("id",))}

    def settled(self, queue: str) -> list[Job]:
        """The jobs of a queue, if what became of each is known."""
        jobs = self.jobs.get(queue, [])
        if not self.has("redelivery") and any(job.until_ms is not None and job.until_ms <= self.now_ms for job in jobs):
            raise DoesNotApply("the time of a job is over, and no promise says what becomes of it")
        return jobs

    def is_free(self, job: Job) -> bool:
        """Does it wait?"""
        return not job.is_done and (job.until_ms is None or job.until_ms <= self.now_ms)

    def is_dead(self, job: Job) -> bool:
        """Was it handed out too often?"""
        return self.has("dead_letter") and job.taken >= self.limits.get("attempts_max", job.taken + 1)


def _is_text(value: str, chars_max: int) -> bool:
    """Without characters that break a terminal, a C string or a line, and not too long."""
    return len(value) <= chars_max and all(char.isprintable() or char == "\n" for char in value)
