"""`relay`: seed 002. The contract is a folder: agents only write and read files in it, and the kit plays them itself.

A door is the orchestrator alone. `scan` makes one whole pass over the folder (2.2, phases 1 to 4, and the archive) and
answers when it is over, so nothing sleeps: with the manual clock a kit says when a file has settled. An orchestrator
that has no such door is started on the folder and runs by itself, on the wall clock; the kit then looks at the folder.

Time of the manual clock: `clock.set` is the wall clock; the monotonic one is the sum of its moves forward.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from pydantic import Field

from busproof.contract.bounds import MIB
from busproof.contract.common import SESSION_METHODS, Contract, Done, Empty, Params, Reply, methods

RELAY_FEATURES = {
    "scan": "one pass on request, and no pass without one",
    "audit": "tells its audit records",
    "dump": "tells its ledger",
    "backup": "copies its ledger while it runs, and puts a copy back",
    "metrics": "tells its metrics in the text form of Prometheus",
    "synchronous": "option synchronous = FULL: with it the bus holds power-loss, whatever it declares without",
    "sqlite": "ledger.db is an SQLite database with the seed's tables",
    "spawn": "starts and ends processes of agents",
}


class ScanReply(Reply):
    """The results of one pass, in rows of the ledger unless said otherwise."""

    discovered: int = Field(description="files that were new")
    completed: int = Field(description="messages that are done, archived ones included")
    failed: int = Field(description="messages that will not be tried again")
    retried: int = Field(description="messages that failed and wait for their next attempt")
    refused: int = Field(description="audit records that were added")


class AgentState(Reply):
    """One agent."""

    name: str
    status: str = Field(description="active, inactive or terminated")


class StatusReply(Reply):
    """How many messages are in each state, and the agents by name."""

    pending: int
    processing: int
    completed: int
    failed: int
    archived: int
    agents: list[AgentState]


class AuditRecord(Reply):
    """Something that was refused, removed or is odd. `path` is relative to the folder."""

    id: int
    at_ms: int
    event: str
    path: str
    detail: str | None = None


class AuditReply(Reply):
    """In the order of their ids."""

    records: list[AuditRecord]


class RelayDump(Reply):
    """The ledger: the seed's four tables, and the bus's own tables beside them."""

    messages: list[dict[str, Any]]
    agents: list[dict[str, Any]]
    orchestrator_state: list[dict[str, Any]]
    pending_operations: list[dict[str, Any]]
    subscriptions: list[dict[str, Any]] = []
    continuity: list[dict[str, Any]] = []
    audit: list[dict[str, Any]] = []


class BackupParams(Params):
    """Where the copy is written, or taken from."""

    path: str = Field(description="absolute path of a file")


class MetricsReply(Reply):
    """In the text form of Prometheus."""

    text: str


RELAY_METHODS = SESSION_METHODS | methods(
    ("scan", "log", None, Empty, ScanReply),
    ("status", "presence", None, Empty, StatusReply),
    ("audit", "limit", "audit", Empty, AuditReply),
    ("dump", "log", "dump", Empty, RelayDump),
    ("backup", "export", "backup", BackupParams, Done),
    ("restore", "export", "backup", BackupParams, Done),
    ("metrics", "export", "metrics", Empty, MetricsReply),
)

RELAY_ERROR_CODES = {
    "LOCKED": True,  # another orchestrator lives on this folder
    "INVALID_ARGUMENT": True,
    "SCHEMA_MISMATCH": True,
    "BUSY": False,  # of a pass: a part may have been done
    "DISK_FULL": False,
    "IO_ERROR": False,
    "CORRUPT": False,
    "NOT_OPEN": True,
    "INTERNAL": False,
}

# The first word of `messages.last_error` of a message that failed.
REASONS = {
    "malformed": "no message: a header is missing, bad or doubled, or it is no UTF-8",
    "empty": "no bytes",
    "too_large": "more bytes than a message may have; it is never read",
    "checksum_mismatch": "the body is not what CHECKSUM says",
    "attachment_missing": "no such file among the attachments",
    "attachment_corrupt": "the attachment's content has another hash, or it is no regular file",
    "bad_address": "TO is no agent's name, *, #channel, Lead or __orchestrator__",
    "unknown_agent": "nobody of this name, or nobody any more",
    "no_lead": "no lead agent is configured, or it is unknown",
    "misdirected": "a request that only __orchestrator__ answers, sent to somebody else",
    "bad_request": "the body of a request lacks a field, or a field is bad",
    "denied": "CLI, WORKING_DIR or ENV is not allowed by config.json (R5)",
    "agent_exists": "an agent of this name is there",
    "spawn_failed": "the program could not be started",
    "file_disappeared": "the file went before it was done",
}

# `event` of an audit record. Such a file stays where it is, and gets no row.
AUDIT_EVENTS = {
    "symlink": "a symbolic link where a file or folder should be (R8)",
    "not_regular": "a fifo, folder, device or socket where a file should be",
    "hard_link": "a file with more than one name",
    "bad_file_name": "a .msg in an outbox that is not timestamp-uuid.msg",
    "name_reused": "another file under a name that was used (R3)",
    "bad_agent_name": "a folder of agents/ whose name no agent may have",
    "orphan_removed": "a temporary file that nobody finished was deleted",
    "rate_limited": "an agent's files wait: it sends too many",
    "clock_back": "the clock is behind the pass before",
}

RELAY_TABLES = """
CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY AUTOINCREMENT, message_id TEXT UNIQUE NOT NULL,
  agent_name TEXT NOT NULL, direction TEXT NOT NULL, file_path TEXT NOT NULL, file_size INTEGER NOT NULL,
  file_mtime_ns INTEGER NOT NULL, file_inode INTEGER, checksum TEXT, status TEXT NOT NULL DEFAULT 'pending',
  message_type TEXT, target TEXT, discovered_at INTEGER NOT NULL, processed_at INTEGER,
  retry_count INTEGER DEFAULT 0, last_error TEXT, UNIQUE (file_path));
CREATE INDEX IF NOT EXISTS idx_messages_status ON messages (status);
CREATE INDEX IF NOT EXISTS idx_messages_agent ON messages (agent_name, direction);
CREATE INDEX IF NOT EXISTS idx_messages_discovered ON messages (discovered_at);
CREATE TABLE IF NOT EXISTS orchestrator_state (key TEXT PRIMARY KEY, value TEXT, updated_at INTEGER);
CREATE TABLE IF NOT EXISTS agents (name TEXT PRIMARY KEY, registered_at INTEGER NOT NULL, last_seen_at INTEGER,
  pid INTEGER, status TEXT DEFAULT 'active');
CREATE TABLE IF NOT EXISTS pending_operations (id INTEGER PRIMARY KEY AUTOINCREMENT, operation_type TEXT NOT NULL,
  payload TEXT NOT NULL, created_at INTEGER NOT NULL, completed_at INTEGER);
"""

# The options of open as they are unless said, which are the numbers of the seed.
DEFAULTS: dict[str, Any] = {
    "settle_ms": 100,
    "malformed_ms": 5_000,
    "orphan_ms": 30_000,
    "message_bytes_max": MIB,
    "retries_max": 3,
    "retry_ms": 1_000,
    "rate_per_min": 6_000,
    "retention_days": 30,
    "agent_timeout_ms": 3_600_000,
    "archive": True,
}

CONTRACT = Contract(
    system="relay",
    methods=RELAY_METHODS,
    features=RELAY_FEATURES,
    error_codes=RELAY_ERROR_CODES,
    profiles={
        "core": ("log", "cursor", "route", "blob", "limit"),
        "full": ("log", "cursor", "lease", "route", "presence", "blob", "retry", "limit", "export"),
    },
    store=PurePosixPath("ledger.db"),
    tables=RELAY_TABLES,
    reference="refbus.driver",
    options={
        "synchronous": "feature synchronous: with FULL nothing acknowledged is lost with the power",
        "settle_ms": "a file younger than this may still be written, and waits",
        "malformed_ms": "a file that cannot be read is a failure once it is older",
        "orphan_ms": "a file in .pending that is older is deleted",
        "message_bytes_max": "a larger file is failed unread",
        "retries_max": "attempts after the first",
        "retry_ms": "before the first of them; doubled each time",
        "rate_per_min": "messages of one sender",
        "retention_days": "of the archive",
        "agent_timeout_ms": "a silent agent is inactive after this",
        "archive": "true: handled messages move to the archive",
    },
    limits={"message_bytes_max": "a larger file is failed unread"},
    trials={"scan": {}, "status": {}, "audit": {}, "metrics": {}, "dump": {}},
)
