"""log: the server and its tools, the file, and the messages in it."""

from __future__ import annotations

import itertools
import re
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from busproof.adapters.base import DoorError, Refused
from busproof.protocol.topics import DB_NAME, TOPICS_TABLES
from busproof.scenarios.common import Row, at_once, definite, joined, said
from busproof.scenarios.topics.common import bodies, database, join, lane, scenario, server, sync, topic, unique, warned
from busproof.session import Session
from busproof.suite import Ctx

# What each tool takes, those that are required with a *, and the defaults that the seed gives.
TOOLS = {
    "ping": "",
    "topic_create": "",
    "topic_list": "",
    "topic_resolve": "",
    "topic_close": "",
    "topic_join": "agent_name* topic_id name reclaim_token",
    "topic_presence": "topic_id* window_seconds limit",
    "cursor_reset": "topic_id* last_seq",
    "messages_search": "query* topic_id mode limit model include_content",
    "sync": "topic_id* outbox max_items include_self wait_seconds auto_advance ack_through",
}
DESCRIBED = ("topic_join", "topic_presence", "cursor_reset", "messages_search", "sync")  # sections 4.3 to 4.7
DEFAULTS: dict[str, Row] = {
    "sync": {"max_items": 20, "include_self": False, "wait_seconds": 60, "auto_advance": True},
    "cursor_reset": {"last_seq": 0},
    "topic_presence": {"window_seconds": 300, "limit": 200},
    "messages_search": {"mode": "hybrid", "limit": 20, "include_content": False},
}
READING = {"ping", "topic_list", "topic_resolve", "topic_presence", "messages_search"}

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
SEED_KEYS = {"topics.log.34": "cursors", "topics.log.35": "agent_name_reservations"}

# Every tool that needs no session that has joined: a bus may see that first.
ON_A_STRANGE_FILE: tuple[tuple[str, Row], ...] = (
    ("topic_create", {"name": "old"}),
    ("topic_list", {}),
    ("topic_resolve", {"name": "old"}),
    ("topic_join", {"agent_name": "a", "topic_id": "0123456789"}),
    ("topic_presence", {"topic_id": "0123456789"}),
    ("messages_search", {"query": "old"}),
    ("topic_close", {"topic_id": "0123456789"}),
)

METADATA = {"n": -1.5, "ü": "€ 🚌", "list": [None, True, {}, []], "o": {"": 0}}
BODIES = (
    "one line",
    "# A heading\n\n- a list\n- `code`\n\n```\n\tcode\r\n```\n",
    "  blanks around  \n",
    "quotes ' \" \\ %s {} --;",
    "ü € 🚌 \u2028 \ue000 e\u0301",
    "🚌" * 5_000,
    "x" * 60_000,
)


def send(session: Session, topic_id: str, body: str = "m", **item: Any) -> Row:
    """Send one message; what `sent` says of it, which may be nothing."""
    reply = sync(session, topic_id, outbox=[{"content_markdown": body, **item}])
    return dict(reply["sent"][0]["message"]) if reply["sent"] else {}


def whole(session: Session, topic_id: str) -> list[Row]:
    """The first twenty messages of the topic, whoever sent them."""
    session.call("cursor_reset", topic_id=topic_id, last_seq=0)
    return list(sync(session, topic_id, include_self=True, auto_advance=False)["received"])


def invalid(refusal: Refused | None) -> bool:
    """INVALID_ARGUMENT; or the protocol's own word for it, where a server's library looks before the tool does."""
    return definite(refusal, "INVALID_ARGUMENT", "-32602")


# ---------- the server


@scenario("log.ping")
def ping(ctx: Ctx) -> None:
    """The server lives, and says which contract and which version it is."""
    a = ctx.agent("a")
    reply = a.call("ping")
    ctx.expect("topics.log.07", reply["ok"] is True, f"ping answered {reply}")
    spec = reply["spec_version"]
    ctx.expect("topics.log.08", isinstance(spec, str) and spec != "", f"spec_version is {spec!r}")
    package = reply["package_version"]
    ctx.expect("topics.log.09", isinstance(package, str) and package != "", f"package_version is {package!r}")
    ctx.expect("topics.log.10", spec == "v6.3", f"spec_version is {spec!r}")


def walk(a: Session) -> dict[str, Refused | None]:
    """A short life with every tool; what each was refused with."""
    name = unique()
    refused = {"ping": a.refusal("ping"), "topic_create": a.refusal("topic_create", name=name)}
    refused["topic_list"] = a.refusal("topic_list")
    refused["topic_resolve"] = a.refusal("topic_resolve", name=name)
    refused["topic_join"] = a.refusal("topic_join", agent_name="a", name=name)
    here = {"topic_id": topic(a)}
    join(a, here["topic_id"])
    outbox = [{"content_markdown": f"a word: {name}"}]
    refused["sync"] = a.refusal("sync", **here, outbox=outbox, include_self=True, wait_seconds=0)
    refused["topic_presence"] = a.refusal("topic_presence", **here)
    refused["cursor_reset"] = a.refusal("cursor_reset", **here)
    refused["messages_search"] = a.refusal("messages_search", query=name)
    refused["topic_close"] = a.refusal("topic_close", **here)
    return refused


@scenario("log.tools")
def tools(ctx: Ctx) -> None:
    """One server has all tools; their schemas name and require what the seed says."""
    a = ctx.agent("a")
    listed = {tool["name"]: tool for tool in a.call("tools.list")["tools"]}
    missing = sorted(set(TOOLS) - set(listed))
    ctx.expect("topics.log.02", not missing, f"not listed: {missing}; listed: {sorted(listed)}")
    wrong, without_default = {}, []
    for tool in (name for name in DESCRIBED if name in listed):
        schema = listed[tool]["inputSchema"]
        known = {word.rstrip("*") for word in TOOLS[tool].split()}
        needed = {word.rstrip("*") for word in TOOLS[tool].split() if word.endswith("*")}
        has, requires = set(schema.get("properties", {})), set(schema.get("required") or [])
        if not known <= has or requires != needed:
            wrong[tool] = f"lacks {sorted(known - has)}, requires {sorted(requires)}"
        for name, value in DEFAULTS.get(tool, {}).items():
            stated = schema.get("properties", {}).get(name, {}).get("default")
            if stated != value or type(stated) is not type(value):
                without_default.append(f"{tool}.{name}: {stated!r}, not {value!r}")
    ctx.expect("topics.log.03", not wrong, f"input schemas: {wrong}; the seed has {TOOLS}")
    ctx.expect("topics.log.04", not without_default, f"defaults: {without_default}")
    # Search "may be limited by the local SQLite build"; all else has no excuse.
    refused = {tool: said(no) for tool, no in walk(a).items() if no is not None and tool != "messages_search"}
    ctx.expect("topics.log.01", not refused, f"one server refused its tools: {refused}")


@scenario("log.output_schemas")
def output_schemas(ctx: Ctx) -> None:
    """What a tool answers is described."""
    a = ctx.agent("a")
    listed = {tool["name"]: tool.get("outputSchema") for tool in a.call("tools.list")["tools"]}
    # The official client holds each answer against the schema, and ends the session over one that differs.
    walk(a)
    without = sorted(name for name in TOOLS if not listed.get(name))
    ctx.expect("topics.log.05", not without, f"without an output schema: {without}")


@scenario("log.annotations")
def hints(ctx: Ctx) -> None:
    """A client can tell a person, and ask for leave, before it calls."""
    listed = {tool["name"]: tool for tool in ctx.agent("a").call("tools.list")["tools"]}
    wrong = {}
    for name in TOOLS:
        tool = listed.get(name, {})
        hint = (tool.get("annotations") or {}).get("readOnlyHint")
        if not tool.get("description") or bool(hint) != (name in READING):
            wrong[name] = f"description {tool.get('description')!r:.40}, readOnlyHint {hint}"
    ctx.expect("topics.log.06", not wrong, f"{wrong}; only these read: {sorted(READING)}")


@scenario("log.two_processes")
def two_processes(ctx: Ctx) -> None:
    """All that two servers share is the file, and it is enough."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = unique()
    topic_id = a.call("topic_create", name=name)["topic_id"]
    join(a, topic_id)
    found = b.call("topic_join", agent_name="b", name=name)["topic_id"]
    sync(a, topic_id, "from a")
    got = bodies(sync(b, topic_id, "from b")), bodies(sync(a, topic_id))
    good = found == topic_id and got == (["from a"], ["from b"])
    ctx.expect("topics.log.11", good, f"topic {topic_id} is {found} for another process; received: {got}")


@scenario("log.exchange")
def exchange(ctx: Ctx) -> None:
    """One call sends and receives."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    sync(b, topic_id, "from b")
    reply = sync(a, topic_id, "from a")
    got = bodies(reply), bodies(sync(b, topic_id))
    good = got == (["from b"], ["from a"])
    ctx.expect("topics.log.12", good, f"b sent, a sent and received in one call, b received: {got}; {reply}")


# ---------- the file


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


def column_faults(db: sqlite3.Connection, table: str, wanted: str) -> list[str]:
    """What differs from the seed's columns. More columns are no fault, unless a writer must know them."""
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
    """The file itself keeps what must be unique, and has the indexes that the seed names."""
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


def index_columns(db: sqlite3.Connection, table: str) -> list[tuple[str, bool, list[str]]]:
    """Each index of a table: its name, whether it is unique, its columns."""
    found = db.execute(f"SELECT * FROM pragma_index_list('{table}')").fetchall()
    return [
        (
            row["name"],
            bool(row["unique"]),
            [r["name"] for r in db.execute("SELECT name FROM pragma_index_info(?)", (row["name"],))],
        )
        for row in found
    ]


@scenario("log.first_calls", needs=("sqlite",), alone=True)
def first_calls(ctx: Ctx) -> None:
    """Servers whose first calls come together make one file between them, and none is turned away."""
    sessions = [ctx.agent(name) for name in ("ada", "bob", "cy", "dan")]
    wanted = [unique() for _ in sessions]
    calls = (lambda s=s, name=name: s.call("topic_create", name=name) for s, name in zip(sessions, wanted, strict=True))
    failed = [str(result) for result in at_once(*calls) if isinstance(result, DoorError)]
    there = {row["name"] for row in sessions[0].call("topic_list")["topics"]} if not failed else set()
    good = not failed and there == set(wanted)
    ctx.expect("topics.log.74", good, f"four servers make a topic on a new file: {failed or sorted(there)}")


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
    missing = {tool: a.refusal(tool, **params) for tool, params in ON_A_STRANGE_FILE}
    a.call("open", store=str(other), options={})  # on another file it is another process
    mismatched = {tool: a.refusal(tool, **params) for tool, params in ON_A_STRANGE_FILE}
    for row, refused in (("topics.log.19", missing), ("topics.log.20", mismatched)):
        wrong = {tool: said(no) for tool, no in refused.items() if not definite(no, "DB_SCHEMA_MISMATCH")}
        ctx.expect(row, not wrong, f"not DB_SCHEMA_MISMATCH: {wrong}")
    told = [no.message if no else "" for no in (*missing.values(), *mismatched.values())]
    silent = [text for text in told if not re.search("wipe|delete|remove", text, re.IGNORECASE)]
    ctx.expect("topics.log.21", not silent, f"nothing of wiping the database is said in {silent[:2]}")
    after = [dump(ctx.store), dump(other)]
    ctx.expect("topics.log.22", after == before, f"the file was {before}, and is {after}"[:600])


@scenario("log.version_changes", needs=("sqlite",), alone=True)
def version_changes(ctx: Ctx) -> None:
    """A database that another program brings to another version does not stop the servers that run."""
    topic_id, (a,) = lane(ctx, "a")
    send(a, topic_id, "before")
    with database(ctx) as db:
        db.execute("UPDATE meta SET value = '7' WHERE key = 'schema_version'")
    before = dump(ctx.store)
    calls: tuple[tuple[str, Row], ...] = (
        *ON_A_STRANGE_FILE,
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


def strange_file(folder: Path, spoil: str) -> list[str]:
    """A file with all of the seed's tables, and one topic in them, but another version. What is in it."""
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


# ---------- ids, times and numbers


@scenario("log.ids")
def ids(ctx: Ctx) -> None:
    """Ids are short, and each another, whoever gives them."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    other_id = topic(b)
    join(b, other_id)
    topics = [topic_id, other_id, *(topic(session, name="one name") for session in (a, b))]
    messages = [
        send(session, to, "the same words").get("message_id", "")
        for session, to in ((a, topic_id), (b, topic_id), (b, other_id), (a, topic_id), (b, topic_id))
    ]
    good = len(set(topics)) == 4 and len(set(messages)) == 5
    ctx.expect("topics.log.37", good, f"4 topics are {topics}, 5 messages {messages}")
    strange = [name for name in topics + messages if not re.fullmatch("[0-9a-f]{10}", name)]
    ctx.expect("topics.log.36", not strange, f"not ten lower-case hexadecimal digits: {strange}")


@scenario("log.times")
def times(ctx: Ctx) -> None:
    """One call is one moment."""
    topic_id, (a,) = lane(ctx, "a")
    reply = sync(a, topic_id, "1", "2", "3", include_self=True)
    told = [record["message"]["created_at"] for record in reply["sent"]]
    told += [message["created_at"] for message in reply["received"]] + [reply["cursor"]["updated_at"]]
    ctx.expect("topics.log.39", len(set(told)) == 1, f"the times of one call: {told}")


@scenario("log.seq")
def seq(ctx: Ctx) -> None:
    """Each topic counts 1, 2, 3, whoever sends, and whatever is refused or sent twice."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    other_id = topic(a)
    join(a, other_id)
    numbers = [send(session, topic_id).get("seq", -1) for session in (a, b, a)]
    other = [send(a, other_id).get("seq", -1)]
    ctx.expect("topics.log.40", numbers[0] == 1, f"the first message of a topic has seq {numbers[0]}")
    numbers += [send(b, topic_id, client_message_id="k").get("seq", -1)]
    refused = a.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[{"content_markdown": "m"}, {}])
    send(b, topic_id, client_message_id="k")
    numbers += [send(session, topic_id).get("seq", -1) for session in (b, a)]
    other += [send(a, other_id).get("seq", -1)]
    rising = all(one < next_ for one, next_ in itertools.pairwise(numbers))
    ctx.expect("topics.log.41", rising, f"seq of one message after the other: {numbers}")
    dense = sorted(numbers) == list(range(min(numbers), min(numbers) + 6))
    why = f"6 messages, a repeat and a refused outbox ({said(refused)}) took {numbers}"
    ctx.expect("topics.log.42", dense, why)
    good = other == [numbers[0], numbers[0] + 1]
    ctx.expect("topics.log.43", good, f"one topic counts {numbers}, another {other}")


@scenario("log.seq_table", needs=("sqlite",))
def seq_table(ctx: Ctx) -> None:
    """topic_seq.next_seq is the number that the next message gets."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    found = [next_seq(ctx, topic_id)]
    for session in (a, b, a):
        sync(session, topic_id, "1", "2")
        found.append(next_seq(ctx, topic_id))
    # A topic that nobody sent to may have no row yet.
    good = found[0] in (1, None) and found[1:] == [3, 5, 7]
    ctx.expect("topics.log.44", good, f"next_seq after 0, 2, 4 and 6 messages: {found}")


def next_seq(ctx: Ctx, topic_id: str) -> int | None:
    """What the table says."""
    with database(ctx) as db:
        row = db.execute("SELECT next_seq FROM topic_seq WHERE topic_id = ?", (topic_id,)).fetchone()
        return None if row is None else row[0]


# ---------- messages


@scenario("log.restart")
def restart(ctx: Ctx) -> None:
    """What was sent is there after its sender's death."""
    topic_id, (a,) = lane(ctx, "a")
    sync(a, topic_id, "1", "2")
    sync(a, topic_id, "3")
    ctx.crash(a)
    b = ctx.agent("b")
    join(b, topic_id)
    got = bodies(sync(b, topic_id))
    ctx.expect("topics.log.47", got == ["1", "2", "3"], f"1, 2 and 3 were sent, the server killed; left: {got}")


@scenario("log.sent")
def sent(ctx: Ctx) -> None:
    """The sender learns what was stored, under which numbers."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    reply = sync(a, topic_id, "1", "2", "3")
    told = sorted((record["message"] for record in reply["sent"]), key=lambda message: message["seq"])
    got = sync(b, topic_id)["received"]
    names = ("message_id", "topic_id", "seq", "sender", "content_markdown")
    same = [{name: message[name] for name in names} for message in told] == [
        {name: message[name] for name in names} for message in got
    ]
    good = same and sorted(message["content_markdown"] for message in told) == ["1", "2", "3"]
    ctx.expect("topics.log.48", good, f"three were sent: {told}; another received {got}")
    nothing = sync(a, topic_id)["sent"]
    ctx.expect("topics.log.48", nothing == [], f"nothing was sent: {nothing}")


@scenario("log.fields")
def fields(ctx: Ctx) -> None:
    """A message is what its sender said; sender and reader are told the same."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    before_s = time.time()
    records = {
        "plain": send(a, topic_id, "plain"),
        "asked": send(a, topic_id, "asked", message_type="question", metadata=METADATA, client_message_id="k 1"),
        "other": send(b, topic_id, "other", message_type="Büro/v2.x", metadata={}),
    }
    asked_id = records["asked"].get("message_id")
    records["reply"] = send(b, topic_id, "reply", message_type="answer", reply_to=asked_id)
    read = {message["content_markdown"]: message for message in whole(b, topic_id)}

    def says(row: str, field: str, **wanted: Any) -> None:
        told = {name: (records[name].get(field), read.get(name, {}).get(field)) for name in wanted}
        good = told == {name: (value, value) for name, value in wanted.items()}
        ctx.expect(row, good, f"{field} as told to its sender and to a reader: {told}; sent: {wanted}")

    says("topics.log.49", "message_type", plain="message")
    says("topics.log.50", "message_type", asked="question", reply="answer", other="Büro/v2.x")
    says("topics.log.51", "reply_to", plain=None, reply=asked_id)
    says("topics.log.53", "metadata", plain=None, asked=METADATA, other={})
    says("topics.log.54", "client_message_id", plain=None, asked="k 1")
    says("topics.log.55", "sender", plain="a", other="b")
    told = [message.get("created_at", 0) for message in (*records.values(), *read.values())]
    # A minute is for a clock that is set while this runs; milliseconds and local time are further off.
    good = len(told) == 8 and all(before_s - 60 < at < time.time() + 60 for at in told)
    ctx.expect("topics.log.38", good, f"sent at {before_s}; created_at: {told}")


@scenario("log.bodies")
def whole_bodies(ctx: Ctx) -> None:
    """A body arrives to the last character."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    for sender, reader in ((a, b), (b, a)):
        records = [send(sender, topic_id, body).get("content_markdown") for body in BODIES]
        got = bodies(sync(reader, topic_id))
        wrong = [
            f"{body!a:.40} is {record!a:.40} for its sender, {other!a:.40} for a reader"
            for body, record, other in itertools.zip_longest(BODIES, records, got)
            if not body == record == other
        ]
        ctx.expect("topics.log.56", not wrong, "; ".join(wrong))


@scenario("log.reply_to")
def reply_to(ctx: Ctx) -> None:
    """A reply is to a message of the same topic."""
    topic_id, (a,) = lane(ctx, "a")
    other_id = topic(a)
    join(a, other_id)
    elsewhere = send(a, other_id).get("message_id")
    for to in ("ffffffffff", elsewhere):
        refused = a.refusal(
            "sync", topic_id=topic_id, wait_seconds=0, outbox=[{"content_markdown": "m", "reply_to": to}]
        )
        why = f"reply_to {to!r}, which is no message of the topic: {said(refused)}"
        ctx.expect("topics.log.52", invalid(refused), why)


@scenario("log.text")
def text(ctx: Ctx) -> None:
    """Who sees only text can read the messages."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    words = [unique("word"), unique("word")]
    sync(b, topic_id, *words)
    sync(a, topic_id)
    shown = server(a).text
    ctx.expect("topics.log.68", all(word in shown for word in words), f"{words} were sent; the text: {shown!r}")


# ---------- what is refused


@scenario("log.bad_outbox")
def bad_outbox(ctx: Ctx) -> None:
    """An item needs a body, under its own name, and every field has one type."""
    topic_id, (a,) = lane(ctx, "a")

    def refusals(*items: Any) -> dict[str, Refused | None]:
        return {str(item): a.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[item]) for item in items}

    def judge(row: str, refused: dict[str, Refused | None]) -> None:
        wrong = {item: said(no) for item, no in refused.items() if not invalid(no)}
        ctx.expect(row, not wrong, f"items that are INVALID_ARGUMENT: {wrong}")

    judge("topics.log.57", refusals({}, {"message_type": "note"}, {"content_markdown": None}))
    judge("topics.log.58", refusals({"content": "m"}))
    typed = {"message_type": 5, "reply_to": 5, "client_message_id": {}, "metadata": [1], "content_markdown": 5}
    judge("topics.log.59", refusals(*({"content_markdown": "m", name: value} for name, value in typed.items())))


@scenario("log.all_or_none")
def all_or_none(ctx: Ctx) -> None:
    """One bad item, or a bad argument beside them, and no item is stored."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    good = {"content_markdown": "good", "client_message_id": "k"}
    bad: tuple[tuple[list[Any], Row], ...] = (
        ([good, {}], {}),
        ([good, {"content_markdown": "m", "metadata": [1]}, good], {}),
        ([good], {"max_items": 0}),
        ([good], {"wait_seconds": -1}),
    )
    for outbox, params in bad:
        refused = a.refusal("sync", **{"topic_id": topic_id, "wait_seconds": 0, "outbox": outbox, **params})
        seen = bodies(sync(b, topic_id))
        why = f"{outbox} with {params}: {said(refused)}; a reader sees {seen}"
        ctx.expect("topics.log.60", refused is not None and seen == [], why)
    send(a, topic_id, "good", client_message_id="k")
    seen = bodies(sync(b, topic_id))
    ctx.expect("topics.log.60", seen == ["good"], f"then it was sent alone; a reader sees {seen}")


@scenario("log.errors")
def errors(ctx: Ctx) -> None:
    """An error is for programs and for people."""
    a = ctx.agent("a")
    cases: tuple[tuple[str, str, Row], ...] = (
        ("AGENT_NOT_JOINED", "sync", {"topic_id": topic(a), "wait_seconds": 0}),
        ("TOPIC_NOT_FOUND", "topic_resolve", {"name": unique()}),
        ("INVALID_ARGUMENT", "topic_presence", {"topic_id": topic(a), "limit": 0}),
    )
    for code, tool, params in cases:
        refused = a.refusal(tool, **params)
        shown = server(a).text
        good = definite(refused, code) and refused is not None and refused.message != ""
        good = good and refused is not None and refused.message in shown
        ctx.expect("topics.log.69", good, f"{tool}({params}): {said(refused)}; the text: {shown!r:.300}")


# ---------- once


@scenario("log.idempotent")
def idempotent(ctx: Ctx) -> None:
    """A retry with the same client_message_id is the message that is there."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    item = {"content_markdown": "m", "message_type": "note", "metadata": {"n": 1}, "client_message_id": "k"}
    first, again = (sync(a, topic_id, outbox=[item]) for _ in range(2))
    twice = {"content_markdown": "twice", "client_message_id": "k2"}
    within = a.refusal("sync", topic_id=topic_id, wait_seconds=0, outbox=[twice, twice])
    seen = bodies(sync(b, topic_id))
    # Whether one outbox may hold a key twice is not said; that it is stored once is.
    good = seen.count("m") == 1 and seen.count("twice") <= 1
    why = f"m was sent twice, then twice in one outbox ({said(within)}); a reader sees {seen}"
    ctx.expect("topics.log.61", good, why)
    good = [record.get("duplicate", False) for record in first["sent"] + again["sent"]] == [False, True]
    good = good and first["sent"][0]["message"] == again["sent"][0]["message"] and warned(again) == []
    ctx.expect("topics.log.62", good, f"sent: {first['sent']}; again: {again}")
    other = sync(a, topic_id, outbox=[{**item, "content_markdown": "other"}])
    good = [record.get("duplicate") for record in other["sent"]] == [True]
    good = good and other["sent"][0]["message"]["content_markdown"] == "m"
    good = good and "CONTENT_MISMATCH" in warned(other) and bodies(sync(b, topic_id)) == []
    ctx.expect("topics.log.63", good, f"m was sent; its key with other content: {other}")


@scenario("log.idempotent_json")
def idempotent_json(ctx: Ctx) -> None:
    """Whether two objects are the same is JSON's question, and not that of a language where true is 1."""
    topic_id, (a,) = lane(ctx, "a")
    item = {"content_markdown": "m", "client_message_id": "k"}
    sync(a, topic_id, outbox=[{**item, "metadata": {"n": True, "m": [1, 2]}}])
    same = warned(sync(a, topic_id, outbox=[{**item, "metadata": {"m": [1, 2], "n": True}}]))
    other = warned(sync(a, topic_id, outbox=[{**item, "metadata": {"n": 1, "m": [1, 2]}}]))
    good = "CONTENT_MISMATCH" not in same and "CONTENT_MISMATCH" in other
    why = f"stored with n true; sent again in another order: {same}; sent with n 1: {other}"
    ctx.expect("topics.log.80", good, why)


@scenario("log.idempotent_key")
def idempotent_key(ctx: Ctx) -> None:
    """Who else uses the key, or where else, does not matter."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    other_id = topic(a)
    join(a, other_id)
    sync(a, topic_id, outbox=[{"content_markdown": "a's", "client_message_id": "k"}])
    sync(b, topic_id, outbox=[{"content_markdown": "b's", "client_message_id": "k"}])
    sync(a, other_id, outbox=[{"content_markdown": "elsewhere", "client_message_id": "k"}])
    here, there = ([m["content_markdown"] for m in whole(a, where)] for where in (topic_id, other_id))
    ctx.expect("topics.log.64", here == ["a's", "b's"], f"two senders, one key: {here}")
    ctx.expect("topics.log.65", there == ["elsewhere"], f"two topics, one key; the second has {there}")


@scenario("log.retry_after_close")
def retry_after_close(ctx: Ctx) -> None:
    """Who does not know whether a send was stored can ask after the topic closed, too."""
    topic_id, (a,) = lane(ctx, "a")
    stored = send(a, topic_id, client_message_id="k")
    a.call("topic_close", topic_id=topic_id)
    reply = sync(a, topic_id, outbox=[{"content_markdown": "m", "client_message_id": "k"}])
    good = [(r["message"], r.get("duplicate")) for r in reply["sent"]] == [(stored, True)]
    ctx.expect("topics.log.66", good, f"stored: {stored}; the retry: {reply}")


@scenario("log.idempotent_race")
def idempotent_race(ctx: Ctx) -> None:
    """One agent's two processes, before and after a restart or both at once, store a message once."""
    a, b = ctx.agent("twin"), ctx.agent("twin")
    topic_id = topic(a)
    token = join(b, topic_id)["reclaim_token"]
    send(b, topic_id, "k0", client_message_id="k0")
    join(a, topic_id, reclaim_token=token)
    send(a, topic_id, "k0", client_message_id="k0")
    keys = [f"k{number}" for number in range(1, 7)]
    for key in keys:
        at_once(*(sender(session, topic_id, key) for session in (a, a, b)))
    seen = sorted(message["content_markdown"] for message in whole(a, topic_id))
    # Of the one that lost the name some are refused (B10), which is well.
    ctx.expect("topics.log.67", seen == ["k0", *keys], f"sent several times each: k0 to k6; stored: {seen}")


def sender(session: Session, topic_id: str, key: str) -> Callable[[], Row]:
    """A send to be run in a thread."""
    return lambda: send(session, topic_id, key, client_message_id=key)


# ---------- locks


@scenario("log.busy", needs=("sqlite",))
def busy(ctx: Ctx) -> None:
    """A lock is waited for; one that is not let go ends in DB_BUSY."""
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
