"""The queue on an SQLite file: the embedded default (T7).

Writers of one file take turns, so the head of a chain that is read in a transaction is the head that is written to:
two writers never fork a chain (T6).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from refbus.kernel.clock import Clock
from refbus.kernel.errors import Corrupt, IdConflict, InvalidArgument
from refbus.kernel.schema import Schema
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction
from refbus.timeline import keys, token
from refbus.timeline.filters import Filter
from refbus.timeline.message import Draft, Node, Place, chained, shown
from refbus.timeline.queue import Branch, Delivery, Origin, Queue, other_content

DB_NAME = "timeline.db"
SCHEMA = Schema((Path(__file__).parent / "schema.sql").read_text("utf-8"), "")
# In a record of a million messages the index of subjects alone has some 100 MB; its inner pages should stay.
PRAGMAS = ("PRAGMA cache_size = -64000",)
_DELIVERY = re.compile(r"([^:\s]{1,400}):([1-9][0-9]{0,17}):([1-9][0-9]{0,8})", re.ASCII)


class SqliteQueue(Queue):
    """`timeline.db` in an existing folder."""

    def __init__(self, folder: Path, *, clock: Clock, synchronous: str = "NORMAL", ack_wait_ms: int) -> None:
        self.store = Store(folder / DB_NAME, clock=clock, synchronous=synchronous, pragmas=PRAGMAS)
        self.ack_wait_us = ack_wait_ms * 1_000
        self.store.open(SCHEMA)

    def append(self, draft: Draft, origin: Origin | None = None, start: Place | None = None) -> tuple[Node, bool]:
        with self.store.transaction() as tx:
            known = _find(tx, draft.subject, draft.nonce)
            if known is not None:
                if not known.is_whole:
                    raise Corrupt(f"{draft.subject:.200} was sent before, and is damaged")
                if known.content != (draft.nonce, draft.state, draft.payload):
                    raise other_content(draft, origin)
                return known, True
            last = tx.row("SELECT number, hash FROM timelines WHERE timeline = ?", (draft.timeline,))
            if last is not None and origin is not None:
                raise IdConflict(f"timeline {draft.key.timeline!r:.100} exists")
            head = Place(*last) if last else start or Place()
            if (type(head.number), type(head.hash)) != (int, str):
                raise Corrupt(f"the head of timeline {draft.key.timeline!r:.100} is damaged")
            node = chained(draft, head, tx.now_us)
            self.insert(tx, draft, node)
            self.set_head(tx, Branch(draft.timeline, origin, node.place))
            return node, False

    def insert(self, tx: Transaction, draft: Draft, node: Node) -> None:
        """The message's row."""
        tx.execute(
            "INSERT INTO messages (timeline, submission, type, number, subject, nonce, state, payload, time_us,"
            " previous, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (draft.timeline, token.encode(draft.key.submission), keys.TOKENS[type(draft.key)], *node),
        )

    def set_head(self, tx: Transaction, branch: Branch) -> None:
        """The timeline ends there now; where it began is said once."""
        tx.execute(
            "INSERT INTO timelines (timeline, parent, at, number, hash) VALUES (?, ?, ?, ?, ?)"
            " ON CONFLICT (timeline) DO UPDATE SET number = excluded.number, hash = excluded.hash",
            (branch.timeline, *(branch.origin or (None, None)), *branch.last),
        )

    def find(self, subject: str, nonce: str | None = None, wait_s: float = 0) -> Node | None:
        if wait_s > 0:
            return self.store.wait_for(lambda: self.find(subject, nonce), wait_s)
        row = self.store.db.row(_FIND, (subject, nonce or ""))
        return None if row is None else Node(*row)

    def read(self, timeline: str, after: int, limit: int, submission: str | None = None) -> list[Node]:
        values = {"timeline": timeline, "after": after, "limit": limit, "submission": submission}
        return [Node(*row) for row in self.store.db.rows(_READ, values)]

    def branch(self, timeline: str) -> Branch | None:
        row = self.store.db.row(
            "SELECT timeline, parent, at, number, hash FROM timelines WHERE timeline = ?", (timeline,)
        )
        return None if row is None else _branch(row)

    def branches(self) -> list[Branch]:
        rows = self.store.db.rows("SELECT timeline, parent, at, number, hash FROM timelines ORDER BY timeline")
        return [_branch(row) for row in rows]

    def take(self, wanted: Filter, wait_s: float = 0) -> Delivery | None:
        """See Queue. Only looks, without a lock, where there is nothing to take."""
        if wait_s > 0:
            return self.store.wait_for(lambda: self.take(wanted), wait_s)
        name = wanted.consumer
        with self.store.snapshot() as tx:
            if _due(tx, name) is None and _next(tx, name, wanted) is None:
                return None
        with self.store.transaction() as tx:
            position, deliveries = _due(tx, name) or (_next(tx, name, wanted), 0)
            if position is None:
                return None
            if deliveries == 0:
                tx.execute("INSERT OR REPLACE INTO consumers (consumer, floor) VALUES (?, ?)", (name, position))
            tx.execute(
                "INSERT OR REPLACE INTO deliveries (consumer, position, delivery_count, visible_at_us)"
                " VALUES (?, ?, ?, ?)",
                (name, position, deliveries + 1, tx.now_us + self.ack_wait_us),
            )
            node = Node(*tx.row(_BY_POSITION, (position,)))
        return Delivery(node, f"{name}:{position}:{deliveries + 1}", deliveries + 1)

    def ack(self, delivery: str) -> None:
        """See Queue. Also by a worker whose time was over: the work is done."""
        name, position, _ = _parts(delivery)
        self.store.db.write("DELETE FROM deliveries WHERE consumer = ? AND position = ?", (name, position))

    def nak(self, delivery: str) -> None:
        """See Queue. Only by the worker that has it now."""
        self.store.db.write(
            "UPDATE deliveries SET visible_at_us = 0 WHERE consumer = ? AND position = ? AND delivery_count = ?",
            _parts(delivery),
        )

    def extend(self, delivery: str) -> None:
        with self.store.transaction() as tx:
            tx.execute(
                "UPDATE deliveries SET visible_at_us = ? WHERE consumer = ? AND position = ? AND delivery_count = ?",
                (tx.now_us + self.ack_wait_us, *_parts(delivery)),
            )

    def held(self) -> list[dict[str, object]]:
        with self.store.snapshot() as tx:
            return tx.dicts("SELECT * FROM deliveries ORDER BY consumer, position")

    def contradictions(self) -> list[tuple[str, int, str]]:
        """See Queue. The columns that messages are found by, against the subject; arrival against the chain."""
        with self.store.snapshot() as tx:
            return [
                *((*row, "a column is not what the subject says") for row in tx.rows(_ASTRAY)),
                *((*row, "it arrived before the one it follows") for row in tx.rows(_OUT_OF_ORDER)),
                *((*row, "its timeline is not there") for row in tx.rows(_HOMELESS)),
                *((*row, "of its parent and its fork point one is missing") for row in tx.rows(_HALF_BEGUN)),
            ]

    def integrity(self) -> str:
        with self.store.snapshot() as tx:
            return tx.integrity()

    def close(self) -> None:
        self.store.close()


def _find(tx: Transaction, subject: str, nonce: str | None) -> Node | None:
    row = tx.row(_FIND, (subject, nonce or ""))
    return None if row is None else Node(*row)


def _due(tx: Transaction, consumer: str) -> tuple[int, int] | None:
    """The oldest message whose worker did not acknowledge it in time, and how often it was delivered."""
    due: tuple[int, int] | None = tx.row(_DUE, (consumer, tx.now_us))
    return due


def _next(tx: Transaction, consumer: str, wanted: Filter) -> int | None:
    """The first message behind the floor that the filter means."""
    row = tx.row(
        "SELECT position FROM messages INDEXED BY messages_by_type"
        " WHERE type = :type AND subject GLOB :glob AND typeof(number) = 'integer'"
        " AND position > coalesce((SELECT floor FROM consumers WHERE consumer = :consumer), 0)"
        " ORDER BY position LIMIT 1",
        {"type": keys.TOKENS[wanted.kind], "glob": wanted.glob, "consumer": consumer},
    )
    return None if row is None else int(row[0])


def _branch(row: tuple[Any, ...]) -> Branch:
    timeline, parent, at, number, hash_ = map(shown, row)
    number, at = (-1 if isinstance(value, str) else value for value in (number, at))  # no number: the end of no chain
    origin = None if parent is None or at is None else Origin(parent, at)
    return Branch(timeline, origin, Place(number, hash_))


def _parts(delivery: object) -> tuple[str, int, int]:
    parts = _DELIVERY.fullmatch(delivery) if isinstance(delivery, str) else None
    if parts is None:
        raise InvalidArgument(f"delivery must be what fetch gave, not {delivery!a:.80}")
    return parts[1], int(parts[2]), int(parts[3])


# A message that another program deleted meanwhile, or took the number of, comes to nobody, and hides nothing behind it.
# Each is asked for by its position: a list of all sound ones would be made anew at every fetch.
_DUE = """
    SELECT position, delivery_count FROM deliveries
    WHERE consumer = ? AND visible_at_us <= ? AND EXISTS
        (SELECT 1 FROM messages WHERE messages.position = deliveries.position AND typeof(number) = 'integer')
    ORDER BY position LIMIT 1
"""

_FIND = """
    SELECT number, subject, nonce, state, payload, time_us, previous, hash FROM messages
    WHERE subject = ? AND coalesce(nonce, '') = ?
"""

_READ = """
    SELECT number, subject, nonce, state, payload, time_us, previous, hash FROM messages
    WHERE timeline = :timeline AND number > :after AND typeof(number) = 'integer'
    AND (:submission IS NULL OR submission = :submission)
    ORDER BY number LIMIT :limit
"""

_BY_POSITION = """
    SELECT number, subject, nonce, state, payload, time_us, previous, hash FROM messages WHERE position = ?
"""

_ASTRAY = """
    SELECT CAST(timeline AS TEXT), CAST(number AS INTEGER) FROM messages
    WHERE substr(subject, 1, length(timeline || submission || type) + 11)
          <> 'vlinder.' || timeline || '.' || submission || '.' || type || '.'
       OR 'blob' IN (typeof(timeline), typeof(submission), typeof(type), typeof(subject), typeof(nonce), typeof(state))
       OR typeof(number) <> 'integer' OR '' IN (nonce, state)
"""

_HOMELESS = """
    SELECT CAST(timeline AS TEXT), CAST(min(number) AS INTEGER) FROM messages
    WHERE timeline NOT IN (SELECT timeline FROM timelines) GROUP BY timeline
"""

_HALF_BEGUN = """
    SELECT CAST(timeline AS TEXT), CAST(number AS INTEGER) FROM timelines
    WHERE (parent IS NULL) <> (at IS NULL)
"""

_OUT_OF_ORDER = """
    SELECT CAST(later.timeline AS TEXT), CAST(later.number AS INTEGER) FROM messages AS later
    JOIN messages AS earlier ON earlier.timeline = later.timeline AND earlier.number = later.number - 1
    WHERE later.position <= earlier.position
"""
