"""log: the file, its tables and its locks."""

from __future__ import annotations

import contextlib
import itertools
import math
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from busproof.bus.base import DoorError, Refused
from busproof.bus.session import Session
from busproof.contract.topics import DB_NAME, TOPICS_TABLES
from busproof.play.scenarios.common import Row, at_once, definite, joined, lost_by_opening, raced, remove, said
from busproof.play.scenarios.gone import Calls, lost
from busproof.play.scenarios.halves import TIMES, halves
from busproof.play.scenarios.topics.common import (
    bodies,
    database,
    join,
    lane,
    scenario,
    sync,
    topic,
    undeclared,
    unique,
)
from busproof.play.scenarios.topics.log import send
from busproof.play.suite import Ctx

SEED_COLUMNS = {
    "topics.log.23": ("meta", "key TEXT, value TEXT"),
    "topics.log.24": (
        "topics",
        (
            "topic_id TEXT, name TEXT, created_at REAL, status TEXT, "
            "closed_at REAL NULL, close_reason TEXT NULL, metadata_json TEXT NULL"
        ),
    ),
    "topics.log.25": ("topic_seq", "topic_id TEXT, next_seq INTEGER, updated_at REAL"),
    "topics.log.26": (
        "messages",
        (
            "message_id TEXT, topic_id TEXT, seq INTEGER, sender TEXT, message_type TEXT, reply_to TEXT NULL, "
            "content_markdown TEXT, metadata_json TEXT NULL, client_message_id TEXT NULL, created_at REAL"
        ),
    ),
    "topics.log.27": ("cursors", "topic_id TEXT, agent_name TEXT, last_seq INTEGER, updated_at REAL"),
    "topics.log.28": (
        "agent_name_reservations",
        "topic_id TEXT, agent_name TEXT, reclaim_token TEXT, created_at REAL, last_claimed_at REAL",
    ),
}
SEED_INDEXES = {
    "topics.log.29": ("topics", "idx_topics_name_status_created_at", ["name", "status", "created_at"]),
    "topics.log.32": ("messages", "idx_messages_topic_seq", ["topic_id", "seq"]),
    "topics.log.33": ("messages", "idx_messages_topic_reply_to", ["topic_id", "reply_to"]),
}
SEED_UNIQUE = {
    "topics.log.30": ("messages", {"topic_id", "seq"}),
    "topics.log.31": ("messages", {"topic_id", "sender", "client_message_id"}),
}
SEED_KEPT = {"cursors": "topics.cursor.38", "agent_name_reservations": "topics.lease.09"}
SEED_KEYS = {"topics.log.34": "cursors", "topics.log.35": "agent_name_reservations"}

# Every tool that works without a join: a bus may check for the join first.
ON_A_STRANGE_FILE: tuple[tuple[str, Row], ...] = (
    ("topic_create", {"name": "old"}),
    ("topic_list", {}),
    ("topic_resolve", {"name": "old"}),
    ("topic_join", {"agent_name": "a", "topic_id": "0123456789"}),
    ("topic_presence", {"topic_id": "0123456789"}),
    ("messages_search", {"query": "old"}),
    ("topic_close", {"topic_id": "0123456789"}),
)


@scenario("log.tables", needs=("sqlite",), alone=True)
def tables(ctx: Ctx) -> None:
    """The file has the seed's tables: a program that knows only the seed can read them and write to them."""
    topic(ctx.agent("a"))
    with database(ctx) as db:
        mode = db.execute("PRAGMA journal_mode").fetchone()[0]
        ctx.expect("topics.log.17", mode == "wal", f"journal_mode is {mode}")
        for row, (table, wanted) in SEED_COLUMNS.items():
            faults = column_faults(db, table, wanted)
            ctx.expect(row, not faults, f"table {table}: {faults}")
        try:
            version = [r[0] for r in db.execute("SELECT value FROM meta WHERE key = 'schema_version'")]
        except sqlite3.OperationalError as error:
            version = [error]
        ctx.expect("topics.log.18", version == ["6"], f"schema_version in meta: {version}")
    other = ctx.store / "odd #1 100%41 é?mode=ro&x"  # a path is a path, even where a URI would read it differently
    other.mkdir()
    b = ctx.agent("b")
    b.call("open", store=str(other), options={})
    topic_id = topic(b)
    try:
        with joined(other / DB_NAME) as db:
            there = [row[0] for row in db.execute("SELECT topic_id FROM topics")]
    except sqlite3.OperationalError as error:
        there = [error]
    ctx.expect("topics.log.17", there == [topic_id], f"{topic_id} was made; {str(other / DB_NAME)!r} has {there}")


def column_faults(db: sqlite3.Connection, table: str, wanted: str) -> list[str]:
    """The differences from the seed's columns. More columns are no fault, unless a writer must know them."""
    have = {row["name"]: row for row in db.execute(f"SELECT * FROM pragma_table_info('{table}')")}
    faults = []
    for name, type_, *null in (column.split() for column in wanted.split(", ")):
        row = have.pop(name, None)
        if row is None:
            faults.append(f"{name} is missing")
        elif row["type"].upper() != type_:
            faults.append(f"{name} is {row['type']}, not {type_}")
        elif null and row["notnull"]:
            faults.append(f"{name} must not be NULL")
    return faults + [
        f"{name} is one more, and must be given"
        for name, row in have.items()
        if row["notnull"] and row["dflt_value"] is None
    ]


@scenario("log.indexes", needs=("sqlite",), alone=True)
def indexes(ctx: Ctx) -> None:
    """The file itself enforces uniqueness where it must, and has the indexes that the seed names."""
    topic(ctx.agent("a"))
    with database(ctx) as db:
        there = {table: index_columns(db, table) for table in ("topics", "messages")}
        for row, (table, name, columns) in SEED_INDEXES.items():
            have = next((have for index, _, have in there[table] if index == name), None)
            ctx.expect(row, have == columns, f"{name} is on {have}, not on {columns}")
        for row, (table, unordered) in SEED_UNIQUE.items():
            good = any(is_unique and set(have) == unordered for _, is_unique, have in there[table])
            ctx.expect(row, good, f"{sorted(unordered)} is not unique in {table}: {there[table]}")
        for row, table in SEED_KEYS.items():
            key = {r["name"] for r in db.execute(f"SELECT * FROM pragma_table_info('{table}') WHERE pk > 0")}
            ctx.expect(row, key == {"topic_id", "agent_name"}, f"the primary key of {table} is {sorted(key)}")
    topic_id, (b, c) = lane(ctx, "b", "c")
    send(b, topic_id, "read")
    sync(c, topic_id)
    for loss in lost_by_opening(ctx, partial(database, ctx), lambda: ctx.agent("late").refusal("topic_list")):
        row = next((row for table, row in SEED_KEPT.items() if f" of {table} is gone" in loss), "topics.log.47")
        ctx.expect(row, False, f"a file was opened: {loss}")  # the row of another item (decision 0033)


def index_columns(db: sqlite3.Connection, table: str) -> list[tuple[str, bool, list[str]]]:
    """Each index of a table: its name, whether it is unique, its columns."""
    rows = db.execute(f"SELECT * FROM pragma_index_list('{table}')").fetchall()
    return [
        (
            row["name"],
            bool(row["unique"]),
            [r["name"] for r in db.execute("SELECT name FROM pragma_index_info(?)", (row["name"],))],
        )
        for row in rows
    ]


@scenario("log.first_calls", needs=("sqlite",), alone=True)
def first_calls(ctx: Ctx) -> None:
    """Servers whose first calls come together make one file between them, and none is turned away.

    Two meet where there is no file, by luck at any step. Two meet at a file that another has opened without yet making
    its tables: both have seen that there is none before either can make one.
    """
    for names in (("ada", "bob"), ("cy", "dan")):
        pair = [ctx.agent(name) for name in names]  # only now: a bus may open the file as it is opened, not at a call
        wanted = [unique() for _ in pair]
        calls = [lambda s=s, name=name: s.call("topic_create", name=name) for s, name in zip(pair, wanted, strict=True)]
        failed = [str(result) for result in raced(ctx, *calls) if isinstance(result, DoorError)]
        there = {row["name"] for row in pair[0].call("topic_list")["topics"]} if not failed else set()
        good = not failed and there == set(wanted)
        ctx.expect("topics.log.74", good, f"two servers make a topic on a new file: {failed or sorted(there)}")
        remove(ctx.store / DB_NAME)
        with database(ctx) as db:
            db.execute("PRAGMA journal_mode = WAL")


@scenario("log.schema_mismatch", needs=("sqlite",), alone=True)
def schema_mismatch(ctx: Ctx) -> None:
    """A file of another version is neither used nor harmed, and its owner is told what to do."""
    other = ctx.store / "other"
    other.mkdir()
    before = [
        strange_file(ctx.store, "DELETE FROM meta WHERE key = 'schema_version'"),
        strange_file(other, "UPDATE meta SET value = '5' WHERE key = 'schema_version'"),
    ]
    a = ctx.agent("a")
    calls = [(tool, params) for tool, params in ON_A_STRANGE_FILE if tool not in undeclared(ctx)]
    missing = {tool: a.refusal(tool, **params) for tool, params in calls}
    a.call("open", store=str(other), options={})  # on another file it is another process
    mismatched = {tool: a.refusal(tool, **params) for tool, params in calls}
    for row, refused in (("topics.log.19", missing), ("topics.log.20", mismatched)):
        wrong = {tool: said(no) for tool, no in refused.items() if not definite(no, "DB_SCHEMA_MISMATCH")}
        ctx.expect(row, not wrong, f"not DB_SCHEMA_MISMATCH: {wrong}")
    messages = [no.message if no else "" for no in (*missing.values(), *mismatched.values())]
    silent = [text for text in messages if not re.search("wipe|delete|remove", text, re.IGNORECASE)]
    ctx.expect("topics.log.21", not silent, f"nothing of wiping the database is said in {silent[:2]}")
    after = [dump(ctx.store), dump(other)]
    ctx.expect("topics.log.22", after == before, f"the file was {before}, and is {after}"[:600])


@scenario("log.version_changes", needs=("sqlite",), alone=True)
def version_changes(ctx: Ctx) -> None:
    """A database that another program brings to another version does not stop the servers that run."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    send(a, topic_id, "before")
    set_version(ctx, "7")
    before = dump(ctx.store)
    calls: tuple[tuple[str, Row], ...] = (
        *((tool, params) for tool, params in ON_A_STRANGE_FILE if tool not in undeclared(ctx)),
        ("sync", {"topic_id": topic_id, "wait_seconds": 0}),
        ("sync", {"topic_id": topic_id, "wait_seconds": 0, "outbox": [{"content_markdown": "after"}]}),
        ("cursor_reset", {"topic_id": topic_id}),
    )
    refused = [(tool, a.refusal(tool, **params)) for tool, params in calls]
    wrong = [(tool, said(no)) for tool, no in refused if not definite(no, "DB_SCHEMA_MISMATCH")]
    is_same = dump(ctx.store) == before
    why = (
        f"after the version became 7, not DB_SCHEMA_MISMATCH: {wrong}; the file is {'' if is_same else 'not '}the same"
    )
    ctx.expect("topics.log.78", not wrong and is_same, why)
    pong = a.refusal("ping")
    ctx.expect("topics.log.79", pong is None, f"ping, after the version became 7: {said(pong)}")
    set_version(ctx, "6")
    if a.refusal("sync", topic_id=topic_id, wait_seconds=0) is not None:
        return  # it may ask to be started again

    def there_and_back() -> Row:
        for version in ("7", "6"):
            time.sleep(0.5)
            set_version(ctx, version)
        return {}

    at_once(lambda: sync(a, topic_id, wait_seconds=2), there_and_back)  # it may end in an error
    waited, _ = at_once(lambda: sync(a, topic_id, wait_seconds=5), lambda: after_a_moment(b, topic_id))
    if not isinstance(waited, Refused) and (isinstance(waited, DoorError) or bodies(waited) != ["after"]):
        outcome = f"after the version had become 7 and 6 again, a wait for a message that came: {waited}"
        ctx.expect("topics.cursor.28", False, outcome)  # the row of another item (decision 0033)


def after_a_moment(session: Session, topic_id: str) -> Row:
    """Send to one that waits."""
    time.sleep(0.5)
    return sync(session, topic_id, "after")


def set_version(ctx: Ctx, version: str) -> None:
    """Another program brings the file to a version."""
    with database(ctx) as db:
        db.execute("UPDATE meta SET value = ? WHERE key = 'schema_version'", (version,))


def strange_file(folder: Path, spoil: str) -> list[str]:
    """Make a file with all of the seed's tables, and one topic in them, but another version; return its content."""
    with joined(folder / DB_NAME) as db:
        db.executescript(TOPICS_TABLES)
        db.execute("INSERT INTO topics VALUES ('0123456789', 'old', 1.5, 'open', NULL, NULL, NULL)")
        db.execute("INSERT INTO topic_seq VALUES ('0123456789', 1, 1.5)")
        db.execute(spoil)
    return dump(folder)


def dump(folder: Path) -> list[str]:
    """All tables and rows, as SQL."""
    with joined(folder / DB_NAME) as db:
        return list(db.iterdump())


@scenario("log.removed", needs=("sqlite",), alone=True)
def removed(ctx: Ctx) -> None:
    """The file goes, or another takes its place; servers that start later find all that is accepted from then on."""
    nobody_finds = lost(ctx, with_all_that_changes)
    ctx.expect("topics.log.81", not nobody_finds, f"accepted, and found by nobody {'; '.join(nobody_finds)}")


def with_all_that_changes(ctx: Ctx) -> tuple[Session, Calls]:
    """A store on which every tool that changes one has something to change."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    sync(a, topic_id, "read")
    sync(b, topic_id, "unread")
    calls: Calls = {
        "topic_create": {"name": unique(), "mode": "new"},
        "topic_join": {"topic_id": topic(a), "agent_name": "a"},
        "sync": {"topic_id": topic_id, "wait_seconds": 0},
        "cursor_reset": {"topic_id": topic_id, "last_seq": 0},
        "topic_close": {"topic_id": topic_id},
    }
    return a, calls


# Cells that another program may have written: SQLite takes any value in any column.
ODD_VALUES: tuple[object, ...] = (math.inf, -math.inf, 7, 0.5, "", "abc", b"\xff", b"", None)
ODD_TEXTS = (
    "message_id",
    "sender",
    "message_type",
    "reply_to",
    "content_markdown",
    "metadata_json",
    "client_message_id",
)
ODD_CELLS: tuple[tuple[str, object], ...] = (
    *itertools.product((*ODD_TEXTS, "created_at"), ODD_VALUES),
    ("metadata_json", '{"n": 1e999}'),
    ("metadata_json", "[1"),
    ("metadata_json", "[" * 20_000 + "]" * 20_000),
    *(("seq", value) for value in ("abc", b"x", 0.5, math.inf, "", b"")),
)


@scenario("log.odd_rows", needs=("sqlite",))
def odd_rows(ctx: Ctx) -> None:
    """A row unlike any that this bus writes does not stand between its reader and the messages after it."""
    unread = _unread_after(ctx.agent("a"), ctx.store, ODD_CELLS)
    other = ctx.store / "made by another"  # its tables refuse no NULL
    other.mkdir()
    with joined(other / DB_NAME) as db:
        db.executescript(f"PRAGMA journal_mode = WAL; {TOPICS_TABLES}")
    b = ctx.agent("b")
    b.call("open", store=str(other), options={})
    unread |= _unread_after(b, other, [(column, value) for column, value in ODD_CELLS if value is None])
    ctx.expect("topics.log.86", not unread, f"received after another program's row: {unread}")


def _unread_after(agent: Session, store: Path, cells: Iterable[tuple[str, object]]) -> dict[str, list[str]]:
    """By the cell: the bodies that came instead of the message behind a row with such a cell."""
    unread = {}
    for column, value in cells:
        topic_id = topic(agent)
        join(agent, topic_id)
        with joined(store / DB_NAME) as db:
            row = {"topic_id": topic_id, "seq": 1, "message_id": unique()[-10:], "sender": "s", "message_type": "t"}
            row |= {"content_markdown": "odd", "created_at": 1.5, column: value}
            names = ", ".join(row)
            with contextlib.suppress(sqlite3.IntegrityError):  # nobody can store a row that the file itself refuses
                db.execute(f"INSERT INTO messages ({names}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
            db.execute("UPDATE topic_seq SET next_seq = 2 WHERE topic_id = ?", (topic_id,))
        try:
            came = bodies(sync(agent, topic_id, "after it", include_self=True))
        except DoorError as error:
            came = [str(error)]
        if "after it" not in came:
            unread[f"{column} {value!r:.40} in {store.name}"] = came
    return unread


@scenario("log.busy", needs=("sqlite",), is_long=True)
def busy(ctx: Ctx) -> None:
    """A call waits for a lock; one that is not let go ends in DB_BUSY."""
    topic_id, (a,) = lane(ctx, "a")
    other_id, closing_id = topic(a), topic(a)
    delayed = while_locked(
        ctx,
        topic_id,
        0.5,
        lambda: sync(a, topic_id, "m"),
        lambda: a.call("topic_create", name=unique()),
        lambda: join(a, other_id),
        lambda: a.call("topic_close", topic_id=closing_id),
    )
    failed = [str(result) for result in delayed if isinstance(result, DoorError)]
    ctx.expect("topics.log.70", not failed, f"four calls, while another wrote for 0.5 s: {failed}")
    outbox = [{"content_markdown": "m"}]
    (result,) = while_locked(
        ctx, topic_id, 60.0, lambda: a.call("sync", timeout_s=60, topic_id=topic_id, outbox=outbox, wait_seconds=0)
    )
    good = isinstance(result, Refused) and definite(result, "DB_BUSY")
    ctx.expect("topics.log.71", good, f"a send to a file that stays locked: {result}")
    then = a.refusal("sync", topic_id=topic_id, wait_seconds=0)
    if good and then is not None:  # the row of another item (decision 0033)
        ctx.expect("topics.limit.08", False, f"a sync was DB_BUSY, and the next one is {said(then)}")


def while_locked(ctx: Ctx, topic_id: str, at_most_s: float, *calls: Callable[[], Row]) -> list[Row | DoorError]:
    """Run the calls while another program writes, for so long or until they are answered."""
    results: list[Row | DoorError] = []
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        # A commit that changes something makes every older snapshot useless for a writer.
        db.execute("UPDATE topic_seq SET updated_at = updated_at + 0.001 WHERE topic_id = ?", (topic_id,))
        thread = threading.Thread(target=lambda: results.extend(at_once(*calls)))
        thread.start()
        thread.join(at_most_s)
        db.execute("COMMIT")
    thread.join()
    return results


@scenario("log.whole", needs=("sqlite",), alone=True)
def whole(ctx: Ctx) -> None:
    """A constant reader sees all of an outbox or nothing of it."""
    topic_id, (a,) = lane(ctx, "a")
    seen: list[str] = []
    for _ in range(TIMES):
        seen += halves(ctx.store / DB_NAME, {"messages": "seq"}, partial(sync, a, topic_id, *"abcde"))
    ctx.expect("topics.log.90", not seen, f"seen in {len(seen)} of {TIMES} calls: {'; '.join(seen[:3])}")
