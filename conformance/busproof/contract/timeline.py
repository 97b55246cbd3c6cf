"""`timeline`: seed 003. A store is a folder; its record is `timeline.db`, or a JetStream that `config.toml` names.

A routing key is an object with its `type` and all of its dimensions. To send a message is to record it: the two are one
append, numbered and chained within its timeline.
"""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from busproof.contract import bounds
from busproof.contract.bounds import DAY_S, INT_MAX, JSON, LIST_MAX, RAW, WHOLE, Bound
from busproof.contract.common import SESSION_METHODS, Contract, Done, Empty, Params, Reply, methods

DB_NAME = "timeline.db"
STREAM = "VLINDER"

ACK_WAIT_MS = 30_000  # of a message that was fetched

TIMELINE_FEATURES = {
    "calls": "run_agent, call_service and delegate over the door: send, wait for the exact reply key, or TIMEOUT",
    "nak": "a fetched message can be given back at once",
    "groups": "fetch takes a group: each group gets every message, within one each message has one worker",
    "replay": "a submission is replayed from the record, with no agent or service running",
    "verify": "the chain of the record is recomputed and held against what is stored",
    "dump": "the whole state of the store; without it, or `sqlite`, `chaos` cannot judge what a fault left",
    "synchronous": "option synchronous = FULL: with it the bus holds power-loss, whatever it declares without",
    "sqlite": "timeline.db has the reference's tables, which any participant may join",
    "nats": "options backend `nats` and nats_url: the same bus on a JetStream, by the seed's subjects",
}

# -- routing keys: a closed set


class Dimensions(Params):
    """The base of every key."""

    model_config = ConfigDict(frozen=True)
    timeline: str
    submission: str


class InvokeKey(Dimensions):
    """User input to an agent: `vlinder.T.S.invoke.harness.runtime.agent`."""

    type: Literal["invoke"]
    harness: str
    runtime: str
    agent: str


class CompleteKey(Dimensions):
    """An agent's result to its harness: `vlinder.T.S.complete.agent.harness`."""

    type: Literal["complete"]
    agent: str
    harness: str


class RequestKey(Dimensions):
    """An agent's call of a service: `vlinder.T.S.req.agent.service.backend.operation.sequence`."""

    type: Literal["request"]
    agent: str
    service: str
    backend: str
    operation: str
    sequence: int


class ResponseKey(Dimensions):
    """A service's answer: `vlinder.T.S.res.service.backend.agent.operation.sequence`."""

    type: Literal["response"]
    service: str
    backend: str
    agent: str
    operation: str
    sequence: int


class DelegateKey(Dimensions):
    """A sub-task to another agent: `vlinder.T.S.delegate.caller.target`. Its nonce travels in the message (T9)."""

    type: Literal["delegate"]
    caller: str
    target: str


class DelegateReplyKey(Dimensions):
    """The sub-task's result: `vlinder.T.S.delegate-reply.caller.target.nonce`."""

    type: Literal["delegate-reply"]
    caller: str
    target: str
    nonce: str


class ForkKey(Dimensions):
    """A new branch; `timeline` is the new one's name: `vlinder.T.S.fork.agent_name`."""

    type: Literal["fork"]
    agent_name: str


Key = Annotated[
    InvokeKey | CompleteKey | RequestKey | ResponseKey | DelegateKey | DelegateReplyKey | ForkKey,
    Field(discriminator="type"),
]

# Of the messages that `send` takes; a reply is sent by `reply`, a fork by `fork`.
NONCE = Field(default=None, description="of a delegation: tells those to one target within a submission apart")


class KeyParams(Params):
    """A key, and for a delegation its nonce. A refused key: INVALID_ARGUMENT."""

    key: dict[str, Any] = Field(description="type and every dimension of that type, and nothing else")
    nonce: str | None = NONCE


class SubjectReply(Reply):
    """How the key is written on the wire."""

    subject: str
    consumer: str = Field(description="name of the durable consumer of exactly this subject; injective")


class SubjectParams(Params):
    """A subject as it stands on the wire. INVALID_ARGUMENT for a text that no key is written as."""

    subject: str


class KeyReply(Reply):
    """The key."""

    key: dict[str, Any]


class FilterParams(Params):
    """A type, and the dimensions that must match; those left out match anything."""

    filter: dict[str, Any]
    group: str | None = Field(default=None, description="feature groups; absent: the filter's own queue")


class MatchParams(Params):
    """Does the filter match the key?"""

    filter: dict[str, Any]
    key: dict[str, Any]


class MatchReply(Reply):
    """The answer."""

    matches: bool


# -- sending


class SendParams(KeyParams):
    """Record and send one message. The same key and content again is the first one; other content is ID_CONFLICT."""

    payload: Any = Field(default=None, description="any JSON value")


class SentReply(Reply):
    """Where the message stands in its timeline."""

    subject: str
    number: int = Field(description="dense within the timeline; a fork at N goes on with N + 1")
    hash: str = Field(description="of the chain up to here, 64 hex")
    duplicate: bool = Field(description="it was sent before, and nothing was appended")


class ReplyParams(KeyParams):
    """Answer the request with this key; the answer is sent to its one reply key."""

    payload: Any = None
    state: Any = Field(default=None, description="of the agent, any JSON value; its hash goes with the result")


class Message(Reply):
    """A recorded message."""

    key: dict[str, Any]
    subject: str
    number: int
    payload: Any
    nonce: str | None = None
    state: str | None = Field(default=None, description="of complete and delegate-reply: sha256 of the agent's state")
    time_us: int = Field(description="epoch microseconds, of the sender's clock")
    previous: str = Field(description="the hash before; of a fork's first message the parent's at the fork point")
    hash: str
    status: Literal["sent"] = "sent"


# -- receiving


class FetchParams(FilterParams):
    """The oldest message of the filter that nobody of the group has; it is another's after ack_wait_ms without ack."""

    wait_ms: int = Field(default=0, description="wait this long, real time, for one")


class Fetched(Message):
    """A message in the caller's hands."""

    delivery: str = Field(description="what ack and nak take; opaque")
    delivery_count: int


class FetchReply(Reply):
    """null: there is none."""

    message: Fetched | None


class DeliveryParams(Params):
    """A delivery from fetch."""

    delivery: str


# -- calls


class CallParams(Params):
    """The parameters of all calls."""

    timeline: str
    submission: str
    payload: Any = None
    timeout_ms: int = 30_000


class RunAgentParams(CallParams):
    """Send invoke, wait for its complete. Error TIMEOUT: the message stays sent."""

    harness: str
    runtime: str
    agent: str


class CallServiceParams(CallParams):
    """Send request, wait for its response. Error TIMEOUT: the message stays sent."""

    agent: str
    service: str
    backend: str
    operation: str
    sequence: int


class DelegateParams(CallParams):
    """Send delegate, wait for the reply with its nonce. Error TIMEOUT: the message stays sent."""

    caller: str
    target: str
    nonce: str


class CallReply(Reply):
    """The answer."""

    payload: Any
    number: int
    hash: str
    state: str | None = None
    replayed: bool = Field(description="it stood in the record already, and nothing was sent")


# -- the record


class LogParams(Params):
    """A timeline as it is seen: a fork's parent up to the fork point, then its own. NOT_FOUND for an unknown one."""

    timeline: str
    submission: str | None = None
    after: int = 0
    limit: int | None = Field(default=None, description="absent: 1000")


class LogReply(Reply):
    """In the order of their numbers."""

    messages: list[Message]


class StateParams(Params):
    """An agent on a timeline."""

    timeline: str
    agent: str


class StateReply(Reply):
    """The state of the agent's newest complete or delegate-reply that the timeline sees; null: there is none."""

    state: str | None
    number: int | None


class VerifyParams(Params):
    """One timeline with its ancestors, or all. `head`: the hash that its last message is believed to have."""

    timeline: str | None = None
    head: str | None = None


class VerifyReply(Reply):
    """Each fault names a timeline and a number."""

    ok: bool
    checked: int = Field(description="messages")
    faults: list[dict[str, Any]]


class ReplayParams(Params):
    """NOT_FOUND if nothing of the submission is seen."""

    timeline: str
    submission: str


class ReplayReply(Reply):
    """The submission as it happened; result and state of its complete, null while it runs."""

    messages: list[Message]
    complete: Message | None
    digest: str = Field(description="sha256 over the replayed messages' hashes, each as 64 hex")


# -- forks


class ForkParams(Params):
    """Begin `timeline` at the parent's message number `at`; 0: before its first. ID_CONFLICT if it exists."""

    timeline: str = Field(description="the new one")
    submission: str
    agent_name: str
    parent: str
    at: int


class ForkReply(Reply):
    """The fork's first message."""

    timeline: str
    parent: str
    at: int
    number: int
    hash: str
    duplicate: bool


class TimelineRow(Reply):
    """One timeline: a node of the DAG."""

    timeline: str
    parent: str | None
    at: int | None
    number: int = Field(description="of its last message")
    hash: str


class TimelinesReply(Reply):
    """In the order of their names."""

    timelines: list[TimelineRow]


class TimelineDumpReply(Reply):
    """The state of the store."""

    messages: list[dict[str, Any]] = Field(description="every recorded one, as log gives them, by timeline and number")
    timelines: list[TimelineRow]
    deliveries: list[dict[str, Any]] = Field(default=[], description="what is in somebody's hands")
    integrity: str | None = None


TIMELINE_METHODS = SESSION_METHODS | methods(
    ("subject_of", "route", None, KeyParams, SubjectReply),
    ("key_of", "route", None, SubjectParams, KeyReply),
    ("reply_key", "route", None, KeyParams, KeyReply),
    ("filter_subject", "route", None, FilterParams, SubjectReply),
    ("matches", "route", None, MatchParams, MatchReply),
    ("send", "log", None, SendParams, SentReply),
    ("reply", "log", None, ReplyParams, SentReply),
    ("log", "log", None, LogParams, LogReply),
    ("state", "log", None, StateParams, StateReply),
    ("verify", "log", "verify", VerifyParams, VerifyReply),
    ("fetch", "cursor", None, FetchParams, FetchReply),
    ("ack", "cursor", None, DeliveryParams, Done),
    ("nak", "cursor", "nak", DeliveryParams, Done),
    ("run_agent", "retry", "calls", RunAgentParams, CallReply),
    ("call_service", "retry", "calls", CallServiceParams, CallReply),
    ("delegate", "retry", "calls", DelegateParams, CallReply),
    ("replay", "export", "replay", ReplayParams, ReplayReply),
    ("fork", "fork", None, ForkParams, ForkReply),
    ("timelines", "fork", None, Empty, TimelinesReply),
    ("dump", None, "dump", Empty, TimelineDumpReply),
)

TIMELINE_ERROR_CODES = {
    "INVALID_ARGUMENT": True,
    "PAYLOAD_TOO_LARGE": True,
    "ID_CONFLICT": True,
    "NOT_FOUND": True,
    "SCHEMA_MISMATCH": True,
    "NOT_OPEN": True,
    "BUSY": True,
    "DISK_FULL": True,
    "TIMEOUT": False,
    "UNREACHABLE": False,
    "CORRUPT": False,
    "IO_ERROR": False,
    "INTERNAL": False,
}

TIMELINE_TABLES = """
CREATE TABLE IF NOT EXISTS messages (
  position INTEGER PRIMARY KEY AUTOINCREMENT, timeline TEXT NOT NULL, number INTEGER NOT NULL,
  submission TEXT NOT NULL, type TEXT NOT NULL, subject TEXT NOT NULL, nonce TEXT, state TEXT, payload TEXT NOT NULL,
  time_us INTEGER NOT NULL, previous TEXT NOT NULL, hash TEXT NOT NULL, UNIQUE (timeline, number));
CREATE UNIQUE INDEX IF NOT EXISTS messages_by_subject ON messages(subject, coalesce(nonce, ''));
CREATE INDEX IF NOT EXISTS messages_by_type ON messages(type, position);
CREATE TABLE IF NOT EXISTS timelines (
  timeline TEXT PRIMARY KEY, parent TEXT, at INTEGER, number INTEGER NOT NULL, hash TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS consumers (consumer TEXT PRIMARY KEY, floor INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS deliveries (
  consumer TEXT NOT NULL, position INTEGER NOT NULL, delivery_count INTEGER NOT NULL, visible_at_us INTEGER NOT NULL,
  PRIMARY KEY (consumer, position));
"""

_INVOKE = {
    "type": "invoke",
    "timeline": "doctor",
    "submission": "visit",
    "harness": "cli",
    "runtime": "local",
    "agent": "doctor",
}
_APPENDED = {"key": ("reply.subject",), "seq": ("reply.number",)}

TIMELINE_BOUNDS = (
    Bound(
        "agent timeline submission group parent",
        *(RAW, 1, 200, "timeline.route.26"),
        limits=(("name_bytes_max", "names in keys"),),
    ),
    Bound(
        "sequence",
        *(WHOLE, 0, 2**53, "timeline.route.27"),
        limits=(("sequence_max", "the highest sequence of a request"),),
    ),
    Bound(
        "payload",
        *(JSON, -math.inf, 1_000_000, "timeline.log.33", "PAYLOAD_TOO_LARGE"),
        limits=(("payload_bytes_max", "JSON text of a payload"),),
    ),
    Bound("after", WHOLE, 0, INT_MAX, "timeline.log.28"),
    Bound("limit", WHOLE, 1, LIST_MAX, "timeline.log.28", least=0, most=INT_MAX, refuses="below"),
    Bound("wait_ms", WHOLE, 0, DAY_S * 1000, "timeline.cursor.11"),
    Bound("timeout_ms", WHOLE, 0, DAY_S * 1000, "timeline.retry.10"),
    Bound("at", WHOLE, 0, INT_MAX, "timeline.fork.10"),
    Bound("ack_wait_ms", WHOLE, 1, DAY_S * 1000, "timeline.cursor.06", most=2**53, refuses="above"),
)

CONTRACT = Contract(
    system="timeline",
    methods=TIMELINE_METHODS,
    features=TIMELINE_FEATURES,
    error_codes=TIMELINE_ERROR_CODES,
    profiles={"core": ("log", "cursor", "route"), "full": ("log", "cursor", "route", "retry", "export", "fork")},
    store=PurePosixPath(DB_NAME),
    tables=TIMELINE_TABLES,
    participant="busproof.bus.sqlite_timeline:TimelineParticipant",
    reference="refbus.driver",
    types=(InvokeKey, CompleteKey, RequestKey, ResponseKey, DelegateKey, DelegateReplyKey, ForkKey),
    options={
        "ack_wait_ms": "a fetched message is another's after this long without ack or nak; 1 or more, 30 s unless told",
        "synchronous": "feature synchronous: with FULL nothing acknowledged is lost with the power",
        "backend": "feature nats: `nats`, and nats_url says where the server is",
        "nats_url": "of the JetStream server",
    },
    bounds=TIMELINE_BOUNDS,
    limits=bounds.limits(TIMELINE_BOUNDS)
    | {"call_timeout_ms": "of the call helper; the kit waits it out only where it is told, and short"},
    columns={
        "send": _APPENDED,
        "reply": _APPENDED,
        "fetch": {"key": ("reply.message.subject",), "seq": ("reply.message.number",)},
        "fork": {"key": ("reply.timeline",), "seq": ("reply.number",)},
    },
    trials={
        "subject_of": {"key": _INVOKE},
        "key_of": {"subject": "vlinder.doctor.visit.invoke.cli.local.doctor"},
        "reply_key": {"key": _INVOKE},
        "filter_subject": {"filter": {"type": "invoke", "runtime": "local"}},
        "matches": {"filter": {"type": "invoke", "runtime": "local"}, "key": _INVOKE},
        "send": {"key": _INVOKE, "payload": {"n": 1}},
        "fetch": {"filter": {"type": "invoke", "runtime": "local"}},
        "reply": {"key": _INVOKE, "payload": {"n": 2}, "state": {}},
        "log": {"timeline": "doctor"},
        "state": {"timeline": "doctor", "agent": "doctor"},
        "verify": {},
        "replay": {"timeline": "doctor", "submission": "visit"},
        "fork": {"timeline": "doctor-2", "submission": "visit", "agent_name": "doctor", "parent": "doctor", "at": 1},
        "timelines": {},
        "dump": {},
    },
)
