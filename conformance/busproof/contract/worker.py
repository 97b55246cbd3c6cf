"""`worker`: seed 000, "Write Protocol" to "Blob Storage"."""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import Field

from busproof.contract import bounds
from busproof.contract.bounds import DAY_S, INT_MAX, JSON, LIST_MAX, MIB, NAME, TEXT, WHOLE, Bound
from busproof.contract.common import SESSION_METHODS, Contract, Done, Empty, Params, Reply, methods

# Optional abilities inside a noun. A requirement row that `needs` one is not applicable if it is not declared.
INLINE_BYTES = 4096  # W4: of a payload in its row
LEASE_MS = 60_000  # W9: a claim, and each renewal of it

# What the seed's bus has; in the world some of it is optional, and `hello.lacks` says which.
WORKER_USUAL = {
    "idempotent_publish": "a message has the id that its sender gives it, and the same again is the same message",
    "broadcast": "a message without `to` is for every agent",
    "late_readers": "what was sent before an agent's first poll waits for it; without this none of it does",
    "any_name": "an agent's name is any text; without this letters and digits of ASCII, and behind one of these . _ -",
    "self_delivery": "an agent is given what it sends to itself, and its own broadcasts; without this none of these",
}

WORKER_FEATURES = WORKER_USUAL | {
    "seq": "publish returns the seq it was given",
    "publish_many": "several messages in one transaction",
    "process_loop": "one pass of the processing loop over the door",
    "poll_intervals": "the adaptive polling schedule over the door",
    "wait": "poll waits for wait_ms and wakes on a new message",
    "fencing": "try_claim_task returns a token that rises over grants (W10)",
    "dead_letter": "option deliveries_max: a poison message leaves the queue, recorded and redrivable (W11)",
    "backpressure": "option unread_max: publish to a recipient with that many unread messages is refused",
    "signing": "option signing_key: messages carry an HMAC; tampered ones are marked payload_error bad_signature",
    "archive": "messages below every cursor are moved out and the file is vacuumed",
    "status": "the status query",
    "states": "the worker state machine (W15)",
    "migration": "an older schema_version is migrated, a newer one refused with SCHEMA_MISMATCH",
    "dump": "the whole state of the store; without it, or `sqlite`, `chaos` sees only what readers are shown",
    "synchronous": "option synchronous = FULL: with it the bus holds power-loss, whatever it declares without",
    "sqlite": "the store folder holds bus.db with the seed's tables to the letter",
}


class Message(Params):
    """A message as its sender gives it (seed 000, Message Schema)."""

    id: str | None = Field(default=None, description="chosen by the sender for idempotent retries; else a UUID")
    to: str | None = Field(default=None, description="absent: a broadcast")
    type: str
    correlation_id: str | None = None
    in_reply_to: str | None = None
    payload: Any = Field(
        default=None, description="any JSON value, to 256 levels of lists and objects; absent is not null"
    )


class PublishParams(Params):
    """Append one message, durably, in one transaction."""

    agent_id: str
    message: Message


class PublishReply(Reply):
    """The message's id; its place in the log if the bus tells it."""

    id: str
    seq: int | None = None


class PublishManyParams(Params):
    """Append messages in one transaction: all or none."""

    agent_id: str
    messages: list[Message]


class PublishManyReply(Reply):
    """Ids and places, in the order given."""

    ids: list[str]
    seqs: list[int] | None = None


class PollParams(Params):
    """Unacknowledged messages for this agent, in seq order. Never moves the cursor."""

    agent_id: str
    limit: int = Field(default=100, description="no more messages than this; 0 is none")
    wait_ms: int = Field(default=0, description="wait this long for a first message (feature wait)")


class Delivered(Reply):
    """A row of the log as a reader sees it. `payload` is resolved from the blob if it lives in one."""

    seq: int
    id: str
    ts_ms: int
    from_agent: str
    to_agent: str | None = None
    type: str
    correlation_id: str | None = None
    in_reply_to: str | None = None
    payload: Any = None
    payload_ref: str | None = None
    payload_error: str | None = Field(
        default=None, description="blob_missing, blob_corrupt, blob_invalid, decode_failed or bad_signature"
    )


COLUMNS = tuple(name for name in Delivered.model_fields if name != "payload_error")  # of a row, in any answer


class PollReply(Reply):
    """At most `limit` messages."""

    messages: list[Delivered]


class AckParams(Params):
    """Everything up to seq is processed. Backwards is a no-op; above the newest seq is refused (W5)."""

    agent_id: str
    seq: int


class AckReply(Reply):
    """The cursor after the call, if the bus tells it."""

    last_acked_seq: int | None = None


class ProcessLoopParams(Params):
    """One pass of the processing loop: poll, handle, ack each; the handler fails on the ids in `fail_ids`."""

    agent_id: str
    limit: int = 100
    fail_ids: list[str] = []


class ProcessLoopReply(Reply):
    """Ids that the handler has done, in order, and the id it failed on, if any."""

    handled: list[str]
    failed: str | None = None


class PollIntervalsParams(Params):
    """The pauses of the adaptive loop after each poll; true: it found messages."""

    polls: list[bool]


class PollIntervalsReply(Reply):
    """Milliseconds, one for each poll."""

    intervals_ms: list[float]


class ClaimParams(Params):
    """Take the lease of a task *name*."""

    task_id: str
    agent_id: str


class ClaimReply(Reply):
    """claimed is false only if somebody, the caller included, holds a live claim (W8, W9)."""

    claimed: bool
    token: int | None = Field(default=None, description="fencing token (feature fencing)")
    lease_until_ms: int | None = None


class HolderParams(Params):
    """Renew or release by the holder; a token, if given, must be the one of the latest grant."""

    task_id: str
    agent_id: str
    token: int | None = None


class RenewReply(Reply):
    """renewed is false if the caller no longer holds the claim."""

    renewed: bool
    lease_until_ms: int | None = None


class ReleaseReply(Reply):
    """released is false if there was nothing of the caller's to release."""

    released: bool | None = None


class HeartbeatParams(Params):
    """Upsert the agent's one heartbeat row."""

    agent_id: str
    status: str = Field(description="idle, working or blocked")
    current_task: str | None = None
    progress: float | None = None


class AgentLiveness(Reply):
    """state: ALIVE under 30 s, WARN from 30 s, STALE from 100 s, DEAD from 300 s."""

    agent_id: str
    ts_ms: int
    age_ms: int
    state: Literal["ALIVE", "WARN", "STALE", "DEAD"]
    status: str | None = None
    current_task: str | None = None
    progress: float | None = None


class LivenessReply(Reply):
    """Every agent that ever sent a heartbeat."""

    agents: list[AgentLiveness]


class ExportReply(Reply):
    """bus.jsonl in the store folder holds every seq up to last_seq, once."""

    last_seq: int | None = None


class SaveBlobParams(Params):
    """Store JSON content by its hash."""

    content: Any


class SaveBlobReply(Reply):
    """`sha256-` and 64 hex digits."""

    ref: str


class LoadBlobParams(Params):
    """Read it back. Errors: BLOB_INVALID, BLOB_MISSING, BLOB_CORRUPT."""

    ref: str


class LoadBlobReply(Reply):
    """The content, verified against its hash."""

    content: Any


class SearchParams(Params):
    """Full-text search over type and payload; words, not query syntax."""

    query: str
    limit: int = 100


class ArchiveReply(Reply):
    """The number of messages that left the log, and the seq up to which."""

    archived: int
    below_seq: int | None = None


class StatusParams(Params):
    """The newest state_change messages and heartbeats, newest first."""

    limit: int = 100


class StatusRow(Reply):
    """A heartbeat or a change of state, as the log holds it."""

    from_agent: str
    type: str
    ts_ms: int | None = Field(default=None, description="when; another name is another choice (W13)")
    payload: Any = Field(default=None, description="the JSON value; null where it is in a blob, or no JSON")


class StatusReply(Reply):
    """By falling seq."""

    rows: list[StatusRow]


class AgentParams(Params):
    """One agent."""

    agent_id: str


class RedriveParams(Params):
    """Put a dead-lettered message back in front of its agent."""

    agent_id: str
    seq: int


class RedriveReply(Reply):
    """redriven is false if it was not in the dead letters."""

    redriven: bool


class WorkerStateParams(Params):
    """Read a worker's state."""

    worker: str


class TransitionParams(Params):
    """Compare-and-set: `from_state` must be the present state (W15). The first is null → ASSIGNED."""

    worker: str
    from_state: str | None = None
    to_state: str


class WorkerStateReply(Reply):
    """state is null for an unknown worker; changed is false for an idempotent repeat."""

    worker: str
    state: str | None = None
    changed: bool | None = None


class DumpReply(Reply):
    """The state of the store. Row keys are the seed's column names."""

    messages: list[dict[str, Any]]
    cursors: list[dict[str, Any]] = []
    task_claims: list[dict[str, Any]] = []
    heartbeats: list[dict[str, Any]] = []
    archived: list[dict[str, Any]] = Field(default=[], description="messages moved out by archive")
    dead_letters: list[dict[str, Any]] = []
    export_last_seq: int | None = None
    integrity: str | None = Field(default=None, description="`ok`, or what PRAGMA integrity_check says")


WORKER_METHODS = SESSION_METHODS | methods(
    ("publish", "log", None, PublishParams, PublishReply),
    ("publish_many", "log", "publish_many", PublishManyParams, PublishManyReply),
    ("poll", "cursor", None, PollParams, PollReply),
    ("ack", "cursor", None, AckParams, AckReply),
    ("process_loop", "retry", "process_loop", ProcessLoopParams, ProcessLoopReply),
    ("poll_intervals", "retry", "poll_intervals", PollIntervalsParams, PollIntervalsReply),
    ("try_claim_task", "lease", None, ClaimParams, ClaimReply),
    ("renew_claim", "lease", None, HolderParams, RenewReply),
    ("release_claim", "lease", None, HolderParams, ReleaseReply),
    ("heartbeat", "presence", None, HeartbeatParams, Done),
    ("liveness", "presence", None, Empty, LivenessReply),
    ("export_to_jsonl", "export", None, Empty, ExportReply),
    ("save_blob", "blob", None, SaveBlobParams, SaveBlobReply),
    ("load_blob", "blob", None, LoadBlobParams, LoadBlobReply),
    ("search", "search", None, SearchParams, PollReply),
    ("archive", "log", "archive", Empty, ArchiveReply),
    ("status", "presence", "status", StatusParams, StatusReply),
    ("dead_letters", "retry", "dead_letter", AgentParams, PollReply),
    ("redrive", "retry", "dead_letter", RedriveParams, RedriveReply),
    ("worker_state", "presence", "states", WorkerStateParams, WorkerStateReply),
    ("transition", "presence", "states", TransitionParams, WorkerStateReply),
    ("dump", None, "dump", Empty, DumpReply),
)

# Error codes of `worker`. The bool is the reference's promise in `definite`.
WORKER_ERROR_CODES = {
    "INVALID_ARGUMENT": True,
    "ID_CONFLICT": True,
    "PAYLOAD_TOO_LARGE": True,
    "BACKPRESSURE": True,
    "SCHEMA_MISMATCH": True,
    "NOT_OPEN": True,
    "BUSY": True,
    "STATE_CONFLICT": True,
    "BLOB_INVALID": True,
    "BLOB_MISSING": True,
    "BLOB_CORRUPT": True,
    "DISK_FULL": True,
    "CORRUPT": False,
    "IO_ERROR": False,
    "INTERNAL": False,
}

WORKER_TABLES = """
CREATE TABLE IF NOT EXISTS messages (
  seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, ts_ms INTEGER NOT NULL, from_agent TEXT NOT NULL,
  to_agent TEXT, type TEXT NOT NULL, correlation_id TEXT, in_reply_to TEXT, payload TEXT, payload_ref TEXT,
  CHECK (payload IS NULL OR payload_ref IS NULL));
CREATE INDEX IF NOT EXISTS idx_messages_to_seq ON messages(to_agent, seq);
CREATE INDEX IF NOT EXISTS idx_messages_correlation_seq ON messages(correlation_id, seq);
CREATE INDEX IF NOT EXISTS idx_messages_type_from_ts ON messages(type, from_agent, ts_ms);
CREATE TABLE IF NOT EXISTS cursors (
  agent_id TEXT PRIMARY KEY, last_acked_seq INTEGER NOT NULL DEFAULT 0, updated_at_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS heartbeats (
  agent_id TEXT PRIMARY KEY, ts_ms INTEGER NOT NULL, status TEXT NOT NULL, current_task TEXT, progress REAL);
CREATE TABLE IF NOT EXISTS task_claims (
  task_id TEXT PRIMARY KEY, claimed_by TEXT NOT NULL, claimed_at_ms INTEGER NOT NULL, lease_until_ms INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT OR IGNORE INTO meta (key, value) VALUES ('schema_version', '1');
CREATE TABLE IF NOT EXISTS export_state (
  id INTEGER PRIMARY KEY CHECK (id = 1), last_seq INTEGER NOT NULL DEFAULT 0);
INSERT OR IGNORE INTO export_state (id, last_seq) VALUES (1, 0);
"""

_TASK = {"key": ("params.task_id",)}
_LEASE = _TASK | {"lease_until_ms": ("reply.lease_until_ms",)}
_WORKER = {"key": ("params.worker",)}

WORKER_BOUNDS = (
    Bound(
        "agent_id worker task_id",
        *(NAME, 1, 200, "worker.limit.01"),
        limits=(("name_bytes_max", "names of agents, tasks and workers"),),
    ),
    Bound(
        "correlation_id", *(TEXT, 1, 1024, "worker.limit.01"), limits=(("text_chars_max", "other texts of a message"),)
    ),
    Bound(
        "payload",
        *(JSON, -math.inf, 4 * MIB, "worker.limit.07", "PAYLOAD_TOO_LARGE"),
        limits=(("payload_bytes_max", "JSON text of a payload; one more is PAYLOAD_TOO_LARGE"),),
    ),
    Bound("limit", WHOLE, 1, LIST_MAX, "worker.limit.05", least=0, most=INT_MAX),
    Bound("wait_ms", WHOLE, 0, DAY_S * 1000, "worker.limit.05"),
    Bound("seq token", WHOLE, 0, INT_MAX, "worker.limit.05"),
    Bound("progress", WHOLE, -INT_MAX - 1, INT_MAX, "worker.limit.05"),
    Bound("lease_ms", WHOLE, 1, 2**53, "worker.limit.05"),
    Bound("unread_max deliveries_max", WHOLE, 1, INT_MAX, "worker.limit.05"),
)

CONTRACT = Contract(
    system="worker",
    methods=WORKER_METHODS,
    features=WORKER_FEATURES,
    error_codes=WORKER_ERROR_CODES,
    profiles={
        "core": ("log", "cursor", "route", "lease", "presence"),
        "full": ("log", "cursor", "route", "lease", "presence", "blob", "retry", "limit", "search", "export"),
    },
    store=PurePosixPath("bus.db"),
    tables=WORKER_TABLES,
    participant="busproof.bus.sqlite_worker:WorkerParticipant",
    reference="refbus.driver",
    callers=("agent_id",),
    options={
        "unread_max": "feature backpressure: so many unread messages of one recipient, and publish is refused",
        "deliveries_max": "feature dead_letter: handed out so often without an ack, and a message is set aside",
        "signing_key": "feature signing: the key of the HMAC that goes with each message",
        "lease_ms": "how long a claim lasts, instead of 60 s; a bus need not know it",
        "synchronous": "feature synchronous: with FULL nothing acknowledged is lost with the power",
    },
    bounds=WORKER_BOUNDS,
    limits=bounds.limits(WORKER_BOUNDS) | {"inline_payload_bytes_max": "what is longer goes to a blob"},
    usual={
        "idempotent_publish": "log",
        "broadcast": "route",
        "late_readers": "route",
        "self_delivery": "route",
        "any_name": "route",
    },
    columns={
        "publish": {"key": ("reply.id", "params.message.id"), "seq": ("reply.seq",)},
        "ack": {"seq": ("params.seq",)},
        "redrive": {"seq": ("params.seq",)},
        "try_claim_task": _LEASE | {"token": ("reply.token",), "granted": ("reply.claimed",)},
        "renew_claim": _LEASE | {"token": ("params.token",), "granted": ("reply.renewed",)},
        "release_claim": _TASK | {"token": ("params.token",), "granted": ("reply.released",)},
        "save_blob": {"key": ("reply.ref",)},
        "worker_state": _WORKER,
        "transition": _WORKER,
    },
    trials={
        "publish": {"agent_id": "doctor", "message": {"id": "d1", "type": "note", "to": "doctor", "payload": {"n": 1}}},
        "poll": {"agent_id": "doctor", "limit": 10},
        "ack": {"agent_id": "doctor", "seq": 0},
        "try_claim_task": {"task_id": "doctor-task", "agent_id": "doctor"},
        "renew_claim": {"task_id": "doctor-task", "agent_id": "doctor"},
        "release_claim": {"task_id": "doctor-task", "agent_id": "doctor"},
        "heartbeat": {"agent_id": "doctor", "status": "idle"},
        "liveness": {},
        "export_to_jsonl": {},
        "save_blob": {"content": {"n": 1}},
        "search": {"query": "note", "limit": 10},
        "publish_many": {"agent_id": "doctor", "messages": [{"type": "note"}]},
        "process_loop": {"agent_id": "doctor", "limit": 1, "fail_ids": []},
        "poll_intervals": {"polls": [True, False]},
        "status": {"limit": 10},
        "archive": {},
        "dead_letters": {"agent_id": "doctor"},
        "worker_state": {"worker": "doctor"},
        "dump": {},
    },
)
