"""The specification of `comms` (seed 001), run: the answer to every call, in any state, at any time, to any agent.

A message lies in front of each of its readers as a `Delivery` of their own: a message to one agent has one,
a broadcast has one for each agent (C3). Each branch names its rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NoReturn

from busproof.contract.bounds import OBJECT
from busproof.contract.comms import CONTRACT, FAILURES_MAX, VISIBILITY_MS
from busproof.oracle.models.comms_parts import (
    Either,
    Kept,
    Shown,
    Trail,
    delivery_key,
    in_words,
    is_kept_as,
    is_text_of_both,
    letter_key,
)
from busproof.oracle.models.comms_state import (
    JITTERS,
    Agent,
    AnyDue,
    AnyUuid,
    Delivery,
    Due,
    Event,
    Letter,
    Message,
    Vote,
)
from busproof.oracle.models.comms_values import (
    BOUND_OF,
    ENVELOPE_ROWS,
    PAYLOAD_BYTES_MAX,
    STANDARD,
    breaks_standard,
    envelope_faults,
    is_deep,
    is_uuid,
    json_fault,
    with_nulls,
)
from busproof.oracle.models.parts import (
    ANYTHING,
    BIG_NUMBER,
    Between,
    InAnyOrder,
    Instant,
    Near,
    Rows,
    Stamp,
    Whole,
    has_big_number,
    nearly_iso_8601,
    us_of,
)
from busproof.oracle.models.spec import (
    ANY_CODE,
    All,
    Cited,
    DoesNotApply,
    Fits,
    Free,
    FreshId,
    Json,
    Model,
    Refuse,
    Told,
    is_json_text,
    plain,
    same_json,
)

S = 1_000_000
LIMIT, TIMEOUT_S = 10, 30.0
TTLS_S = {"five minutes": 300, "an hour": 3600, "a day": 86_400, "for ever": None}
CAPACITY, REFILL_PER_S = Fraction(100), Fraction(10)
BREAKER_FAILURES, BREAKER_MS = 5, 60_000
BUCKETS = "a bucket for all processes of an agent", "a bucket for each process"
STATUSES = ("active", "idle", "degraded", "failed")
ARTIFACTS = ".claude/artifacts/"
ARGUMENTS = ("comms.limit.15",)
CONTENT = {
    "type",
    "correlation_id",
    "from_agent",
    "to_agent",
    "channel",
    "priority",
    "payload",
}  # a retry says it again
ITS_AGENTS, EVERYBODYS = "its agent's again", "everybody's again"  # a broadcast that is redriven
DUE_AGAIN = "completing what is due again"  # a failed message, once its delay is over
COMPLETED_UNCLAIMED = ("to one, nobody named", "a broadcast", "to one, named")
UNTOUCHED = {"delivery_count": 0, "last_delivered_at": None, "error": None}  # of a broadcast's row
STATUS_ROWS = ("comms.lease.04", "comms.lease.08", "comms.retry.01")
OF_ITS_OWN = ("send_response.agent_id",)  # a bad name may be another agent's: judged with the message that is answered
UNSAID: Any = object()  # of ttl_seconds, whose null means for ever

BREAKER_ROWS = {"open": "comms.limit.09", "half_open": "comms.limit.13"}
CLAIM_ROWS = {
    "pending": ("comms.lease.01",),
    "processing": ("comms.lease.02", "comms.lease.12", "comms.lease.13", "comms.lease.14", "comms.lease.22"),
    "failed": ("comms.retry.02", "comms.retry.03"),
    "done": ("comms.lease.06", "comms.lease.20"),
    "dead": ("comms.retry.08",),
}


class CommsModel(Model):
    """One project, as all its processes see it."""

    SYSTEM = "comms"
    EXACT = ("comms.limit.19",)
    WRITES, STORED = ("send_message",), ("comms.log.23",)
    EITHER = frozenset({DUE_AGAIN, *(f"comms.lease.23: {whose}" for whose in COMPLETED_UNCLAIMED)})
    ISOLATED = ("comms.log.71",)

    EVERYTHING = frozenset(CONTRACT.profiles["full"]) | CONTRACT.features.keys()

    def __init__(self, features: frozenset[str], limits: dict[str, int], dialects: dict[str, str]) -> None:
        super().__init__(features, limits, dialects)
        self.messages: list[Message] = []  # in the order of their rows
        self.sent: list[Message] = []  # all that ever were accepted: an id is used once (C16)
        self.unseen: list[Delivery] = []  # held or failed, and no call has seen them due again
        self.letters: list[Letter] = []
        self.agents: dict[str, Agent] = {}
        self.subscriptions: dict[tuple[str, str], int] = {}
        self.buckets: dict[str, tuple[Fraction, int]] = {}
        self.own_buckets: dict[tuple[str, int | str], tuple[Fraction, int]] = {}  # one for each process; on another bus
        self.votes: list[Vote] = []
        self.artifacts: dict[str, Any] = {}
        self.linked: set[str] = set()
        self.damaged: set[str] = set()  # artifacts that hold no JSON any more
        self.strangers: list[dict[str, Any] | str] = []  # their lines in the trail; a text is any text
        self.trail: list[Event] = []
        self.exported = 0
        self.jitters: list[Due] = []  # the latest
        self.is_silent = False  # is there a choice of the bus that no reply told?

    @property
    def now_us(self) -> int:
        """The caller's clock."""
        return self.now_ms * 1000

    def checked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """All that is required, and nothing unknown."""
        if self.at != "hand" and method != "open":
            known = CONTRACT.methods[method].params.model_fields
            required = {name for name, member in known.items() if member.is_required()}
            wrong = sorted((required - params.keys()) | (params.keys() - known.keys()))
            if wrong:
                self.refuse("INVALID_ARGUMENT", *ARGUMENTS, why=f"missing or unknown: {', '.join(wrong):.200}")
            nulls = with_nulls(params)
            if nulls != params and self.choice("comms.log.33: NaN", "is refused", "is null") == "is null":
                params = nulls
            for name, bound in CONTRACT.bounds_of(method).items():
                is_left_out = name not in params or (params[name] is None and known[name].default is None)
                if not is_left_out and bound.kind is not OBJECT and f"{method}.{name}" not in OF_ITS_OWN:
                    self.keep(name, params[name], bound)
        if self.at != "hand":
            self.unseen = [delivery for delivery in self.unseen if delivery.waits_unseen(self.now_us)]
        return params

    def wants_look(self) -> str | None:
        """Only the dump tells a retry delay, a request's id and a broadcast's letter."""
        return "dump" if self.is_silent else None

    def fingerprint(self) -> str:
        """The order of rows breaks ties among an agent's messages; no other order matters."""
        agents = {message.to for message in self.messages}
        parts = (
            sorted(map(repr, self.messages)),
            sorted((str(to), [m.id for m in self.messages if m.to in (to, None)]) for to in agents),
            sorted(map(repr, self.sent)),
            sorted(map(repr, self.trail)),
            sorted(map(repr, self.letters)),
        )
        sets = (self.agents, self.subscriptions, self.buckets, self.own_buckets, self.artifacts)
        of_files = self.linked, sorted(self.damaged), self.exported
        return repr((parts, self.votes, [sorted(table.items(), key=repr) for table in sets], *of_files))

    def options_declared(self, options: dict[str, Any]) -> dict[str, Any]:
        """None is part of the protocol."""
        return {}

    def open(self, options: dict[str, Any]) -> dict[str, Any]:
        """A session; opening again keeps what is there."""
        self.row("comms.log.27")
        self.own_buckets = {whose: bucket for whose, bucket in self.own_buckets.items() if whose[1] != self.at}
        return {}

    # -- sending

    def send_message(
        self,
        from_agent: Any,
        message_type: Any,
        payload: Any,
        to_agent: Any = None,
        channel: Any = "general",
        priority: Any = 5,
        correlation_id: Any = None,
        ttl_seconds: Any = UNSAID,
        message_id: Any = None,
    ) -> dict[str, Any]:
        """Store one message; it costs its sender one token."""
        self.row("comms.log.01", "comms.log.02", "comms.log.13")
        new = self.drafted(from_agent, to_agent, message_type, payload, channel, priority, correlation_id, message_id)
        new.expires_us = self.expiry(channel, ttl_seconds)
        self.bound("RATE_LIMITED", "comms.limit.01", "comms.limit.03", "comms.limit.04", "comms.limit.05")
        of_type = STANDARD[message_type][0] if message_type in STANDARD else "comms.log.51"
        self.bound("INVALID_ARGUMENT", "comms.log.12" if is_deep(payload) else of_type)
        if correlation_id is not None:
            self.bound("INVALID_ARGUMENT", "comms.log.35")
        if ttl_seconds is not UNSAID:
            self.bound("INVALID_ARGUMENT", "comms.log.42")
        return {"message_id": self.known(new) or self.post(new)}

    def drafted(
        self, sender: Any, to: Any, kind: Any, payload: Any, channel: Any, priority: Any, link: Any, name: Any
    ) -> Message:
        """A message, if its envelope is valid."""
        if name is not None and "idempotent_send" not in self.features:  # on another bus
            raise DoesNotApply
        self.keep("from_agent", sender)  # who answers, with a type longer than the request's
        self.keep("message_type", kind)
        if link is not None:
            self.row("comms.log.35")
        if type(payload) is not dict:
            self.refuse("INVALID_ARGUMENT", "comms.log.31")
        self.json(payload)
        if breaks_standard(kind, payload):
            self.refuse("INVALID_ARGUMENT", "comms.log.89", why=f"the payload breaks the schema of {kind}")
        if kind == "vote.initiate":
            for form in nearly_iso_8601(payload["deadline"]):
                self.may_refuse(f"{form} of a deadline", "comms.log.47")
        if name is not None and not is_uuid(name):
            self.refuse("INVALID_ARGUMENT", "comms.log.64")
        self.row(STANDARD[kind][0] if kind in STANDARD else "comms.log.51")
        return Message(name, kind, self.now_us, link, sender, to, channel, priority, payload, self.now_us)

    def known(self, new: Message) -> Any:
        """The id, if this very message was sent before, no matter what became of it since (C16)."""
        if new.id is None:
            return None
        is_buried = any(plain(letter.id) == new.id for letter in self.letters)
        is_there = any(plain(m.id) == new.id for m in self.messages)
        taken = [m for m in (*self.sent, *self.messages) if plain(m.id) == new.id]
        if taken and not is_there and self.is_forgotten(is_buried=is_buried):  # on another bus
            self.sent = [m for m in self.sent if m not in taken]
            return None
        if not taken:
            return None
        *head, payload = new.content()
        whole = [first for first in taken if not first.is_spoiled]
        same = [first for first in whole if first.content()[:-1] == tuple(head) and same_json(first.payload, payload)]
        is_to_the_letter = any(is_text_of_both(first.payload, payload) for first in same)
        is_same = is_to_the_letter or (same and self.choice("comms.log.66", "0 is not 0.0", "by value") == "by value")
        if not is_same and not self.is_taken_for_the_first(whole, payload):
            self.refuse("ID_CONFLICT", "comms.log.66")
        cut = [letter for letter in self.letters if plain(letter.id) == new.id and {*letter.lacks} & CONTENT]
        if cut and self.choice("comms.log.66: of a damaged letter", "a conflict", "known") == "a conflict":
            self.refuse("ID_CONFLICT", "comms.log.66")
        self._rows = ["comms.log.90" if is_buried else "comms.log.65" if is_there else "comms.log.91"]
        return taken[0].id

    def is_forgotten(self, *, is_buried: bool) -> bool:
        """Is an id free again, once its message lies in the queue, or was cleaned up?"""
        row = "comms.log.90" if is_buried else "comms.log.91"
        return self.choice(row, "is the first message", "is a new message") == "is a new message"

    def is_taken_for_the_first(self, known: list[Message], payload: Any) -> bool:
        """Is a known id the first message, even if the call now says something else?"""
        others = "is the first message", "is the first message, if its payload is"
        how = self.choice("comms.log.66: other content", "is a conflict", *others)
        return how == others[0] or (how == others[1] and any(same_json(m.payload, payload) for m in known))

    def post(self, new: Message) -> Any:
        """Its id."""
        faults = self.faults_of_vote(new)
        if self.tokens(new.sender) < 1:
            self.set_back(new.sender)
            self.refuse("RATE_LIMITED", "comms.limit.02", "comms.limit.01", "comms.limit.03", also=tuple(faults))
        if faults:
            code, *also = faults
            self.refuse(code, "comms.log.61" if code == "VOTE_CLOSED" else "comms.log.59", also=tuple(also))
        if new.id is None:
            new.id = self.born(AnyUuid, "id")
        self.heed(new)
        self.buckets[new.sender] = self.spent(self.buckets.get(new.sender))
        own = new.sender, self.at
        self.own_buckets[own] = self.spent(self.own_buckets.get(own))
        self.insert(new)
        self.sent.append(new)
        self.tell("sent", new.sender, new.id)
        return new.id

    def insert(self, message: Message) -> None:
        """Add its row, and one for its addressee (C12)."""
        self.messages.append(message)
        if message.to is not None:
            self.agents.setdefault(message.to, Agent())

    def tokens(self, agent: str) -> Fraction:
        """In the bucket now: a hundred at first, ten more a second, none for the step of a clock set back (C22)."""
        # A bus that does not declare the noun can send all the same.
        rows = "comms.limit.01", "comms.limit.03", "comms.limit.04", "comms.limit.05"
        self.row(*(rows if "limit" in self.features else ()))
        shared, own = self.buckets.get(agent), self.own_buckets.get((agent, self.at))
        if shared != own and self.choice("comms.limit.06", *BUCKETS) == BUCKETS[1]:
            shared = own
        return self.grown(shared)

    def grown(self, bucket: tuple[Fraction, int] | None) -> Fraction:
        """The content of a bucket at this time."""
        if bucket is None:
            return CAPACITY
        held, at_us = bucket
        passed_us = self.now_us - at_us
        if passed_us < 0:
            self.row("comms.limit.07")
            passed_us = -passed_us if self.of_a_clock_set_back() == "gives as much as forward" else 0
        return min(CAPACITY, held + Fraction(passed_us, S) * REFILL_PER_S)

    def spent(self, bucket: tuple[Fraction, int] | None) -> tuple[Fraction, int]:
        """The bucket with one token less."""
        is_back = bucket is not None and self.now_us < bucket[1]
        stands = is_back and self.of_a_clock_set_back() == "gives none"
        return self.grown(bucket) - 1, bucket[1] if bucket is not None and stands else self.now_us

    def set_back(self, agent: str) -> None:
        """A refusal of a bucket whose clock was set back: from here on it may refill."""
        self.buckets[agent] = self.from_here(self.buckets[agent])
        if (own := (agent, self.at)) in self.own_buckets:
            self.own_buckets[own] = self.from_here(self.own_buckets[own])

    def from_here(self, bucket: tuple[Fraction, int]) -> tuple[Fraction, int]:
        """The bucket; if its clock was set back, as of now."""
        if self.now_us < bucket[1] and self.of_a_clock_set_back() == "refills from there on":
            return bucket[0], self.now_us
        return bucket

    def of_a_clock_set_back(self) -> str:
        """How much a bucket gets for time that goes back, and for time that comes again."""
        others = "gives none", "gives as much as forward", "what comes again gives"
        return self.choice("comms.limit.07", "refills from there on", *others)

    def expiry(self, channel: str, ttl_seconds: Any = UNSAID) -> int | None:
        """An hour, five minutes on `urgent`, never only when asked (C13)."""
        if ttl_seconds is UNSAID:
            self.row("comms.log.42")
            if channel == "urgent":
                lives = self.choice("comms.log.42: urgent", "five minutes", "an hour", "a day", "for ever")
            else:
                lives = self.choice("comms.log.42: not urgent", "an hour", "five minutes", "a day", "for ever")
            ttl_seconds = TTLS_S[lives]
            if ttl_seconds is None:  # on another bus
                return None
        elif ttl_seconds is None:
            self.row("comms.log.42")
            if self.choice("comms.log.42: null", "for ever", "not given") == "not given":
                return self.expiry(channel)
            return None
        return self.now_us + int(ttl_seconds) * S

    def validate_message(self, message: Any) -> dict[str, Any]:
        """Valid, or every fault by the name of its member."""
        faults = self.faults_of(message)
        rows = tuple(row for row in ("comms.log.63", *faults.values()) if row)
        members = faults if type(message) is dict else {}  # what is no object has no member to be named
        names = f"errors{' that name ' * bool(members)}{', '.join(members)}"

        def tells(errors: Any) -> bool:
            texts = [str(error) for error in errors] if isinstance(errors, list) else []
            return bool(texts) == bool(faults) and all(any(name in text for text in texts) for name in members)

        return {
            "valid": Cited(not faults, tuple(faults.values()) or ("comms.log.52",)),
            "errors": Cited(Fits(names, tells), rows),
        }

    def faults_of(self, message: Any) -> dict[str, str]:
        """Member → the row that it breaks, as this bus sees forms of time that are nearly good."""
        faults = envelope_faults(message)
        if type(message) is dict and "timestamp" in message and "timestamp" not in faults:
            forms = nearly_iso_8601(message["timestamp"])
            if "is refused" in [self.choice(f"{form} of a timestamp", "is taken", "is refused") for form in forms]:
                faults["timestamp"] = "comms.log.64"
        return faults

    def cleanup_expired_messages(self) -> dict[str, Any]:
        """Remove messages past their time to live, except those that somebody holds."""
        self.row("comms.log.36", "comms.log.39", "comms.log.40", "comms.log.41")
        self.sweep(None)
        gone = [m for m in self.messages if self.is_to_go(m)]
        for message in gone:
            self.remove(message)
        return {"deleted": Cited(len(gone), ("comms.log.39",))}

    def is_to_go(self, message: Message) -> bool:
        return message.is_expired(self.now_us) and not any(map(self.is_held, message.deliveries.values()))

    def is_held(self, delivery: Delivery) -> bool:
        there = delivery.there(self.now_us)
        if delivery.kept() != "processing" or there:
            return False
        if there is None:  # a claim was over, until the clock was set back
            choice = self.choice("a claim that was over", "is as it is kept", "goes on", "stays over")
            return choice == "goes on" or (choice == "is as it is kept" and delivery.status == "processing")
        return True

    def remove(self, message: Message) -> None:
        self.messages.remove(message)
        self.tell("expired", message.to, message.id)

    # -- votes (C15)

    def faults_of_vote(self, new: Message) -> list[str]:
        """Codes of all that is wrong with a message that opens a vote (two options or more, each once) or casts one."""
        if new.type == "vote.initiate":
            options, deadline_us = new.payload["options"], us_of(new.payload["deadline"]) or 0
            is_bad = len(set(options)) < max(2, len(options)) or deadline_us <= self.now_us
            return ["INVALID_ARGUMENT"] if is_bad else []
        if new.type != "vote.cast":
            return []
        vote = self.vote(new.payload["vote_id"])
        if vote is None:
            return ["NOT_FOUND"]
        is_strange, is_closed = new.payload["option"] not in vote.options, self.now_us >= vote.deadline_us
        return ["INVALID_ARGUMENT"] * is_strange + ["VOTE_CLOSED"] * is_closed

    def heed(self, new: Message) -> None:
        """Open a vote or cast one, as a message without such a fault says."""
        if new.type == "vote.initiate":
            self.row("comms.log.47")
            self.votes.append(Vote(new.id, new.payload["options"], us_of(new.payload["deadline"]) or 0))
        elif new.type == "vote.cast" and (vote := self.vote(new.payload["vote_id"])):
            self.row("comms.log.50", "comms.log.60")
            first = vote.casts.get(new.sender, new.payload["option"])
            is_another = first != new.payload["option"]
            counts = not is_another or self.choice("comms.log.60: another vote", "counts", "does not") == "counts"
            vote.casts[new.sender] = new.payload["option"] if counts else first

    def vote(self, vote_id: Any) -> Vote | None:
        """The vote that a message opened."""
        return next((vote for vote in self.votes if plain(vote.id) == vote_id), None)

    def tally(self, vote_id: Any) -> dict[str, Any]:
        """How the vote stands; final from its deadline on."""
        vote = self.vote(vote_id)
        if vote is None:
            self.refuse("NOT_FOUND", "comms.log.59")
        self.row("comms.log.60", "comms.log.62")
        counts = {option: list(vote.casts.values()).count(option) for option in vote.options}
        most = max(counts.values())
        winners = sorted(option for option in vote.options if counts[option] == most > 0)
        closed = self.now_us >= vote.deadline_us
        return {
            "vote_id": vote_id,
            "closed": Cited(closed, ("comms.log.61",)),
            "counts": Whole(counts),
            "winners": Cited(InAnyOrder(winners), ("comms.log.62",)),
        }

    # -- receiving

    def receive_messages(
        self, agent_id: Any, channels: Any, limit: Any = LIMIT, timeout_seconds: Any = None
    ) -> Iterator[None] | dict[str, Any]:
        """The messages that the agent could claim now: by priority, time and row. Nothing changes."""
        if type(channels) is not list:
            self.refuse("INVALID_ARGUMENT", *ARGUMENTS)
        for channel in channels:
            self.keep("channel", channel)
        if timeout_seconds and limit and channels:
            return self.waiting(agent_id, channels, limit, timeout_seconds)
        return self.ready(agent_id, channels, limit)

    def waiting(self, agent: str, channels: list[str], limit: int, seconds: float) -> Iterator[None]:
        """With no message there, wait until one is."""
        self.row("comms.route.18")
        listed = self.listing(agent, channels)
        if not any(there for _, there in listed):
            self.row("comms.route.16", "comms.route.17")
            yield
            if not any(there for _, there in self.listing(agent, channels)):
                self.least_s = seconds
        return self.ready(agent, channels, limit)  # type: ignore[return-value]

    def listing(self, agent: str, channels: list[str]) -> list[tuple[Message, bool | None]]:
        """In order: the messages that are there, and those that may be (None)."""
        listed = [
            (m, self.counts(m.of(agent)) if agent in m.deliveries else True)
            for m in self.messages
            if m.channel in channels and m.is_for(agent) and self.is_shown(m)
        ]
        listed = [pair for pair in listed if pair[1] is not False]
        ranks = [(-message.priority, message.at_us) for message, _ in listed]
        are_tied = len({*ranks}) < len(ranks)
        if are_tied and self.choice("comms.route.10", "first row first", "last row first") == "last row first":
            listed.reverse()
        return sorted(listed, key=lambda pair: (-pair[0].priority, pair[0].at_us))

    def is_shown(self, message: Message) -> bool:
        """An expired message may be shown until somebody cleans up: nobody can claim it."""
        return not message.is_expired(self.now_us) or (
            self.choice("comms.log.37", "is hidden", "is shown until it is cleaned up") != "is hidden"
        )

    def ready(self, agent: str, channels: list[str], limit: int) -> dict[str, Any]:
        self.row("comms.route.01", "comms.route.04", "comms.route.05", "comms.route.06", "comms.route.13")
        self.row("comms.log.37", "comms.lease.03", "comms.route.11")
        listed = self.listing(agent, channels)
        if any(message.is_spoiled for message, _ in listed[:limit]):
            self.breaks_by_damage()
        return {"messages": Shown(self, agent, channels, listed, limit)}

    def breaks_by_damage(self) -> None:
        """A payload that a stranger damaged breaks its own message alone; elsewhere the whole answer."""
        if self.choice("comms.log.88", "breaks itself alone", "breaks the answer") == "breaks the answer":
            raise Refuse("CORRUPT", definite=False)  # on another bus

    def subscribe_to_channel(self, agent_id: Any, channel_name: Any) -> dict[str, Any]:
        """Once is enough."""
        self.row("comms.route.20")
        self.subscriptions.setdefault((channel_name, agent_id), self.now_us)
        return {}

    def unsubscribe_from_channel(self, agent_id: Any, channel_name: Any) -> dict[str, Any]:
        """Where there is none: nothing."""
        self.row("comms.route.22")
        self.subscriptions.pop((channel_name, agent_id), None)
        return {}

    def get_subscribed_channels(self, agent_id: Any) -> dict[str, Any]:
        """The agent's own, in any order."""
        self.row("comms.route.19", "comms.route.21", "comms.route.23")
        return {"channels": InAnyOrder(sorted(channel for channel, agent in self.subscriptions if agent == agent_id))}

    # -- claiming and completing

    def claim_message(self, agent_id: Any, message_id: Any) -> dict[str, Any]:
        """Granted where it lies in front of the agent and nobody else holds it."""
        message = self.by_id(message_id)
        if message is None:
            self.row("comms.lease.05")
            return {"claimed": False}
        if not message.is_for(agent_id):
            self.row("comms.lease.10")
            return {"claimed": False}
        if message.is_expired(self.now_us):
            self.row("comms.log.38")
            return {"claimed": False}
        delivery = message.of(agent_id)
        there = delivery.there(self.now_us)
        self.row(*CLAIM_ROWS[delivery.status])
        if there is None:
            return {"claimed": Either(self, message, agent_id)}
        return self.grant(message, agent_id) if there else {"claimed": False}

    def grant(self, message: Message, agent: str) -> dict[str, Any]:
        self.row("comms.lease.01", "comms.lease.19" if message.to is None else "comms.lease.10", "comms.lease.16")
        delivery = message.of(agent)
        if delivery.kept() == "processing" and self.choice("comms.retry.19", "no failure", "a failure") == "a failure":
            delivery.failures = delivery.count  # on another bus: every delivery until now, a stranger's among them
        delivery.status, delivery.error, delivery.is_strangers = "processing", None, False
        delivery.count, delivery.due = delivery.count + 1, self.now_us + VISIBILITY_MS * 1000
        delivery.was_due = False
        self.unseen.append(delivery)
        message.claimed_us = self.now_us
        self.tell("claimed", agent, message.id)
        return {
            "claimed": True,
            "delivery_count": Cited(Told(delivery.count), ("comms.lease.16", "comms.lease.15")),
            "visible_at": Cited(Told(Instant(delivery.due)), ("comms.lease.12",)),
        }

    def complete_message(
        self, message_id: Any, error: Any = None, agent_id: Any = None, delivery_count: Any = None
    ) -> dict[str, Any]:
        """Done or failed, as reported by its holder. A finished message stays as it is (C18)."""
        if error is not None:
            self.json(error)
        message = self.by_id(message_id)
        if message is None:
            if any(plain(letter.id) == message_id for letter in self.letters):
                self.row("comms.lease.07")
                return {"status": Told("dead")}
            if any((plain(letter.message.id), letter.agent) == (message_id, agent_id) for letter in self.letters):
                gone = self.choice("comms.lease.07: dead, a broadcast that is gone", "changes nothing", "is refused")
                if gone == "changes nothing":  # always; not on another bus
                    self.row("comms.lease.07")
                    return {"status": Told("dead")}
            self.refuse("NOT_CLAIMED", "comms.lease.23")
        agent = self.owner(message, agent_id)
        delivery = message.of(agent)
        there = delivery.there(self.now_us)
        is_open = there is not False and not message.is_expired(self.now_us)
        if is_open and self.is_claimed_by_completing(message, agent_id):  # on another bus
            is_there = there or self.either()
            if there is None:  # on another bus
                delivery.shows(is_there, self.now_us)
            if is_there:  # on another bus
                self.grant(message, agent)
        if delivery.count == 0:
            self.refuse("NOT_CLAIMED", "comms.lease.23")
        if delivery_count not in (None, delivery.count):
            self.refuse("NOT_CLAIMED", "comms.lease.17")
        if delivery.is_strangers and (delivery.status == "pending" or self.is_nobodys()):
            self.refuse("NOT_CLAIMED", "comms.lease.23")
        if delivery.kept() == "failed" and (delivery.status == "pending" or delivery.there(self.now_us) is not False):
            choice = self.choice(DUE_AGAIN, "as it is kept", "is refused", "changes nothing")
            # Of a clock that was set back, or within the jitter, only the bus knows whether it is due.
            is_due = choice == "is refused" and (delivery.is_due(self.now_us) or self.either())
            if is_due or (choice == "as it is kept" and delivery.status == "pending"):
                self.refuse("NOT_CLAIMED", "comms.lease.23")
            self.row("comms.lease.07")
            return {"status": Told("failed") if choice == "is refused" else ANYTHING}
        if delivery.status in ("failed", "done", "dead"):
            again = f"comms.lease.07: {delivery.status}, {'a broadcast' if message.to is None else 'to one'}"
            if self.choice(again, "changes nothing", "is refused") == "is refused":
                self.refuse("NOT_CLAIMED", "comms.lease.07")
            self.row("comms.lease.07")
            return {"status": Told(delivery.status)}
        if delivery.there(self.now_us):
            late = self.choice("comms.lease.18", "counts", "is refused", "is refused after a clean-up")
            if late == "is refused" or (late != "counts" and delivery.status == "pending"):  # on another bus
                self.refuse("NOT_CLAIMED", "comms.lease.18")
            self.row("comms.lease.18")
        return self.finish(message, agent, error)

    def is_claimed_by_completing(self, message: Message, agent_id: Any) -> bool:
        """Nobody has it in hand: is it refused, or claimed and completed at once?"""
        nobody, broadcast, named = COMPLETED_UNCLAIMED
        whose = broadcast if message.to is None else nobody if agent_id is None else named
        return self.choice(f"comms.lease.23: {whose}", "refused", "claimed by it") == "claimed by it"

    def is_nobodys(self) -> bool:
        """On another bus nobody can complete a message that a stranger claimed by the seed's tables alone."""
        return self.choice("comms.lease.23: a stranger's claim", "its agent's", "nobody's") == "nobody's"

    def owner(self, message: Message, agent_id: Any) -> str:
        """The agent whose delivery is completed."""
        if message.to is None:
            if agent_id is None:
                self.refuse("INVALID_ARGUMENT", "comms.lease.20", also=("NOT_CLAIMED",))
            self.row("comms.lease.20", "comms.lease.21")
            return str(agent_id)
        if agent_id not in (None, message.to):
            whose = self.choice("comms.lease.11", "nobody else's", "done for its addressee")
            if whose == "nobody else's":  # always; not on another bus
                self.refuse("NOT_CLAIMED", "comms.lease.11")
        return message.to

    def finish(self, message: Message, agent: str, error: str | None) -> dict[str, Any]:
        delivery, row = message.of(agent), self.agents.setdefault(agent, Agent())
        delivery.error, delivery.is_strangers, delivery.was_due = error, False, False
        self.unseen.append(delivery)
        row.has_broadcasts |= message.to is None
        if error is None:
            self.row("comms.lease.06", "comms.lease.08")
            row.done += 1
            delivery.status = "done"
            self.tell("completed", agent, message.id)
            return {"status": Told("done")}
        row.failures += 1
        delivery.failures += 1
        self.tell("failed", agent, message.id)
        if delivery.failures >= FAILURES_MAX:
            self.row("comms.retry.07", "comms.retry.08", "comms.retry.16", "comms.retry.17")
            row.dead += 1
            self.bury(message, agent, error)
            return {"status": Told("dead")}
        self.row("comms.retry.01", "comms.retry.03")
        delivery.status, delivery.due = "failed", self.retry_at(delivery.failures)
        return {"status": Told("failed")}

    def retry_at(self, failures: int) -> Due:
        """1 s × 2^n × jitter from now (C1)."""
        self.is_silent = True
        if self.choice("comms.retry.06", "1 s × 2^n × jitter", "another delay") == "another delay":
            other: AnyDue = self.born(AnyDue, "due", self.now_us)
            return other
        due: Due = self.born(Due, "due", self.now_us, S << (failures - 1), self.jitters)
        self.jitters = [*self.jitters[-JITTERS:], due]
        return due

    # -- the dead letter queue

    def bury(self, message: Message, agent: str, error: str) -> None:
        """Take it out of its agent's way, and keep it whole. A broadcast stays for the others."""
        delivery = message.of(agent)
        delivery.status = "dead"
        is_taken = any(plain(letter.id) == plain(message.id) and letter.agent != agent for letter in self.letters)
        letter_id = self.born(Free, "letter") if message.to is None or is_taken else message.id
        self.is_silent = message.to is None
        kept = Message(**{**vars(message), "deliveries": {}})
        identity = message.id, message.to, agent
        self.letters = [old for old in self.letters if (old.message.id, old.message.to, old.agent) != identity]
        self.letters.append(Letter(letter_id, kept, agent, error, self.now_us, delivery.count))
        if message.to is not None:
            self.messages.remove(message)
        self.tell("dead_letter", agent, message.id)

    def dead_letters(self) -> dict[str, Any]:
        """Every letter, in any order."""
        self.row("comms.retry.07", "comms.retry.27", "comms.retry.16")
        return {"dead_letters": Rows(letter_key, [self.letter(letter) for letter in self.letters])}

    def letter(self, letter: Letter) -> dict[str, Any]:
        whole = {name: value for name, value in self.envelope(letter.message).items() if name not in letter.lacks}
        return {
            "id": Cited(letter.id, ("comms.retry.09",)),
            "original_message": Cited(Kept(whole), ("comms.retry.10",)),
            "error": Cited(letter.error, ("comms.retry.11",)),
            "moved_at": Cited(Instant(letter.moved_us), ("comms.retry.11",)),
            "retry_count": Cited(letter.retries, ("comms.retry.11",)),
        }

    def redrive(self, id: Any) -> dict[str, Any]:
        """Back in front of its agent, whole, with three attempts and its time to live begun anew (C19)."""
        letter = next((buried for buried in self.letters if plain(buried.id) == id), None)
        if letter is None:
            self.row("comms.retry.14")
            return {"redriven": False}
        old = letter.message
        back = ITS_AGENTS
        if old.to is None:
            back = self.choice("comms.retry.18", ITS_AGENTS, "not redriven", EVERYBODYS)
        if back == "not redriven":  # on another bus
            return {"redriven": False}
        if letter.lacks:
            if self.choice("comms.retry.15: a damaged letter", "is refused", "is not redriven") == "is refused":
                self.refuse("INVALID_ARGUMENT", "comms.retry.15")
            return {"redriven": False}
        there = self.by_id(plain(old.id))
        if there is not None and not there.is_for(letter.agent):
            self.row("comms.retry.18")  # a broadcast that was gone lies in front of another agent: one at a time
            delivery = there.deliveries.get(there.to or "")
            if delivery is None or delivery.status != "done":
                return {"redriven": False}
            self.messages.remove(there)
            there = None
        self.row("comms.retry.13", "comms.retry.15", "comms.retry.18")
        if self.choice("comms.retry.14", "leaves the queue", "stays in the queue") == "leaves the queue":
            self.letters.remove(letter)
        elif there is not None and there.of(letter.agent).status != "dead":  # on another bus
            return {"redriven": False}
        expires_us = None if old.expires_us is None else self.now_us + old.expires_us - old.created_us
        if there is not None and self.goes_on(there, letter.agent):
            there.created_us, there.expires_us = self.now_us, expires_us
            if back == EVERYBODYS:  # on another bus
                there.deliveries = {}
        else:
            there = self.sent_again(old, letter.agent, expires_us)
        left = self.choice("comms.retry.15", "three attempts", "two attempts", "one attempt")
        if left != "three attempts":  # on another bus
            there.deliveries[letter.agent] = Delivery(failures=1 if left == "two attempts" else 2)
        self.tell("redriven", letter.agent, old.id)
        return {"redriven": True}

    def goes_on(self, broadcast: Message, agent: str) -> bool:
        """Is it still there for others? To this agent it is new again. An expired one goes now."""
        broadcast.deliveries.pop(agent, None)
        if not self.is_to_go(broadcast):
            return True
        if self.choice("comms.retry.18: an expired broadcast", "goes", "lives again for all") != "goes":
            return True
        self.remove(broadcast)
        return False

    def sent_again(self, old: Message, agent: str, expires_us: int | None) -> Message:
        """A letter's message, as it was sent, except for its time to live (C19)."""
        again = Message(**{**vars(old), "to": agent, "deliveries": {}})
        again.created_us, again.expires_us, again.claimed_us = self.now_us, expires_us, None
        is_plain = (old.priority, old.correlation_id) == (5, None)
        if not is_plain and self.choice("comms.retry.13", "whole", "with no priority and no link") != "whole":
            again.priority, again.correlation_id = 5, None
            self.sent = [again if plain(m.id) == plain(old.id) else m for m in self.sent]
        self.insert(again)
        return again

    # -- answers, requests, patience

    def send_response(
        self,
        original_message: Any,
        response_payload: Any,
        artifact_path: Any = None,
        agent_id: Any = None,
        message_id: Any = None,
    ) -> dict[str, Any]:
        """From the request's addressee to its sender, with the request's link, channel and priority."""
        if self.faults_of(original_message):
            self.refuse("INVALID_ARGUMENT", "comms.route.31")
        to = original_message.get("to_agent")
        if to is None and agent_id is None:  # no agent is named, and nobody has claimed it
            self.refuse("INVALID_ARGUMENT", "comms.route.30", also=("NOT_CLAIMED",))
        is_path = artifact_path is None or (
            BOUND_OF["id"].takes(artifact_path) and artifact_path.startswith(ARTIFACTS) and ".." not in artifact_path
        )
        is_bad = not is_path or type(response_payload) is not dict
        if to is not None and agent_id not in (None, to):
            is_bad |= not BOUND_OF["agent_id"].takes(agent_id)
            self.refuse("NOT_CLAIMED", "comms.route.42", also=("INVALID_ARGUMENT",) * is_bad)
        if is_bad:
            self.refuse("INVALID_ARGUMENT", "comms.route.31" if not is_path else "comms.log.31")
        if artifact_path is not None:
            self.row("comms.route.27")
            response_payload = {**response_payload, "artifact_path": artifact_path}
        self.row("comms.route.24", "comms.route.25", "comms.route.26", "comms.route.28", "comms.route.29")
        new = self.drafted(
            to or agent_id,
            original_message["from_agent"],
            self.type_of_answer(original_message["type"]),
            response_payload,
            self.as_asked(original_message, "channel", "general"),
            self.as_asked(original_message, "priority", 5),
            self.link_of(original_message),
            message_id,
        )
        new.expires_us = self.expiry(new.channel)
        new.rows = {"type": "comms.route.28"}
        if not original_message.get("correlation_id"):
            new.rows["correlation_id"] = "comms.route.29"
        known = self.known(new)
        if known is None and to is None:
            asked = self.by_id(original_message["id"])
            self.row("comms.route.30")
            if asked is None or asked.deliveries.get(new.sender, Delivery()).count == 0:
                self.refuse_unclaimed(asked)
        return {"message_id": known or self.post(new)}

    def refuse_unclaimed(self, asked: Message | None) -> None:
        """An agent that has not claimed a broadcast does not answer it, even if another has (C3)."""
        if self.choice("comms.route.42: a broadcast", "by who has claimed it", "by anybody") == "by who has claimed it":
            is_anothers = asked is not None and any(delivery.count for delivery in asked.deliveries.values())
            self.refuse("NOT_CLAIMED", "comms.route.45" if is_anothers else "comms.route.42")

    def type_of_answer(self, kind: str) -> str:
        """X.response for X.query (C17)."""
        is_bare = kind == ".query" and self.choice("comms.route.28: .query", "is a query", "is none") == "is none"
        is_query = kind.endswith(".query") and not is_bare
        of_query = is_query and self.choice("comms.route.28: type", "X.response", "X.query.response")
        return (kind.removesuffix(".query") if of_query == "X.response" else kind) + ".response"

    def link_of(self, asked: dict[str, Any]) -> Any:
        """The request's link; of one without, its id (C17), or none on another bus."""
        link = asked.get("correlation_id")
        return link or (asked["id"] if self.choice("comms.route.29", "its id", "none") == "its id" else None)

    def as_asked(self, asked: dict[str, Any], member: str, default: Any) -> Any:
        """As in the request (C17); another bus may answer with the defaults of any message."""
        is_other = asked[member] != default
        is_left_out = is_other and self.choice(f"comms.route.28: {member}", "the request's", "none") == "none"
        return default if is_left_out else asked[member]

    def request(
        self,
        from_agent: Any,
        to_agent: Any,
        message_type: Any,
        payload: Any,
        channel: Any = "general",
        priority: Any = 5,
        timeout_seconds: Any = TIMEOUT_S,
    ) -> Iterator[None]:
        """Send; wait for the answer with the same link, behind any other messages; claim and complete it."""
        link = self.born(FreshId, "link")
        self.send_message(from_agent, message_type, payload, to_agent, channel, priority)
        asked = self.sent[-1]
        asked.correlation_id = link
        self.is_silent = True  # nobody was told the request's id
        if timeout_seconds:
            yield
        self.row("comms.route.32", "comms.route.33")
        answers = [m for m in self.messages if m.correlation_id is link]
        answers = [m for m in answers if m.to == from_agent and m is not asked and not m.is_expired(self.now_us)]
        answers = [m for m in answers if m.of(from_agent).there(self.now_us)]
        if answers:
            self.row("comms.route.34")
            answer = min(answers, key=lambda m: m.at_us)
            self.grant(answer, from_agent)
            self.finish(answer, from_agent, None)
            return {"response": self.envelope(answer)}  # type: ignore[return-value]
        self.row("comms.route.35")
        self.least_s = timeout_seconds
        raise Refuse("TIMEOUT", definite=False)

    def send_with_retry(self, max_attempts: Any = 3, base_delay: Any = 1.0, **message: Any) -> dict[str, Any]:
        """send_message; an error that no time can mend is raised at once, any other after the last attempt."""
        self.row("comms.retry.20", "comms.retry.21", "comms.retry.22")
        pauses_s = [math.ldexp(base_delay, n) for n in range(max_attempts - 1)]
        self.least_s = sum(pauses_s) * BOUND_OF["jitter"].low  # unless it is sent, or hopeless
        try:
            reply = self.send_message(**self.checked("send_message", message))
        except Refuse as refusal:
            if refusal.code != "RATE_LIMITED":
                self.least_s = 0.0
                self.bound("LOST", "comms.retry.21")  # it retries for longer than anybody waits for an answer
            raise
        self.least_s = 0.0
        return reply

    def retry_delays(self, max_attempts: Any = 3, base_delay: Any = 1.0, jitter: Any = 1.0) -> dict[str, Any]:
        """The pauses of send_with_retry."""
        self.row("comms.retry.23", "comms.retry.24", "comms.retry.25", "comms.retry.26")
        return {"delays_s": [Near(math.ldexp(base_delay, n) * jitter) for n in range(max_attempts - 1)]}

    # -- health

    def send_heartbeat(self, agent_id: Any, status: Any, current_task: Any = None) -> dict[str, Any]:
        """The agent lives."""
        if status not in STATUSES:
            self.refuse("INVALID_ARGUMENT", "comms.presence.04")
        self.row("comms.presence.01", "comms.presence.03")
        row = self.agents.setdefault(agent_id, Agent())
        row.status, row.task, row.beat_us = status, current_task, self.now_us
        return {}

    def get_agent_health(self, agent_id: Any) -> dict[str, Any]:
        """Its last heartbeat, and its counts in the tables (C12)."""
        if agent_id not in self.agents:
            self.refuse("NOT_FOUND", "comms.presence.07")
        if self.agents[agent_id].status is None:  # it has said nothing: no sentence is about such an agent
            self.row("comms.presence.07")
            if self.choice("comms.presence.07: who has said nothing", "is known", "was never seen") != "is known":
                self.refuse("NOT_FOUND", "comms.presence.07")
        else:
            self.row("comms.presence.02")
        self.sweep(agent_id)
        return self.health(agent_id, surely := self.pending(agent_id, True), surely + self.pending(agent_id, None))

    def sweep(self, agent: str | None) -> None:
        """A due delivery is pending from now on; once the clock is set back, only if the bus has kept it so."""
        for message in self.messages:
            delivery = None if message.to is None else message.deliveries.get(message.to)
            who = (None,) if delivery is None or delivery.is_strangers else (None, message.to)
            if delivery is not None and agent in who and delivery.there(self.now_us):
                delivery.status = "pending"

    def pending(self, agent: str, there: bool | None) -> int:
        mine = [m.deliveries.get(agent, Delivery()) for m in self.messages if m.to == agent]
        return sum(self.counts(delivery) is there for delivery in mine)

    def counts(self, delivery: Delivery) -> bool | None:
        """Does it count as pending? A stranger's claim that is over does, at the latest once a clean-up has looked."""
        there = delivery.there(self.now_us)
        return None if there and delivery.is_strangers and delivery.status == "processing" else there

    def health(self, agent: str, low: int, high: int) -> dict[str, Any]:
        row = self.agents[agent]
        beat = row.status is not None
        return {
            "agent_id": agent,
            "status": Cited(row.status, ("comms.presence.02",)) if beat else Fits("a status", lambda s: s in STATUSES),
            "current_task": Cited(row.task, ("comms.presence.01",)),
            "last_heartbeat": Cited(Instant(row.beat_us), ("comms.presence.06",)) if beat else ANYTHING,
            "messages_pending": All(
                (
                    Cited(Between(self.untouched(agent), self.unfinished(agent)), ("comms.presence.15",)),
                    Cited(Between(low, high), ("comms.presence.09",)),
                )
            ),
            **self.counted(row),
        }

    def unfinished(self, agent: str) -> int:
        """The number of messages ever sent to it that it has neither completed nor buried."""
        known = {id(message): message for message in (*self.sent, *self.messages) if message.is_for(agent)}
        mine = [message.deliveries.get(agent, Delivery()) for message in known.values()]
        return sum(delivery.status not in ("done", "dead") for delivery in mine)

    def untouched(self, agent: str) -> int:
        """The number of messages sent to it alone that nobody has ever claimed, and whose time is not over."""
        there = {id(message) for message in self.messages}
        mine = [m for m in self.sent if id(m) in there and m.to == agent and not m.is_expired(self.now_us)]
        return sum(m.deliveries.get(agent, Delivery()) == Delivery() for m in mine)

    def counted(self, row: Agent) -> dict[str, Any]:
        """The messages that it completed, with and without an error. The seed leaves open how a failed one counts."""
        processed, errors = row.done, row.failures
        if row.failures:
            what = self.choice("comms.presence.09: processed is", "what is done", "what failed, too", "the dead, too")
            processed += {"what failed, too": row.failures, "the dead, too": row.dead}.get(what, 0)
            if self.choice("comms.presence.09: an error is", "each failure", "a dead letter") == "a dead letter":
                errors = row.dead
        rows = ("comms.presence.09",) if row.has_broadcasts else ("comms.presence.13",)
        return {"messages_processed": Cited(processed, rows), "error_count": Cited(errors, rows)}

    # -- artifacts

    def write_artifact(self, agent_id: Any, task_id: Any, content: Any, name: Any = "result.json") -> dict[str, Any]:
        """JSON in a file of its own."""
        self.json(content)
        path = f"{ARTIFACTS}{agent_id}/{task_id}/{name}"
        if path in self.linked:
            self.refuse("INVALID_ARGUMENT", "comms.blob.08")
        self.row("comms.blob.01", "comms.blob.03", "comms.blob.05")
        self.artifacts[path] = content
        self.damaged.discard(path)
        self.tell("artifact", agent_id, path)
        return {"artifact_path": path}

    def read_artifact(self, artifact_path: Any) -> dict[str, Any]:
        """The content."""
        parts = artifact_path.removeprefix(ARTIFACTS).split("/")
        if not artifact_path.startswith(ARTIFACTS):
            self.refuse("INVALID_ARGUMENT", "comms.blob.10")
        if len(parts) != 3:
            self.refuse(ANY_CODE, "comms.blob.10")
        if not all(map(BOUND_OF["agent_id"].takes, parts)):
            self.refuse("INVALID_ARGUMENT", "comms.blob.10", why="three names")
        if artifact_path in self.linked:
            self.refuse("INVALID_ARGUMENT", "comms.blob.09")
        if artifact_path not in self.artifacts:
            self.refuse("NOT_FOUND", "comms.blob.11")
        if artifact_path in self.damaged:
            if self.choice("an artifact that holds no JSON", "is refused", "is an error of the disk") != "is refused":
                raise Refuse("CORRUPT", definite=False, also=("IO_ERROR",))  # on another bus
            self.refuse(ANY_CODE, "comms.blob.05")
        self.row("comms.blob.01", "comms.blob.02")
        return {"content": Json(self.artifacts[artifact_path])}

    # -- the breaker and the trail

    def circuit_breaker(self, events: Any) -> dict[str, Any]:
        """Five failures in a row open it; after a minute one probe decides (C8)."""
        if type(events) is not list:
            self.refuse("INVALID_ARGUMENT", *ARGUMENTS)
        state, failures, failed_ms, last_ms, answers = "closed", 0, 0, 0, list[Any]()
        closed_by = "comms.limit.08"  # the reason that earlier failures do not count
        for event in events:
            good = type(event) is dict and event.keys() >= {"at_ms", "event"}
            if not good or event["event"] not in ("call", "success", "failure"):
                self.refuse("INVALID_ARGUMENT", *ARGUMENTS)
            if len(event) > 2:
                self.may_refuse("more members in an event of the breaker", *ARGUMENTS, reference_refuses=True)
            at_ms, kind = event["at_ms"], event["event"]
            self.keep("at_ms", at_ms)
            if at_ms < last_ms:
                self.may_refuse("at_ms that falls", *ARGUMENTS)
            last_ms, admitted = at_ms, None
            if kind == "call":
                probes = state == "open" and at_ms - failed_ms > BREAKER_MS
                row = "comms.limit.10" if probes else {**BREAKER_ROWS, "closed": closed_by}[state]
                admitted = state == "closed" or probes
                state = "half_open" if probes else state
            elif kind == "failure":
                failures, failed_ms = failures + 1, at_ms
                row = "comms.limit.14" if state == "half_open" else closed_by
                if state != "closed" or failures >= BREAKER_FAILURES:
                    row, state = row if state == "half_open" else "comms.limit.09", "open"
            else:
                row = {**BREAKER_ROWS, "closed": "comms.limit.12", "half_open": "comms.limit.11"}[state]
                if state != "open":
                    state, failures, closed_by = "closed", 0, row
            answers.append(Cited({"state": state, "admitted": admitted}, (row,)))
            self.row(row)
        return {"answers": answers}

    def export_audit_trail(self) -> dict[str, Any]:
        """The file tells every event."""
        self.row("comms.export.01", "comms.export.03")
        self.exported = len(self.trail)
        return {}

    def tell(self, kind: str, agent: str | None, about: Any) -> None:
        """An event for the trail."""
        self.trail.append(Event(kind, self.now_us, agent, about))

    def in_words(self) -> str:
        """The state, for a reader of a failure."""
        return in_words(self)

    # -- the kit's own hand: its changes and its findings

    def audit_lines(self) -> dict[str, Any]:
        """The trail's file. Events after the last export may be there, too."""
        return {"lines": Trail(self.trail[: self.exported], self.trail[self.exported :], self.strangers)}

    def strangers_line(self, line: dict[str, Any]) -> dict[str, Any]:
        """A line of another program in the trail."""
        self.strangers.append(line)
        return {}

    def strangers_text(self, text: str) -> dict[str, Any]:
        """Another program's words, with or without the end of their line."""
        self.strangers.append(text)
        return {}

    def spoil_artifact(self, artifact_path: str, text: str | None) -> dict[str, Any]:
        """Its file goes, or holds what no bus has written; JSON is what it holds from now on."""
        if artifact_path not in self.artifacts or artifact_path in self.linked:
            return {}
        self.damaged.discard(artifact_path)
        if text is None:
            del self.artifacts[artifact_path]
        elif is_json_text(text):
            self.artifacts[artifact_path] = json.loads(text)
        else:
            self.damaged.add(artifact_path)
        return {}

    def link_artifact(self, artifact_path: str) -> dict[str, Any]:
        """The file is a link to one outside from now on (C9)."""
        if artifact_path in self.artifacts:
            self.linked.add(artifact_path)
        return {}

    def stranger_sends(self, row: dict[str, Any]) -> dict[str, Any]:
        """A program that knows only the seed's tables inserts a message, and counts it."""
        self.row("comms.log.67", "comms.log.68")
        at_us = us_of(row["timestamp"]) or 0
        new = Message(
            row["id"],
            row["type"],
            at_us,
            row.get("correlation_id"),
            row["from_agent"],
            row.get("to_agent"),
            row["channel"],
            row["priority"],
            row["payload"],
            at_us,
            us_of(row.get("expires_at")),
        )
        self.sent.append(new)
        self.insert(new)
        return {}

    def stranger_claims(self, message_id: str, at: str, count: int) -> dict[str, Any]:
        """A program that knows only the seed's tables holds the message it has taken, as long as any claim."""
        self.row("comms.route.37")
        message = self.by_id(message_id)
        if message is not None and message.to is not None:
            delivery, at_us = message.of(message.to), us_of(at) or 0
            if delivery == Delivery():
                message.claimed_us, delivery.status, delivery.count = at_us, "processing", count
                delivery.due, delivery.is_strangers = at_us + VISIBILITY_MS * 1000, True
                self.unseen.append(delivery)
        return {}

    def spoil(self, message_id: str, text: str) -> dict[str, Any]:
        """A payload that is no JSON object breaks its own message alone."""
        message = self.by_id(message_id)
        if message is not None:
            message.is_spoiled = True
        return {}

    def cut_letter(self, id: str, member: str) -> dict[str, Any]:
        """A letter that is not whole cannot be delivered again."""
        for letter in self.letters:
            letter.lacks += (member,) if plain(letter.id) == id else ()
        return {}

    def stranger_answers(self, agent_id: str, ids: list[str], at: str) -> dict[str, Any]:
        """By the seed's tables alone: an answer to another request, then the one to the latest request to the agent."""
        self.row("comms.route.32", "comms.route.33")
        requests = [m for m in self.sent if m.to == agent_id and isinstance(m.correlation_id, FreshId)]
        for asked in requests[-1:]:
            for name, link in zip(ids, ("another", asked.correlation_id), strict=True):
                at_us = us_of(at) or 0
                payload: dict[str, Any] = {"context": {}}
                new = Message(
                    name, "context.response", at_us, link, agent_id, asked.sender, asked.channel, 5, payload, at_us
                )
                self.sent.append(new)
                self.insert(new)
        return {}

    # -- the whole state

    def dump(self) -> dict[str, Any]:
        """Every table of the seed, and each agent's deliveries (0012)."""
        self.is_silent = False
        self.row("comms.log.16")
        agents = [
            self.health(agent, self.stored_pending(agent), self.stored_pending(agent) + self.maybe_pending(agent))
            for agent in self.agents
        ]
        subscribed = [
            {"channel_name": channel, "agent_id": agent, "subscribed_at": Instant(at_us)}
            for (channel, agent), at_us in self.subscriptions.items()
        ]
        return {
            "messages": Rows(lambda row: plain(row.get("id")), [self.message_row(m) for m in self.messages]),
            "deliveries": self.of_noun(
                "lease",
                Cited(Rows(delivery_key, self.delivery_rows(), may_lack=True), ("comms.lease.13", "comms.retry.08")),
            ),
            "dead_letter_queue": self.of_noun("retry", Rows(letter_key, [self.letter(dead) for dead in self.letters])),
            "agent_status": self.of_noun("presence", Rows(lambda row: row.get("agent_id"), agents)),
            "channel_subscriptions": Rows(lambda row: (row.get("channel_name"), row.get("agent_id")), subscribed),
            "integrity": Told("ok"),
        }

    def stored_pending(self, agent: str) -> int:
        """The number that is pending whether anybody looked or not."""
        return sum(m.to == agent and m.deliveries.get(agent, Delivery()).kept() == "pending" for m in self.messages)

    def maybe_pending(self, agent: str) -> int:
        """The number that is due again, and pending once somebody looks."""
        mine = [m.deliveries.get(agent, Delivery()) for m in self.messages if m.to == agent]
        return sum(self.may_be_pending(d) for d in mine)

    def may_be_pending(self, delivery: Delivery) -> bool:
        """Is it due again, or was it, when somebody looked?"""
        is_open = delivery.kept() in ("processing", "failed")
        return is_open and (delivery.status == "pending" or delivery.there(self.now_us) is not False)

    def status_of(self, delivery: Delivery) -> Any:
        kept = delivery.kept()
        if self.may_be_pending(delivery):
            return Fits(f"{kept} or pending", lambda seen: seen in (kept, "pending"))
        return kept

    def message_row(self, message: Message) -> dict[str, Any]:
        mine = Delivery() if message.to is None else message.deliveries.get(message.to, Delivery())
        expires = None if message.expires_us is None else Instant(message.expires_us)
        was_redriven = message.created_us != message.at_us
        row: dict[str, Any] = {
            **self.envelope(
                message, Fits("the payload, or its JSON text", lambda seen: is_kept_as(seen, message.payload))
            ),
            "status": Cited(self.status_of(mine), STATUS_ROWS if message.to is not None else ("comms.route.38",)),
            "created_at": Cited(Stamp(message.created_us), ("comms.retry.13" if was_redriven else "comms.log.58",)),
            "expires_at": Cited(expires, ("comms.retry.13" if was_redriven else "comms.log.42",)),
        }
        if message.to is not None:
            is_reset = was_redriven and mine.count == 0
            row["delivery_count"] = Cited(mine.count, ("comms.retry.15" if is_reset else "comms.retry.04",))
            claimed = None if message.claimed_us is None else Instant(message.claimed_us)
            row["last_delivered_at"] = Cited(claimed, ("comms.retry.15" if is_reset else "comms.lease.04",))
            if mine.status in ("failed", "done") or mine == Delivery():
                row["error"] = Cited(mine.error, ("comms.retry.15" if is_reset else "comms.retry.01",))
        else:  # its deliveries are its readers'
            row |= {name: Cited(value, ("comms.route.06",)) for name, value in UNTOUCHED.items()}
        return row

    def delivery_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "message_id": message.id,
                "agent_id": agent,
                "status": Cited(self.status_of(delivery), ("comms.lease.13",)),
                "delivery_count": Cited(delivery.count, ("comms.lease.15",)),
                "failures": Cited(delivery.failures, ("comms.retry.07",)),
                "visible_at": self.visible_at(delivery),
                "error": Cited(Told(delivery.error), ("comms.retry.01",)),
            }
            for message in self.messages
            for agent, delivery in message.deliveries.items()
            if (delivery.count or delivery.failures) and not delivery.is_strangers
        ]

    def visible_at(self, delivery: Delivery) -> Any:
        if delivery.status == "processing":
            return Cited(Instant(int(plain(delivery.due) if isinstance(delivery.due, int) else 0)), ("comms.lease.12",))
        if delivery.status == "failed":
            due = delivery.due if isinstance(delivery.due, Due) else Instant(delivery.due)
            return Cited(due, ("comms.retry.06",))
        return ANYTHING

    def envelope(self, message: Message, payload: Any = None) -> dict[str, Any]:
        """A message as its reader sees it, each member under its row."""
        members = {
            "id": message.id,
            "type": message.type,
            "version": "1.0",
            "timestamp": Instant(message.at_us),
            "correlation_id": message.correlation_id,
            "from_agent": message.sender,
            "to_agent": message.to,
            "channel": message.channel,
            "priority": message.priority,
            "payload": Json(message.payload) if payload is None else payload,
        }
        if message.is_spoiled:
            members["payload"] = ANYTHING
        rows = {**ENVELOPE_ROWS, **message.rows}
        return {name: Cited(value, (rows[name],)) for name, value in members.items()}

    def refuse(self, code: str, *rows: str, why: str = "", also: tuple[str, ...] = ()) -> NoReturn:
        """A refusal names the row that asks for it, not those of the way there."""
        self._rows, self._bounds = list(rows), {}
        raise Refuse(code, why=why, also=also)

    # -- arguments

    def by_id(self, message_id: Any) -> Message | None:
        """The message that has the id, if it is there."""
        ids = (m.id if type(m.id) is str else plain(m.id) for m in self.messages)  # of hundreds, in most calls
        return next((m for m, known in zip(self.messages, ids, strict=True) if known == message_id), None)

    def json(self, value: Any) -> None:
        """A JSON value of a size that the bus carries."""
        fault = json_fault(value, self.limits.get("payload_bytes_max", PAYLOAD_BYTES_MAX))
        if fault == "PAYLOAD_TOO_LARGE" and "payload_bytes_max" not in self.limits:  # on another bus
            fault = fault if self.choice("a payload above 4 MiB", "is refused", "is taken") == "is refused" else None
        if fault:
            row = "comms.log.33" if fault == "INVALID_ARGUMENT" else "comms.limit.17"
            self.refuse(
                fault, row, why="NaN, an infinity, half a surrogate, or too deep" if row == "comms.log.33" else ""
            )
        if has_big_number(value):
            self.may_refuse(BIG_NUMBER, "comms.log.33")
