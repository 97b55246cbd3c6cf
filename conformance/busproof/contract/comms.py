"""`comms`: seed 001, "Core API". A store is a project folder; the bus keeps to `.claude/` in it."""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import Field

from busproof.contract import bounds
from busproof.contract.bounds import DAY_S, INT_MAX, LIST_MAX, MIB, NAME, NUMBER, OBJECT, PROSE, TEXT, WHOLE, Bound
from busproof.contract.common import SESSION_METHODS, Contract, Done, Empty, Params, Reply, methods

VISIBILITY_MS = 60_000  # C2: a claim
FAILURES_MAX = 3  # then a message is a dead letter

COMMS_FEATURES = {
    "validate": "validate_message over the door",
    "wait": "receive_messages waits for timeout_seconds and wakes on a new message",
    "idempotent_send": "send_message and send_response take a message_id, and a retry with it is the same message",
    "delivery_count": "claim_message returns delivery_count, which rises with each claim and fences completions",
    "redrive": "a dead letter can be put back in front of its agent",
    "request": "the request helper over the door: send, wait, claim, complete",
    "send_with_retry": "send_with_retry and its schedule over the door",
    "votes": "vote.initiate opens a vote, vote.cast fills it, tally counts it",
    "breaker": "the circuit breaker, driven by a script of events",
    "audit": ".claude/audit-trail.jsonl tells every change",
    "dump": "the whole state of the store; without it, or `sqlite`, `chaos` sees only what readers are shown",
    "synchronous": "option synchronous = FULL: with it the bus holds power-loss, whatever it declares without",
    "sqlite": ".claude/communications/messages.db has the seed's tables to the letter",
}


class SendParams(Params):
    """Store one message, durably, in one transaction. ttl_seconds: absent the default, null no expiry (C13)."""

    from_agent: str
    to_agent: str | None = Field(default=None, description="absent: a broadcast, delivered to each agent (C3)")
    message_type: str
    payload: dict[str, Any]
    channel: str = "general"
    priority: int = Field(default=5, description="1 to 10, 10 is the highest")
    correlation_id: str | None = None
    ttl_seconds: int | None = Field(default=None, description="absent: 3600; 300 on channel `urgent`")
    message_id: str | None = Field(default=None, description="a UUID for safe retries (feature idempotent_send)")


class SendReply(Reply):
    """The message's id."""

    message_id: str


class Envelope(Reply):
    """A message as its reader sees it."""

    id: str
    type: str
    version: str
    timestamp: str
    correlation_id: str | None = None
    from_agent: str
    to_agent: str | None = None
    channel: str
    priority: int
    payload: dict[str, Any]


class ReceiveParams(Params):
    """Messages that the agent could claim now: highest priority first, then oldest first. Changes nothing."""

    agent_id: str
    channels: list[str]
    limit: int = 10
    timeout_seconds: float | None = Field(default=None, description="wait this long for a first one (feature wait)")


class ReceiveReply(Reply):
    """At most `limit` messages."""

    messages: list[Envelope]


class ClaimMessageParams(Params):
    """Take a message for processing."""

    agent_id: str
    message_id: str


class ClaimMessageReply(Reply):
    """claimed is false if it is not there, another's, expired, done, or in somebody's hands."""

    claimed: bool
    delivery_count: int | None = Field(default=None, description="feature delivery_count")
    visible_at: str | None = Field(default=None, description="when the claim ends, ISO 8601 (C2)")


class CompleteParams(Params):
    """Done, or failed with `error`. The kit always says who completes; only a broadcast needs it."""

    message_id: str
    error: str | None = None
    agent_id: str | None = None
    delivery_count: int | None = Field(
        default=None, description="of the claim that is completed; an older one is refused"
    )


class CompleteReply(Reply):
    """The delivery's status afterwards, if the bus tells it: done, failed or dead."""

    status: Literal["done", "failed", "dead"] | None = None


class ResponseParams(Params):
    """Answer a request. agent_id: the agent that claimed a broadcast (C5)."""

    original_message: dict[str, Any]
    response_payload: dict[str, Any]
    artifact_path: str | None = None
    agent_id: str | None = None
    message_id: str | None = None


class RequestParams(Params):
    """Send, wait for the answer with the same correlation id, claim and complete it. Error TIMEOUT."""

    from_agent: str
    to_agent: str
    message_type: str
    payload: dict[str, Any]
    channel: str = "general"
    priority: int = 5
    timeout_seconds: float = 30.0


class RequestReply(Reply):
    """The answer."""

    response: Envelope


class ValidateParams(Params):
    """Any OBJECT value."""

    message: Any


class ValidateReply(Reply):
    """All that is wrong with it."""

    valid: bool
    errors: list[str]


class CleanupReply(Reply):
    """How many messages past their TTL were removed."""

    deleted: int


class ChannelParams(Params):
    """One subscription."""

    agent_id: str
    channel_name: str


class AgentIdParams(Params):
    """One agent."""

    agent_id: str


class ChannelsReply(Reply):
    """The agent's channels, in any order."""

    channels: list[str]


class HealthBeatParams(Params):
    """The agent lives."""

    agent_id: str
    status: str = Field(description="active, idle, degraded or failed")
    current_task: str | None = None


class HealthReply(Reply):
    """The agent's row. Counters agree with the tables (C12)."""

    agent_id: str
    status: str
    current_task: str | None = None
    last_heartbeat: str
    messages_pending: int
    messages_processed: int
    error_count: int


class DeadLettersReply(Reply):
    """Rows of the queue; original_message as an object."""

    dead_letters: list[dict[str, Any]]


class RedriveLetterParams(Params):
    """Put a dead letter back in front of its agent."""

    id: str


class RedriveLetterReply(Reply):
    """redriven is false if it was not in the queue."""

    redriven: bool


class SendWithRetryParams(SendParams):
    """send_message, again after base_delay × 2^n × jitter seconds if it fails."""

    max_attempts: int = 3
    base_delay: float = 1.0


class RetryDelaysParams(Params):
    """The schedule of send_with_retry for a given jitter."""

    max_attempts: int = 3
    base_delay: float = 1.0
    jitter: float = 1.0


class RetryDelaysReply(Reply):
    """Seconds after each failed attempt but the last."""

    delays_s: list[float]


class TallyParams(Params):
    """The vote's id is the id of its vote.initiate message."""

    vote_id: str


class TallyReply(Reply):
    """closed from the deadline on; then nothing changes any more."""

    vote_id: str
    closed: bool
    counts: dict[str, int]
    winners: list[str] = Field(default=[], description="while it is open: the leaders so far")


class WriteArtifactParams(Params):
    """Store OBJECT in .claude/artifacts/AGENT/TASK/NAME, whole or not at all."""

    agent_id: str
    task_id: str
    content: Any
    name: str = "result.json"


class WriteArtifactReply(Reply):
    """The path, relative to the project."""

    artifact_path: str


class ReadArtifactParams(Params):
    """Errors: INVALID_ARGUMENT for a path that leads elsewhere, NOT_FOUND."""

    artifact_path: str


class ReadArtifactReply(Reply):
    """The content."""

    content: Any


class BreakerParams(Params):
    """Events for a fresh breaker: {at_ms, event}, event being call, success or failure. For each: {state, admitted}."""

    events: list[dict[str, Any]]


class BreakerReply(Reply):
    """For each event: the state after it, and whether a call was admitted."""

    answers: list[dict[str, Any]]


class ExportedReply(Reply):
    """How many events were moved to the file."""

    exported: int | None = None


class CommsDumpReply(Reply):
    """The state of the store. Row keys are the seed's column names."""

    messages: list[dict[str, Any]]
    deliveries: list[dict[str, Any]] = Field(default=[], description="message_deliveries: what each agent claimed")
    dead_letter_queue: list[dict[str, Any]] = []
    agent_status: list[dict[str, Any]] = []
    channel_subscriptions: list[dict[str, Any]] = []
    integrity: str | None = Field(default=None, description="`ok`, or what PRAGMA integrity_check says")


COMMS_METHODS = SESSION_METHODS | methods(
    ("send_message", "log", None, SendParams, SendReply),
    ("validate_message", "log", "validate", ValidateParams, ValidateReply),
    ("cleanup_expired_messages", "log", None, Empty, CleanupReply),
    ("receive_messages", "route", None, ReceiveParams, ReceiveReply),
    ("subscribe_to_channel", "route", None, ChannelParams, Done),
    ("unsubscribe_from_channel", "route", None, ChannelParams, Done),
    ("get_subscribed_channels", "route", None, AgentIdParams, ChannelsReply),
    ("claim_message", "lease", None, ClaimMessageParams, ClaimMessageReply),
    ("complete_message", "lease", None, CompleteParams, CompleteReply),
    ("dead_letters", "retry", None, Empty, DeadLettersReply),
    ("redrive", "retry", "redrive", RedriveLetterParams, RedriveLetterReply),
    ("send_with_retry", "retry", "send_with_retry", SendWithRetryParams, SendReply),
    ("retry_delays", "retry", "send_with_retry", RetryDelaysParams, RetryDelaysReply),
    ("request", "route", "request", RequestParams, RequestReply),
    ("send_response", "route", None, ResponseParams, SendReply),
    ("tally", "log", "votes", TallyParams, TallyReply),
    ("send_heartbeat", "presence", None, HealthBeatParams, Done),
    ("get_agent_health", "presence", None, AgentIdParams, HealthReply),
    ("write_artifact", "blob", None, WriteArtifactParams, WriteArtifactReply),
    ("read_artifact", "blob", None, ReadArtifactParams, ReadArtifactReply),
    ("circuit_breaker", "limit", "breaker", BreakerParams, BreakerReply),
    ("export_audit_trail", "export", "audit", Empty, ExportedReply),
    ("dump", None, "dump", Empty, CommsDumpReply),
)

COMMS_ERROR_CODES = {
    "INVALID_ARGUMENT": True,
    "PAYLOAD_TOO_LARGE": True,
    "ID_CONFLICT": True,
    "RATE_LIMITED": True,
    "NOT_CLAIMED": True,
    "NOT_FOUND": True,
    "VOTE_CLOSED": True,
    "SCHEMA_MISMATCH": True,
    "NOT_OPEN": True,
    "BUSY": True,
    "BLOB_CORRUPT": True,
    "DISK_FULL": True,
    "TIMEOUT": False,
    "CORRUPT": False,
    "IO_ERROR": False,
    "INTERNAL": False,
}

COMMS_TABLES = """
CREATE TABLE IF NOT EXISTS messages (
  id TEXT PRIMARY KEY, type TEXT NOT NULL, version TEXT NOT NULL, timestamp TEXT NOT NULL, correlation_id TEXT,
  from_agent TEXT NOT NULL, to_agent TEXT, channel TEXT NOT NULL, priority INTEGER NOT NULL DEFAULT 5,
  payload TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'pending', created_at TEXT NOT NULL, expires_at TEXT,
  delivery_count INTEGER DEFAULT 0, last_delivered_at TEXT, error TEXT);
CREATE INDEX IF NOT EXISTS idx_ready_messages ON messages(channel, status, priority DESC, timestamp)
  WHERE status = 'pending';
CREATE INDEX IF NOT EXISTS idx_correlation ON messages(correlation_id) WHERE correlation_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_expiration ON messages(expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS channel_subscriptions (
  channel_name TEXT NOT NULL, agent_id TEXT NOT NULL, subscribed_at TEXT NOT NULL,
  PRIMARY KEY (channel_name, agent_id));
CREATE INDEX IF NOT EXISTS idx_agent_channels ON channel_subscriptions(agent_id);
CREATE TABLE IF NOT EXISTS agent_status (
  agent_id TEXT PRIMARY KEY, status TEXT NOT NULL, current_task TEXT, last_heartbeat TEXT NOT NULL,
  messages_pending INTEGER DEFAULT 0, messages_processed INTEGER DEFAULT 0, error_count INTEGER DEFAULT 0);
CREATE TABLE IF NOT EXISTS dead_letter_queue (
  id TEXT PRIMARY KEY, original_message TEXT NOT NULL, error TEXT NOT NULL, moved_at TEXT NOT NULL,
  retry_count INTEGER NOT NULL);
"""

_INPUT = "comms.limit.15"

COMMS_BOUNDS = (
    Bound(
        "to_agent from_agent agent_id",
        *(NAME, 1, 200, _INPUT),
        limits=(("name_bytes_max", "names of agents, tasks and artifacts; a channel is another text"),),
    ),
    Bound("write_artifact.agent_id write_artifact.task_id write_artifact.name", NAME, 1, 200, "comms.blob.07"),
    Bound(
        "correlation_id message_type type channel channel_name current_task status id vote_id"
        " claim_message.message_id complete_message.message_id",
        *(TEXT, 1, 1024, _INPUT),
        limits=(("text_chars_max", "other texts of a message"),),
    ),
    Bound("read_artifact.artifact_path", TEXT, 1, 1024, "comms.blob.10"),
    Bound(
        "payload content",
        *(OBJECT, -math.inf, 4 * MIB, "comms.limit.17", "PAYLOAD_TOO_LARGE"),
        limits=(
            ("payload_bytes_max", "JSON text of a payload as `json.dumps` writes it; one more is PAYLOAD_TOO_LARGE"),
        ),
    ),
    Bound(
        "priority",
        *(WHOLE, 1, 10, "comms.log.30"),
        row_of_true="comms.log.33",
        limits=(("priority_max", "the highest priority of a message"), ("priority_min", "the least")),
    ),
    # Ten years; a later end than most may be no time of four digits a year.
    Bound("ttl_seconds", WHOLE, 1, 10 * 365 * DAY_S, _INPUT, least=0, most=2**32, refuses="above"),
    Bound("limit", WHOLE, 1, LIST_MAX, _INPUT, least=0, most=INT_MAX),
    Bound("timeout_seconds", NUMBER, 0, DAY_S, _INPUT, most=math.inf, refuses="above"),
    Bound("delivery_count", WHOLE, 1, INT_MAX, _INPUT, least=0, refuses="below"),
    Bound("error", PROSE, 1, 65_536, _INPUT),
    Bound("max_attempts", WHOLE, 1, 100, _INPUT),
    Bound("base_delay", NUMBER, 0, 3600, _INPUT),
    Bound("jitter", NUMBER, 0.5, 1.5, _INPUT, least=-math.inf, most=math.inf),
    Bound("at_ms", WHOLE, 0, 2**53, _INPUT, least=-INT_MAX - 1, most=INT_MAX, refuses="below above"),
)

_MESSAGE_ID = "6f0c9a52-3f0e-4f2b-9f3e-0d6a2b1c7e55"
_SENT = {"key": ("reply.message_id", "params.message_id")}

CONTRACT = Contract(
    system="comms",
    methods=COMMS_METHODS,
    features=COMMS_FEATURES,
    error_codes=COMMS_ERROR_CODES,
    profiles={
        "core": ("log", "route", "lease"),
        "full": ("log", "route", "lease", "retry", "presence", "blob", "limit", "export"),
    },
    store=PurePosixPath(".claude/communications/messages.db"),
    tables=COMMS_TABLES,
    participant="busproof.bus.sqlite_comms:CommsParticipant",
    reference="refbus.driver",
    callers=("agent_id", "from_agent"),
    options={"synchronous": "feature synchronous: with FULL nothing acknowledged is lost with the power"},
    bounds=COMMS_BOUNDS,
    limits=bounds.limits(COMMS_BOUNDS)
    | {"request_timeout_ms": "of the request helper; the kit waits it out only where it is told, and short"},
    columns={
        "send_message": _SENT,
        "send_with_retry": _SENT,
        "send_response": _SENT,
        "claim_message": {
            "key": ("params.message_id",),
            "token": ("reply.delivery_count",),
            "granted": ("reply.claimed",),
            "lease_until_ms": ("reply.visible_at",),
        },
        "complete_message": {"key": ("params.message_id",)},
        "write_artifact": {"key": ("params.task_id",)},
    },
    trials={
        "send_message": {"from_agent": "doctor", "to_agent": "doctor", "message_type": "note", "payload": {"n": 1}},
        "receive_messages": {"agent_id": "doctor", "channels": ["general"], "limit": 10},
        "claim_message": {"agent_id": "doctor", "message_id": _MESSAGE_ID},
        "subscribe_to_channel": {"agent_id": "doctor", "channel_name": "general"},
        "get_subscribed_channels": {"agent_id": "doctor"},
        "unsubscribe_from_channel": {"agent_id": "doctor", "channel_name": "general"},
        "send_heartbeat": {"agent_id": "doctor", "status": "active"},
        "get_agent_health": {"agent_id": "doctor"},
        "validate_message": {"message": {}},
        "cleanup_expired_messages": {},
        "dead_letters": {},
        "redrive": {"id": _MESSAGE_ID},
        "retry_delays": {"max_attempts": 3, "base_delay": 1.0, "jitter": 1.0},
        "write_artifact": {"agent_id": "doctor", "task_id": "visit", "content": {"n": 1}},
        "circuit_breaker": {"events": []},
        "export_audit_trail": {},
        "dump": {},
    },
)
