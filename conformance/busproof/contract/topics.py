"""`topics`: seed 004, section 4. The methods are the ten tools of an MCP server; there is no other door.

A reply is described as far as the seed or a decision names it; a server may say more.
"""

from __future__ import annotations

import math
from pathlib import PurePosixPath
from typing import Any, Literal

from pydantic import Field

from busproof.contract.bounds import BODY, DAY_S, INT_MAX, LIST, TEXT, WHOLE, Bound, Kind
from busproof.contract.common import SESSION_METHODS, Contract, Empty, Noun, Params, Reply, ToolServer, methods

# A store is a folder; AGENT_BUS_DB names this file in it.
DB_NAME = "agent_bus.sqlite"

TOPICS_FEATURES = {"sqlite": "AGENT_BUS_DB names an SQLite database with the seed's tables (schema 6)"}

# Which tools make a noun. `limit` and `cursor` are sides of sync.
TOOL_NOUNS: tuple[tuple[str, Noun], ...] = (
    ("sync", "log"),
    ("sync", "cursor"),
    ("topic_create", "route"),
    ("topic_join", "lease"),
    ("topic_presence", "presence"),
    ("messages_search", "search"),
    ("sync", "limit"),
)


class PingReply(Reply):
    """The server lives."""

    ok: Literal[True]
    spec_version: str
    package_version: str


class TopicCreateParams(Params):
    """mode `reuse`: the newest open topic of that name, if there is one."""

    name: str | None = None
    metadata: dict[str, Any] | None = None
    mode: Literal["reuse", "new"] | None = None


class TopicReply(Reply):
    """One topic."""

    topic_id: str
    name: str
    status: Literal["open", "closed"]


class TopicListParams(Params):
    """Open ones, unless asked otherwise."""

    status: Literal["open", "closed", "all"] | None = None


class TopicListReply(Reply):
    """The newest first."""

    topics: list[TopicReply]


class TopicResolveParams(Params):
    """The newest open topic of that name; with allow_closed the newest closed one, if none is open."""

    name: str
    allow_closed: bool | None = None


class TopicCloseParams(Params):
    """Nothing can be sent any more."""

    topic_id: str
    reason: str | None = None


class TopicCloseReply(Reply):
    """A second close changes nothing, and warns ALREADY_CLOSED."""

    topic_id: str
    status: Literal["closed"]
    warnings: list[dict[str, Any]] = []


class TopicJoinParams(Params):
    """Exactly one of topic_id and name."""

    agent_name: str
    topic_id: str | None = None
    name: str | None = None
    allow_closed: bool | None = None
    reclaim_token: str | None = None


class TopicJoinReply(TopicReply):
    """reclaim_token brings the name back after a restart."""

    agent_name: str
    reclaim_token: str


class TopicPresenceParams(Params):
    """The peers that synced lately."""

    topic_id: str
    window_seconds: int | None = None
    limit: int | None = None


class Peer(Reply):
    """One peer."""

    agent_name: str
    last_seq: int
    updated_at: float
    age_seconds: float


class TopicPresenceReply(Reply):
    """The latest first."""

    peers: list[Peer]


class CursorResetParams(Params):
    """0 replays the topic."""

    topic_id: str
    last_seq: int | None = None


class CursorReply(Reply):
    """Where a reader stands."""

    last_seq: int
    updated_at: float


class CursorResetReply(Reply):
    """The cursor afterwards."""

    cursor: CursorReply


class MessagesSearchParams(Params):
    """Across topics or in one; nobody needs to join."""

    query: str
    topic_id: str | None = None
    mode: Literal["hybrid", "fts", "semantic"] | None = None
    limit: int | None = None
    model: str | None = None
    include_content: bool | None = None


class SearchResult(Reply):
    """One match; content_markdown with include_content."""

    topic_id: str
    topic_name: str
    message_id: str
    seq: int
    sender: str
    message_type: str
    created_at: float
    snippet: str
    content_markdown: str | None = None


class MessagesSearchReply(Reply):
    """Warnings tell of degraded results (B9)."""

    results: list[SearchResult]
    warnings: list[dict[str, Any]] = []


class TopicMessage(Reply):
    """A message as its reader sees it."""

    message_id: str
    topic_id: str
    seq: int
    sender: str
    message_type: str
    reply_to: str | None
    metadata: dict[str, Any] | None
    client_message_id: str | None
    created_at: float
    content_markdown: str


class SyncParams(Params):
    """Send and receive. auto_advance: at most once; ack_through: at least once (B4)."""

    topic_id: str
    outbox: list[dict[str, Any]] | None = Field(
        default=None, description="content_markdown, message_type, reply_to, metadata, client_message_id; at most 50"
    )
    max_items: int | None = None
    include_self: bool | None = None
    wait_seconds: int | None = None
    auto_advance: bool | None = None
    ack_through: int | None = None


class SentRecord(Reply):
    """A message that is stored; duplicate: it was before."""

    message: TopicMessage
    duplicate: bool = False


class SyncReply(Reply):
    """Oldest first."""

    received: list[TopicMessage]
    sent: list[SentRecord]
    cursor: CursorReply
    status: Literal["ready", "timeout", "empty"]
    has_more: bool | None = None
    warnings: list[dict[str, Any]] = []


class ToolsReply(Reply):
    """tools/list, as JSON."""

    tools: list[dict[str, Any]]


TOPICS_METHODS = SESSION_METHODS | methods(
    ("tools.list", "log", None, Empty, ToolsReply),
    ("ping", "log", None, Empty, PingReply),
    ("topic_create", "route", None, TopicCreateParams, TopicReply),
    ("topic_list", "route", None, TopicListParams, TopicListReply),
    ("topic_resolve", "route", None, TopicResolveParams, TopicReply),
    ("topic_close", "route", None, TopicCloseParams, TopicCloseReply),
    ("topic_join", "lease", None, TopicJoinParams, TopicJoinReply),
    ("topic_presence", "presence", None, TopicPresenceParams, TopicPresenceReply),
    ("cursor_reset", "cursor", None, CursorResetParams, CursorResetReply),
    ("messages_search", "search", None, MessagesSearchParams, MessagesSearchReply),
    ("sync", "log", None, SyncParams, SyncReply),
)

# All of the seed's errors come before anything is written; an error of another name promises nothing.
TOPICS_ERROR_CODES = {
    "TOPIC_NOT_FOUND": True,
    "TOPIC_CLOSED": True,
    "AGENT_NAME_IN_USE": True,
    "INVALID_ARGUMENT": True,
    "DB_BUSY": True,
    "DB_SCHEMA_MISMATCH": True,
    "AGENT_NOT_JOINED": True,
}

TOPICS_TABLES = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT);
INSERT OR IGNORE INTO meta (key, value) VALUES ('schema_version', '6');
CREATE TABLE IF NOT EXISTS topics (topic_id TEXT PRIMARY KEY, name TEXT, created_at REAL, status TEXT,
  closed_at REAL NULL, close_reason TEXT NULL, metadata_json TEXT NULL);
CREATE INDEX IF NOT EXISTS idx_topics_name_status_created_at ON topics (name, status, created_at);
CREATE TABLE IF NOT EXISTS topic_seq (topic_id TEXT PRIMARY KEY, next_seq INTEGER, updated_at REAL);
CREATE TABLE IF NOT EXISTS messages (message_id TEXT PRIMARY KEY, topic_id TEXT, seq INTEGER, sender TEXT,
  message_type TEXT, reply_to TEXT NULL, content_markdown TEXT, metadata_json TEXT NULL,
  client_message_id TEXT NULL, created_at REAL, UNIQUE (topic_id, seq));
CREATE INDEX IF NOT EXISTS idx_messages_topic_seq ON messages (topic_id, seq);
CREATE INDEX IF NOT EXISTS idx_messages_topic_reply_to ON messages (topic_id, reply_to);
CREATE TABLE IF NOT EXISTS cursors (topic_id TEXT, agent_name TEXT, last_seq INTEGER, updated_at REAL,
  PRIMARY KEY (topic_id, agent_name));
CREATE TABLE IF NOT EXISTS agent_name_reservations (topic_id TEXT, agent_name TEXT, reclaim_token TEXT,
  created_at REAL, last_claimed_at REAL, PRIMARY KEY (topic_id, agent_name));
"""


def _at_most(fields: str, kind: Kind, low: float, high: float, row: str, cap: str = "") -> Bound:
    """A bound whose high no sentence sets, or only a cap, which another bus may not have."""
    return Bound(fields, kind, low, high, row, most=math.inf, refuses="above", cap=cap)


TOPICS_BOUNDS = (
    _at_most("content_markdown", BODY, 1, 65_536, "topics.limit.02", "topics.limit.02"),
    _at_most("outbox", LIST, 0, 50, "topics.limit.01", "topics.limit.01"),
    _at_most("message_type", TEXT, 1, 32, "topics.limit.03", "topics.limit.03"),
    _at_most("client_message_id", TEXT, 1, 128, "topics.limit.04", "topics.limit.04"),
    _at_most("agent_name", TEXT, 1, 64, "topics.lease.05", "topics.limit.05"),
    _at_most("topic_id name model reclaim_token", TEXT, 1, 1024, "topics.route.19"),
    _at_most("reply_to", TEXT, 1, 1024, "topics.log.59"),
    _at_most("reason", BODY, 1, 1024, "topics.route.19"),
    _at_most("query", BODY, 1, 1024, "topics.search.07"),
    _at_most("max_items", WHOLE, 1, 20, "topics.limit.07", "topics.limit.06"),
    _at_most("wait_seconds", WHOLE, 0, DAY_S, "topics.limit.07"),
    _at_most("window_seconds", WHOLE, 1, INT_MAX, "topics.presence.06"),
    _at_most("topic_presence.limit", WHOLE, 1, INT_MAX, "topics.presence.07"),
    _at_most("messages_search.limit", WHOLE, 1, 1000, "topics.search.08"),
    _at_most("ack_through", WHOLE, 0, INT_MAX, "topics.cursor.16"),
    _at_most("last_seq", WHOLE, 0, INT_MAX, "topics.cursor.44"),
)

CONTRACT = Contract(
    system="topics",
    methods=TOPICS_METHODS,
    features=TOPICS_FEATURES,
    error_codes=TOPICS_ERROR_CODES,
    profiles={
        "core": ("log", "cursor", "route", "lease"),
        "full": ("log", "cursor", "route", "lease", "presence", "search", "limit"),
    },
    store=PurePosixPath(DB_NAME),
    tables=TOPICS_TABLES,
    participant="busproof.bus.sqlite_topics:TopicsParticipant",
    reference="refbus.topics.mcp.server",
    scheme="mcp",
    server=ToolServer(
        store_variable="AGENT_BUS_DB",
        environment={"AGENT_BUS_EMBEDDINGS_AUTOINDEX": "0"},
        nouns=TOOL_NOUNS,
        trial=("topic_create", {"name": "hello"}),
        # Many servers leave the handshake's version to their SDK, which says its own; ping says the package's.
        version=("ping", "package_version"),
    ),
    busy="DB_BUSY",
    bounds=TOPICS_BOUNDS,
    trials={
        "ping": {},
        "topic_create": {"name": "doctor"},
        "topic_resolve": {"name": "doctor"},
        "topic_list": {},
        "messages_search": {"query": "doctor"},
    },
)
