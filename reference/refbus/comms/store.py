"""The base of every noun of the bus: a project's folders, its database, a clock, and the session's options."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any, TypedDict

from refbus.kernel import iso
from refbus.kernel.clock import Clock
from refbus.kernel.errors import SchemaMismatch
from refbus.kernel.files import atomic_write, existing_folder, make_folder
from refbus.kernel.rules import bucket, delivery
from refbus.kernel.rules import limit as limits
from refbus.kernel.schema import Schema
from refbus.kernel.store import Store as Base

DB_NAME = "messages.db"
PROTOCOL_VERSION = "1.0"
# The seed's "required pragmas on every connection"; journal_mode, synchronous and busy_timeout are the kernel's.
PRAGMAS = ("PRAGMA cache_size = -64000",)
SCHEMA = Schema.of_folder(Path(__file__).parent)
JITTER_MAX = 1000  # a factor
RATE_MAX = 1e12  # tokens; more could not be counted in a double
SECONDS_MAX = 10 * 365 * 24 * 60 * 60


class Options(TypedDict, total=False):
    """The options that a session may be opened with."""

    clock: Clock | None  # default: the wall clock
    synchronous: str  # NORMAL survives the death of a process, FULL a power cut as well
    visibility_ms: int  # how long a claim lives: 60 s (C2)
    retry_jitter: float | None  # the factor of every retry delay; default: drawn from 0.5 to 1.5 each time (C1)
    rate_capacity: float  # tokens of a full bucket: 100
    rate_refill_per_s: float  # tokens a second: 10


class Dumped(TypedDict):
    """dump: rows of the tables by column, and SQLite's opinion of its file (`ok`)."""

    messages: list[dict[str, Any]]
    deliveries: list[dict[str, Any]]
    dead_letter_queue: list[dict[str, Any]]
    channel_subscriptions: list[dict[str, Any]]
    agent_status: list[dict[str, Any]]
    vote_casts: list[dict[str, Any]]
    integrity: str


class Store(Base):
    """An open project: the folders under `.claude` and the database in it. Threads may share it."""

    def __init__(
        self,
        project_root: Path | str,
        *,
        clock: Clock | None = None,
        synchronous: str = "NORMAL",
        visibility_ms: int = delivery.VISIBILITY_MS,
        retry_jitter: float | None = None,
        rate_capacity: float = bucket.CAPACITY,
        rate_refill_per_s: float = bucket.REFILL_PER_S,
    ) -> None:
        self.root = existing_folder("project_root", project_root)
        self.folder = self.root / ".claude" / "communications"
        self.artifacts = self.root / ".claude" / "artifacts"
        super().__init__(self.folder / DB_NAME, clock=clock, synchronous=synchronous, pragmas=PRAGMAS)
        self.visibility_ms = limits.integer("visibility_ms", visibility_ms, 1, SECONDS_MAX * 1_000)
        self.rate_capacity = limits.number("rate_capacity", rate_capacity, 0, RATE_MAX)
        self.rate_refill_per_s = limits.number("rate_refill_per_s", rate_refill_per_s, 0, RATE_MAX)
        self.retry_jitter = None if retry_jitter is None else limits.number("retry_jitter", retry_jitter, 0, JITTER_MAX)
        for folder in (self.root / ".claude", self.folder):
            make_folder(folder)
        agree_on_version(self.folder / "protocol_version.txt")
        make_folder(self.artifacts)
        self.open(SCHEMA)

    def dump(self) -> Dumped:
        """Every table that says what happened, and SQLite's opinion of its file."""
        with self.snapshot() as tx:
            return {
                "messages": tx.dicts("SELECT * FROM messages ORDER BY rowid"),
                "deliveries": tx.dicts("SELECT * FROM message_deliveries ORDER BY message_id, agent_id"),
                "dead_letter_queue": tx.dicts("SELECT * FROM dead_letter_queue ORDER BY id"),
                "channel_subscriptions": tx.dicts(
                    "SELECT * FROM channel_subscriptions ORDER BY channel_name, agent_id"
                ),
                "agent_status": tx.dicts("SELECT * FROM agent_status ORDER BY agent_id"),
                "vote_casts": tx.dicts("SELECT * FROM vote_casts ORDER BY vote_id, agent_id"),
                "integrity": tx.integrity(),
            }

    def now(self) -> str:
        """The time as text, for an operation that is one statement or only reads."""
        return iso.text(self.clock.now_us())

    def jitter(self) -> float:
        """The injected source of jitter, or a random one (C1)."""
        if self.retry_jitter is not None:
            return self.retry_jitter
        return random.uniform(delivery.JITTER_LOW, delivery.JITTER_HIGH)


def agree_on_version(path: Path) -> None:
    """Write our protocol version where there is none; raise SCHEMA_MISMATCH where there is another."""
    try:
        version = path.read_bytes()
    except FileNotFoundError:
        atomic_write(path, PROTOCOL_VERSION.encode())
        return
    except OSError as error:
        raise SchemaMismatch(f"protocol_version.txt cannot be read: {error}") from error
    if version.strip() != PROTOCOL_VERSION.encode():
        raise SchemaMismatch(f"protocol_version.txt says {version!a:.40}; this program speaks {PROTOCOL_VERSION}")


def initialize_communication_system(project_root: str) -> None:
    """Create the folders, the database with its schema, and WAL mode; an existing one is left as it is."""
    Store(project_root).close()
