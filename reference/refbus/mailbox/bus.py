"""The whole bus: messages, claims and jobs on one SQLite file. Read from top to bottom.

    bus = MailboxBus("folder")
    bus.receive("bob")                                 # bob has an inbox from now on
    bus.send("ann", to="bob", body="hello")            # {"id": "5c1…", "n": 1}
    bus.receive("bob")                                 # {"messages": [{"id": "5c1…", "body": "hello", …}], …}
    bus.ack("bob", ["5c1…"])                           # it does not come again

Each call is one transaction: it takes the write lock, reads the time, looks, writes, and commits before it answers.
So two calls never meet, and a process that is killed leaves a call done or not begun.

A bus keeps the promises of its class. `promising` makes a class with others: `promising("consumes", "unread_max=50")`.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from refbus.kernel.clock import Clock
from refbus.kernel.errors import BusError
from refbus.kernel.face import Face
from refbus.kernel.files import existing_folder
from refbus.kernel.rules import lease
from refbus.kernel.rules import limit as limits
from refbus.kernel.schema import Schema
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction

SCHEMA = Schema((Path(__file__).parent / "schema.sql").read_text("utf-8"), extra="")
BODY_CHARS_MAX, RECEIVE_MAX, WAIT_MS_MAX, TTL_MS_MAX = 1_000_000, 10_000, 60_000, limits.NOW_MS_MAX

NOUNS = ("log", "cursor", "lease", "jobs")
FEATURES = (
    *("ack", "ack_many", "unacked", "page", "arrival", "number", "sender", "key", "broadcast", "self_delivery"),
    *("threads", "compare_and_append", "wait", "renew", "fencing", "redelivery", "fifo", "attempts", "back"),
    "dead_letter",
)
OTHER_FEATURES = ("consumes", "cumulative_ack", "late_readers", "priority")
USUAL_LIMITS = {
    "unread_max": 1_000,
    "body_chars_max": BODY_CHARS_MAX,
    "ttl_ms": 30 * 24 * 3_600_000,
    "page_max": 500,
    "attempts_max": 5,
}


class BodyTooLarge(BusError):
    """More characters than the bus carries."""

    code, definite = "BODY_TOO_LARGE", True


class KeyConflict(BusError):
    """The sender has used the key for a message with other content."""

    code, definite = "KEY_CONFLICT", True


class BaseConflict(BusError):
    """Something was sent since the base was told."""

    code, definite = "BASE_CONFLICT", True


class MailboxFull(BusError):
    """The recipient has too many unread messages."""

    code, definite = "MAILBOX_FULL", True


class NotHeld(BusError):
    """The caller does not have the claim, or the job, that it speaks of."""

    code, definite = "NOT_HELD", True


class MailboxBus(Face):
    """An open store folder. One object may serve many threads.

    - `clock`: the clock that tells the time; default: the wall clock
    - `synchronous`: NORMAL survives the death of a process, FULL a power cut as well
    """

    SYSTEM = "mailbox"
    OPTIONS = ("synchronous",)
    NOUNS: tuple[str, ...] = NOUNS
    FEATURES: tuple[str, ...] = (*FEATURES, "synchronous")
    LIMITS: Mapping[str, int] = USUAL_LIMITS
    DURABILITY = "process-crash"
    METHODS = (
        *("send", "receive", "unacked", "ack", "claim", "renew", "release"),
        *("put", "take", "done", "back", "dead"),
    )

    def __init__(self, store: Path | str, *, clock: Clock | None = None, synchronous: str = "NORMAL") -> None:
        folder = existing_folder("store", store)
        self.store = Store(folder / "mailbox.db", clock=clock, synchronous=synchronous)
        self.store.open(SCHEMA)

    def close(self) -> None:
        """Close all connections and watches."""
        self.store.close()

    # -- messages

    def send(
        self,
        agent_id: str,
        body: str,
        to: str | None = None,
        key: str | None = None,
        thread: str | None = None,
        reply_to: str | None = None,
        priority: int | None = None,
        base: int | None = None,
    ) -> dict[str, Any]:
        """Put a message into one inbox, or, without `to`, into all. Raises KEY_CONFLICT, BASE_CONFLICT, MAILBOX_FULL.

        BODY_TOO_LARGE, too, like `put`.
        """
        limits.name("agent_id", agent_id)
        draft = {
            "sender": agent_id,
            "recipient": None if to is None else limits.name("to", to),
            "body": self._body(body),
            "key": None if key is None else limits.text("key", key),
            "thread": None if thread is None else limits.text("thread", thread),
            "reply_to": None if reply_to is None else limits.text("reply_to", reply_to),
            "priority": limits.integer("priority", 0 if priority is None else priority, 0, 9),
        }
        with self.store.transaction() as tx:
            if (sent := self._sent_before(tx, draft)) is not None:
                return sent
            if base is not None and base != self._base(tx):
                raise BaseConflict(f"something was sent after the base {base!a:.40}")
            readers = self._readers(tx, draft)
            for reader in readers:
                self._require_room(tx, reader)
            message = {"id": str(uuid.uuid4()), "at_ms": tx.now_ms, **draft}
            columns = ", ".join(message)
            places = ", ".join(f":{name}" for name in message)
            n = tx.execute(f"INSERT INTO messages ({columns}) VALUES ({places})", message).lastrowid
            tx.executemany("INSERT INTO deliveries (reader, n) VALUES (?, ?)", [(reader, n) for reader in readers])
        return {"id": message["id"], "n": n}

    def _body(self, body: object) -> str:
        chars_max = self.LIMITS.get("body_chars_max", BODY_CHARS_MAX)
        if isinstance(body, str) and len(body) > chars_max:
            raise BodyTooLarge(f"the body has {len(body)} characters; at most {chars_max}")
        return limits.body("body", body, chars_max)

    def _sent_before(self, tx: Transaction, draft: dict[str, Any]) -> dict[str, Any] | None:
        """The answer to the first send with this key of this sender, if there was one."""
        if draft["key"] is None:
            return None
        earlier = tx.dicts("SELECT * FROM messages WHERE sender = :sender AND key = :key", draft)
        if not earlier:
            return None
        if any(earlier[0][name] != value for name, value in draft.items()):
            raise KeyConflict(f"{draft['key']!a:.80} is the key of a message with other content")
        return {"id": earlier[0]["id"], "n": earlier[0]["n"]}

    def _readers(self, tx: Transaction, draft: dict[str, Any]) -> list[str]:
        """The inboxes that a message goes to."""
        if draft["recipient"] is not None:
            return [draft["recipient"]]
        known = [name for (name,) in tx.rows("SELECT name FROM agents ORDER BY name")]
        return [name for name in known if name != draft["sender"] or "self_delivery" in self.FEATURES]

    def _require_room(self, tx: Transaction, reader: str) -> None:
        unread_max = self.LIMITS.get("unread_max")
        ever = "SELECT count(*) FROM deliveries WHERE reader = ?"  # a count is cheap; what waits is read whole
        if unread_max is None or tx.row(ever, (reader,))[0] < unread_max:
            return
        if len(self._waiting(tx, reader)) >= unread_max:
            raise MailboxFull(f"{reader} has {unread_max} unread messages")

    def receive(self, agent_id: str, limit: int = 100, after: int | None = None, wait_ms: int = 0) -> dict[str, Any]:
        """What waits for this agent, oldest first. What it has acked, or with `consumes` has seen, waits no more."""
        limits.name("agent_id", agent_id)
        limits.integer("limit", limit, 1, RECEIVE_MAX)
        limits.integer("after", 0 if after is None else after)
        limits.integer("wait_ms", wait_ms, 0, WAIT_MS_MAX)
        answer: dict[str, Any] = {}

        def look() -> bool:
            answer.update(self._received(agent_id, limit, after or 0))
            return bool(answer["messages"])

        self.store.wait_for(look, wait_ms / 1000) if wait_ms else look()
        return answer

    def _received(self, agent_id: str, limit: int, after: int) -> dict[str, Any]:
        with self.store.transaction() as tx:
            self._register(tx, agent_id)
            rows = self._waiting(tx, agent_id, after)[: min(limit, self.LIMITS.get("page_max", limit))]
            shown = [(agent_id, row["n"]) for row in rows]
            tx.executemany("UPDATE deliveries SET shown = 1 WHERE reader = ? AND n = ?", shown)
            position = max([after, *(row["n"] for row in rows)])
            return {"messages": [_shown(row) for row in rows], "position": position, "base": self._base(tx)}

    def _register(self, tx: Transaction, agent_id: str) -> None:
        """An agent has an inbox from its first receive on; with `late_readers` earlier broadcasts are in it, too."""
        is_new = tx.execute("INSERT OR IGNORE INTO agents (name) VALUES (?)", (agent_id,)).rowcount
        if is_new and "late_readers" in self.FEATURES:
            tx.execute(
                "INSERT OR IGNORE INTO deliveries (reader, n)"
                " SELECT :agent, n FROM messages WHERE recipient IS NULL AND (sender != :agent OR :own)",
                {"agent": agent_id, "own": "self_delivery" in self.FEATURES},
            )

    def _waiting(self, tx: Transaction, reader: str, after: int = 0) -> list[dict[str, Any]]:
        """The messages that `receive` shows next, in its order."""
        rows = tx.dicts(
            "SELECT * FROM deliveries JOIN messages USING (n) WHERE reader = :reader AND n > :after"
            " AND NOT acked AND NOT (shown AND :consumes) AND at_ms > :dead_ms ORDER BY n",
            {
                "reader": reader,
                "after": after,
                "consumes": "consumes" in self.FEATURES,
                "dead_ms": tx.now_ms - self.LIMITS.get("ttl_ms", TTL_MS_MAX),
            },
        )
        return sorted(rows, key=lambda row: -row["priority"]) if "priority" in self.FEATURES else rows

    def _base(self, tx: Transaction) -> int:
        """The newest number of all: it is another one after every send."""
        return int(tx.row("SELECT coalesce(max(n), 0) FROM messages")[0])

    def unacked(self, agent_id: str) -> dict[str, Any]:
        """What this agent has not acked, whatever it has seen."""
        limits.name("agent_id", agent_id)
        with self.store.snapshot() as tx:
            rows = tx.dicts(
                "SELECT * FROM deliveries JOIN messages USING (n)"
                " WHERE reader = ? AND NOT acked AND at_ms > ? ORDER BY n",
                (agent_id, tx.now_ms - self.LIMITS.get("ttl_ms", TTL_MS_MAX)),
            )
            return {"messages": [_shown(row) for row in rows]}

    def ack(self, agent_id: str, ids: Sequence[str]) -> dict[str, Any]:
        """These messages are done, for this agent alone; with `cumulative_ack` all before them, too."""
        limits.name("agent_id", agent_id)
        each = [{"reader": agent_id, "id": limits.text("id", id_)} for id_ in ids]
        same = "<=" if "cumulative_ack" in self.FEATURES else "="
        with self.store.transaction() as tx:
            tx.executemany(
                f"UPDATE deliveries SET acked = 1 WHERE reader = :reader AND n {same}"
                " (SELECT n FROM deliveries JOIN messages USING (n) WHERE reader = :reader AND id = :id)",
                each,
            )
        return {}

    # -- claims

    def claim(self, name: str, agent_id: str, ttl_ms: int) -> dict[str, Any]:
        """Take a name that nobody holds. granted is false where somebody does."""
        limits.name("agent_id", agent_id)
        limits.integer("ttl_ms", ttl_ms, 1, TTL_MS_MAX)
        with self.store.transaction() as tx:
            held = self._claim_of(tx, limits.text("name", name))
            if not lease.may_take(held, tx.now_ms):
                return {"granted": False}
            token = lease.next_token(held and held.token)
            tx.execute(
                "INSERT OR REPLACE INTO claims (name, holder, until_ms, token) VALUES (?, ?, ?, ?)",
                (name, agent_id, tx.now_ms + ttl_ms, token),
            )
        return {"granted": True, "token": token}

    def renew(self, name: str, agent_id: str, ttl_ms: int, token: int | None = None) -> dict[str, Any]:
        """Hold it for ttl_ms from now. granted is false for whoever does not hold it any more."""
        limits.integer("ttl_ms", ttl_ms, 1, TTL_MS_MAX)
        with self.store.transaction() as tx:
            held = self._claim_of(tx, name)
            if held is None or not lease.is_live(held, tx.now_ms) or not lease.may_keep(held, agent_id, token):
                return {"granted": False}
            tx.execute("UPDATE claims SET until_ms = ? WHERE name = ?", (tx.now_ms + ttl_ms, name))
        return {"granted": True, "token": held.token}

    def release(self, name: str, agent_id: str, token: int | None = None) -> dict[str, Any]:
        """Let go of it. Raises NOT_HELD."""
        with self.store.transaction() as tx:
            held = self._claim_of(tx, name)
            if held is None or not lease.is_live(held, tx.now_ms) or not lease.may_keep(held, agent_id, token):
                raise NotHeld(f"{agent_id} does not hold {name!a:.80}")
            tx.execute("UPDATE claims SET until_ms = 0 WHERE name = ?", (name,))
        return {}

    def _claim_of(self, tx: Transaction, name: str) -> lease.Claim | None:
        row = tx.row("SELECT holder, until_ms, token FROM claims WHERE name = ?", (name,))
        return None if row is None else lease.Claim(*row)

    # -- jobs

    def put(self, agent_id: str, queue: str, body: str) -> dict[str, Any]:
        """A job for whoever takes it first."""
        limits.name("agent_id", agent_id)
        job = (str(uuid.uuid4()), limits.text("queue", queue), self._body(body))
        with self.store.transaction() as tx:
            tx.execute("INSERT INTO jobs (id, queue, body) VALUES (?, ?, ?)", job)
        return {"id": job[0]}

    def take(self, agent_id: str, queue: str, visible_ms: int) -> dict[str, Any]:
        """The oldest job that nobody has; it is this agent's for visible_ms, and then anybody's again."""
        limits.name("agent_id", agent_id)
        limits.integer("visible_ms", visible_ms, 1, TTL_MS_MAX)
        with self.store.transaction() as tx:
            row = tx.row(
                "SELECT n, id, body, taken FROM jobs WHERE queue = ? AND NOT done AND until_ms <= ? AND taken < ?"
                " ORDER BY n LIMIT 1",
                (queue, tx.now_ms, self._attempts_max),
            )
            if row is None:
                return {"job": None}
            n, id_, body, taken = row
            change = "UPDATE jobs SET taker = ?, until_ms = ?, taken = taken + 1 WHERE n = ?"
            tx.execute(change, (agent_id, tx.now_ms + visible_ms, n))
        return {"job": {"id": id_, "body": body, "attempt": taken + 1, "receipt": f"{id_}:{taken + 1}"}}

    def done(self, agent_id: str, queue: str, id: str, receipt: str) -> dict[str, Any]:
        """The job never comes again. Raises NOT_HELD."""
        return self._settled(agent_id, queue, id, receipt, "done = 1")

    def back(self, agent_id: str, queue: str, id: str, receipt: str) -> dict[str, Any]:
        """The job waits again, at once. Raises NOT_HELD."""
        return self._settled(agent_id, queue, id, receipt, "until_ms = 0")

    def _settled(self, agent_id: str, queue: str, id_: str, receipt: str, change: str) -> dict[str, Any]:
        """Change a job that this agent has in hand, by the receipt of its latest take."""
        with self.store.transaction() as tx:
            changed = tx.execute(
                f"UPDATE jobs SET {change} WHERE queue = ? AND id = ? AND taker = ? AND NOT done AND until_ms > ?"
                " AND id || ':' || taken = ?",
                (queue, id_, agent_id, tx.now_ms, receipt),
            ).rowcount
            if not changed:
                raise NotHeld(f"{agent_id} does not have the job {id_!a:.80}")
        return {}

    def dead(self, agent_id: str, queue: str) -> dict[str, Any]:
        """The jobs that were handed out too often, and are not in anybody's hands."""
        with self.store.snapshot() as tx:
            jobs = tx.dicts(
                "SELECT id, body FROM jobs WHERE queue = ? AND NOT done AND until_ms <= ? AND taken >= ? ORDER BY n",
                (queue, tx.now_ms, self._attempts_max),
            )
        return {"jobs": jobs}

    @property
    def _attempts_max(self) -> int:
        return self.LIMITS.get("attempts_max", limits.INT64_MAX)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """A message as its reader sees it."""
    columns = ("id", "n", "body", "thread", "reply_to", "priority")
    return {"from_agent": row["sender"], "to_agent": row["recipient"], **{name: row[name] for name in columns}}


def promising(*words: str) -> type[MailboxBus]:
    """A bus with these promises and no others: nouns beside log and cursor, features, limits as NAME=NUMBER.

    Without a word it is MailboxBus itself; `core` adds nothing. Raises ValueError for a word that it does not know.
    """
    numbers = {name: int(number) for name, _, number in (word.partition("=") for word in words) if number}
    names = [word for word in words if "=" not in word]
    if unknown := sorted({*names, *numbers} - {*NOUNS, *FEATURES, *OTHER_FEATURES, *USUAL_LIMITS, "core"}):
        raise ValueError(f"mailbox has no promise {unknown[0]!r}")

    class Promising(MailboxBus):
        NOUNS = ("log", "cursor", *(noun for noun in ("lease", "jobs") if noun in names))
        FEATURES = tuple(name for name in names if name not in (*MailboxBus.NOUNS, "core"))
        LIMITS = numbers

    return Promising if words else MailboxBus
