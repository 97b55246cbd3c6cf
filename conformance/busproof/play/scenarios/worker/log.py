"""log: messages are appended once, in one order, and stay."""

from __future__ import annotations

import sqlite3
import time
import uuid
from collections.abc import Iterator
from functools import partial
from typing import Any

from busproof.bus.base import Refused
from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, joined, lost_by_opening, out_of_time, remove, waits_for_ever
from busproof.play.scenarios.gone import Calls, lost, offered
from busproof.play.scenarios.halves import TIMES, halves
from busproof.play.scenarios.worker.common import (
    acknowledge,
    at_once,
    database,
    definite,
    ids,
    poll,
    publish,
    raced,
    reader,
    refuses_conflicts,
    said,
    scenario,
    stranger_publishes,
)
from busproof.play.suite import Ctx

LOCKED_S = 2.0  # of the five seconds that a bus waits: one that waits less, in several attempts too, gives up

MESSAGE_TYPES = {
    "worker.log.22": ["task_assign", "task_claim", "task_progress", "task_done", "task_failed", "task_blocked"],
    "worker.log.23": ["heartbeat", "state_change", "review_request", "review_result"],
    "worker.log.24": ["agent_started", "agent_stopped"],
}

# Every kind of JSON value, the falsy ones among them (W2).
JSON_VALUES: list[Any] = [
    {},
    [],
    0,
    "",
    False,
    True,
    None,
    -1,
    1.5,
    1e300,
    2**53,
    "text",
    "ü€😀",
    "a\u0000b",
    'quote " and \\',
    [None],
    {"a": {"b": [1, {"c": None}]}},
    {"": ""},
    [[]],
    "null",
    "0",
    {"payload": None},
]


@scenario("log.survives_kill")
def survives_kill(ctx: Ctx) -> None:
    """An acknowledged message is there after its writer was killed, and nothing else is."""
    a, writer = reader(ctx, "a"), ctx.agent("writer")
    if ctx.has("blob"):
        publish(writer, id="large", to="a", payload="x" * 9000)
    publish(writer, id="small", to="a", payload={"n": 1})
    ctx.crash(writer)
    by_id = {message["id"]: message for message in poll(a)}
    ctx.expect("worker.log.01", "small" in by_id, "an acknowledged message was gone after its writer was killed")
    expected = {"small", "large"} if ctx.has("blob") else {"small"}
    publish(ctx.agent("writer"), id="after", to="a")
    now = set(ids(poll(a)))
    why = f"after the kill a new process published one more and saw {sorted(now)}"
    ctx.expect("worker.log.02", now == expected | {"after"}, why)
    if ctx.has("blob"):
        whole = by_id.get("large", {}).get("payload") == "x" * 9000
        ctx.expect("worker.log.04", whole, "a payload over 4 KB did not survive the kill of its writer whole")


@scenario("log.idempotent_publish", needs=("idempotent_publish",))
def idempotent_publish(ctx: Ctx) -> None:
    """A retry with the same id and content is the same message: at once, after a crash, and after its ack."""
    b, a = reader(ctx, "b"), ctx.agent("a")
    message = {"id": "m1", "type": "task_done", "to": "b", "payload": {"n": [1, 2]}, "correlation_id": "c"}
    first = a.call("publish", message=message)
    again = a.call("publish", message=message)
    ctx.crash(a)
    third = ctx.agent("a").call("publish", message=message)
    stored = poll(b)
    if ctx.has("cursor"):
        acknowledge(b, stored)
    fourth = ctx.agent("a").call("publish", message=message)
    later = poll(b)
    replies = (first, again, third, fourth)
    given = "the answers were " + ", ".join(map(str, replies))
    # A member of a mixed fleet may tell no seq.
    seqs = {reply["seq"] for reply in replies if reply.get("seq") is not None}
    ctx.expect(
        "worker.log.09",
        len(stored) == 1 and later == ([] if ctx.has("cursor") else stored) and len(seqs) <= 1,
        f"of three publishes of one id {len(stored)} messages came, of one more after their ack {len(later)}; {given}",
    )
    ctx.expect("worker.log.10", all(reply["id"] == "m1" for reply in replies), given)


@scenario("log.fields")
def fields(ctx: Ctx) -> None:
    """A reader sees the fields that the sender gave, and the bus's own time in epoch milliseconds."""
    b, a = reader(ctx, "b"), ctx.agent("a")
    before_ms = ctx.now_ms if ctx.hello.clock == "manual" else time.time_ns() // 1_000_000
    publish(a, id="m1", to="b", type="review_request", correlation_id="skills-abc", in_reply_to="m0")
    after_ms = ctx.now_ms if ctx.hello.clock == "manual" else time.time_ns() // 1_000_000
    publish(a, id="m2", to="b")
    full, bare = (*poll(b), {}, {})[:2]
    at = full.get("ts_ms", -1)
    ctx.expect(
        "worker.log.13", before_ms <= at <= after_ms, f"ts_ms is {at}, published between {before_ms} and {after_ms}"
    )
    sender = full.get("from_agent"), full.get("type"), full.get("to_agent")
    ctx.expect("worker.log.14", sender == ("a", "review_request", "b"), f"from, type and to came back as {sender}")
    correlations = full.get("correlation_id"), bare.get("correlation_id")
    ctx.expect("worker.log.16", correlations == ("skills-abc", None), f"correlation_id came back as {correlations}")
    replies = full.get("in_reply_to"), bare.get("in_reply_to")
    ctx.expect("worker.log.17", replies == ("m0", None), f"in_reply_to came back as {replies}")
    c, d = ctx.agent_in_real_time("c"), ctx.agent_in_real_time("d")
    poll(c)

    def published() -> Iterator[float]:
        names = [publish(d, to="c")["id"]]
        if ctx.has("publish_many"):
            names += d.call("publish_many", messages=[{"type": "note", "to": "c"}])["ids"]
        return (message["ts_ms"] for message in poll(c) if message["id"] in names)

    odd = out_of_time(published)
    ctx.expect("worker.log.13", not odd, f"published now, at {time.time_ns() // 1_000_000}, with ts_ms {odd}")


@scenario("log.payload_values")
def payload_values(ctx: Ctx) -> None:
    """Every JSON value comes back as it was sent."""
    a, sender = reader(ctx, "a"), ctx.agent("sender")
    branch = {"branch": "worker-auth/skills-abc", "commit": "a1b2c3d4"}
    publish(sender, id="object", to="a", payload=branch)
    payload = next((row.get("payload") for row in poll(a)), "no message")
    ctx.expect("worker.log.18", payload == branch, f"an object came back as {payload!r}")
    refused = {}
    for number, value in enumerate(JSON_VALUES):
        try:
            publish(sender, id=f"v{number}", to="a", payload=value)
        except Refused as error:
            refused[repr(value)] = said(error)
    by_id = {row["id"]: row for row in poll(a)}
    wrong = {}
    for number, value in enumerate(JSON_VALUES):
        row = by_id.get(f"v{number}", {"payload_error": "not delivered"})
        if row.get("payload_error") or not _same(row.get("payload"), value):
            wrong[repr(value)] = row.get("payload_error") or repr(row.get("payload"))
    ctx.expect("worker.log.19", not wrong, f"sent: came back as: {wrong}; refused: {refused}")


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) and isinstance(a, bool) == isinstance(b, bool)


@scenario("log.absent_payload_is_null", needs=("sqlite",))
def absent_payload(ctx: Ctx) -> None:
    """No payload is NULL in the column, a JSON null is the text null."""
    a = ctx.agent("a")
    payloads: dict[str, dict[str, Any]] = {"absent": {}, "null": {"payload": None}, "empty": {"payload": {}}}
    for name, payload in payloads.items():
        a.refusal("publish", message={"id": name, "type": "note", **payload})
    with database(ctx) as db:
        rows = {row["id"]: row["payload"] for row in db.execute("SELECT id, payload FROM messages")}
    wanted = {"absent": None, "null": "null", "empty": "{}"}
    ctx.expect("worker.log.20", rows == wanted, f"the payload columns are {rows}, wanted {wanted}")


@scenario("log.message_types")
def message_types(ctx: Ctx) -> None:
    """Every message type of the seed is carried, and so are others."""
    a, sender = reader(ctx, "a"), ctx.agent("sender")
    for types in MESSAGE_TYPES.values():
        for kind in types:
            publish(sender, to="a", type=kind, payload={"kind": kind})
    publish(sender, to="a", type="a type of our own")
    publish(sender, id="review", to="a", type="review_request", correlation_id="task-7")
    messages = poll(a)
    arrived = [row["type"] for row in messages if (row.get("payload") or {}).get("kind") == row["type"]]
    for requirement, types in MESSAGE_TYPES.items():
        lost = [kind for kind in types if kind not in arrived]
        ctx.expect(requirement, not lost, f"these types did not arrive: {lost}")
    review = messages[-1] if messages else {}
    ctx.expect(
        "worker.log.25",
        (review.get("id"), review.get("type"), review.get("correlation_id")) == ("review", "review_request", "task-7"),
        f"a review request came back as {review}",
    )


@scenario("log.seq_never_reused", needs=("seq", "sqlite"))
def seq_never_reused(ctx: Ctx) -> None:
    """The seq of a message that is gone is not given to another."""
    a = ctx.agent("a")
    publish(a)
    gone = publish(a, id="gone")["seq"]
    with database(ctx) as db:
        db.execute("DELETE FROM messages WHERE id = 'gone'")
    ctx.crash(a)
    after = publish(ctx.agent("a"))["seq"]
    ctx.expect("worker.log.26", after > gone, f"seq {gone} was deleted and the next publish was given {after}")


@scenario("log.publish_many_is_atomic", needs=("publish_many",))
def publish_many_is_atomic(ctx: Ctx) -> None:
    """A batch with one bad message stores none of it."""
    a, b = ctx.agent("a"), reader(ctx, "b")
    batch = [{"id": "x", "type": "t", "to": "b"}, {"id": "y", "type": None, "to": "b"}]
    bad = a.refusal("publish_many", messages=batch)
    why, good = f"a null type: {said(bad)}", definite(bad)
    if refuses_conflicts(a, to="b"):
        batch = [{"id": "z", "type": "t", "to": "b"}, {"id": "taken", "type": "other", "to": "b"}]
        conflict = a.refusal("publish_many", messages=batch)
        why, good = f"{why}; a conflicting id: {said(conflict)}", good and definite(conflict)
    stored = ids(poll(b))
    ctx.expect("worker.log.52", good and stored == ["taken"], f"{why}; the log holds {stored}")


@scenario("log.publish_many_is_whole", needs=("publish_many", "sqlite"))
def publish_many_is_whole(ctx: Ctx) -> None:
    """A constant reader sees all of a batch or nothing of it."""
    a, seen = ctx.agent("a"), []
    for n in range(TIMES):
        batch = [{"id": f"{n}-{number}", "type": "note"} for number in range(5)]
        seen += halves(ctx.store / "bus.db", {"messages": "id"}, partial(a.call, "publish_many", messages=batch))
    ctx.expect("worker.log.72", not seen, f"seen in {len(seen)} of {TIMES} calls: {'; '.join(seen[:3])}")


@scenario("log.a_stranger_writes", needs=("sqlite",))
def a_stranger_writes(ctx: Ctx) -> None:
    """A row that another program inserts by the seed's schema is a message like any other."""
    a = ctx.agent("a")
    publish(a, id="ours")
    stranger_publishes(ctx, "theirs", to_agent="a", payload='{"by": "hand"}')
    publish(a, id="ours-2")
    messages = poll(a)
    theirs = [row.get("payload") for row in messages if row["id"] == "theirs"]
    good = ids(messages) == ["ours", "theirs", "ours-2"] and theirs == [{"by": "hand"}]
    ctx.expect("worker.log.28", good, f"a stranger inserted a row between two of ours and the poll gave {messages}")


@scenario("log.removed", needs=("sqlite",))
def removed(ctx: Ctx) -> None:
    """The file goes, or another takes its place; later openers of the store find all that is accepted from then on."""
    nobody_finds = lost(ctx, with_all_that_changes)
    ctx.expect("worker.log.64", not nobody_finds, f"accepted, and found by nobody {'; '.join(nobody_finds)}")


def with_all_that_changes(ctx: Ctx) -> tuple[Session, Calls]:
    """A store on which every method that changes one has something to change."""
    a = ctx.agent("a", **({"deliveries_max": 1} if ctx.has("dead_letter") else {}))
    poison = publish(a, id="poison", to="a")
    seq = poll(a)[0]["seq"]
    if ctx.has("dead_letter", "process_loop"):
        a.call("process_loop", fail_ids=[poison["id"]])
    for number in range(3):
        publish(a, id=f"m{number}", to="a")
    if ctx.has("lease"):
        for task in ("renewed", "released"):
            a.call("try_claim_task", task_id=task)
    worker = f"w{uuid.uuid4().hex}"  # a file of workers/ outlives the database
    if ctx.has("presence", "states"):
        a.call("transition", worker=worker, from_state=None, to_state="ASSIGNED")
    a.call("ack", seq=poll(a)[0]["seq"])
    calls: Calls = {
        "publish": {"message": {"id": "one", "type": "note"}},
        "publish_many": {"messages": [{"id": "many", "type": "note"}]},
        "redrive": {"seq": seq},
        "ack": {"seq": poll(a)[0]["seq"]},
        "process_loop": {"limit": 1},
        "archive": {},
        "try_claim_task": {"task_id": "new"},
        "renew_claim": {"task_id": "renewed"},
        "release_claim": {"task_id": "released"},
        "heartbeat": {"status": "working", "current_task": "new"},
        "transition": {"worker": worker, "from_state": "ASSIGNED", "to_state": "WORKING"},
    }
    return a, offered(ctx, calls)


@scenario("log.newer_schema_is_refused", needs=("migration", "sqlite"))
def newer_schema(ctx: Ctx) -> None:
    """A store of a later version is not touched."""
    publish(ctx.agent("a"), id="m1")
    with database(ctx) as db:
        db.execute("UPDATE meta SET value = '999' WHERE key = 'schema_version'")
    refused: Refused | None = None
    try:
        publish(ctx.agent("late"), id="m2")
    except Refused as error:
        refused = error
    with database(ctx) as db:
        stored = [row["id"] for row in db.execute("SELECT id FROM messages")]
    good = definite(refused, "SCHEMA_MISMATCH") and stored == ["m1"]
    ctx.expect("worker.log.40", good, f"opening a store of schema_version 999: {said(refused)}; it holds {stored}")


@scenario("log.older_schema_is_migrated", needs=("migration", "sqlite"))
def older_schema(ctx: Ctx) -> None:
    """A store of the seed's phase 0 (messages, cursors, heartbeats) gains the rest and keeps its messages."""
    with database(ctx) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.executescript(_PHASE_0)
    stranger_publishes(ctx, "old", to_agent="a")
    a = ctx.agent("a")
    kept = ids(poll(a))
    claimed = a.call("try_claim_task", task_id="t")["claimed"] if ctx.has("lease") else True
    with database(ctx) as db:
        version = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    version = version and version[0]
    good = kept == ["old"] and claimed and version == "1"
    words = f"after opening it the old messages are {kept}, a claim is granted: {claimed}, schema_version is {version}"
    ctx.expect("worker.log.41", good, words)
    publish(a, id="new", payload=1)
    if ctx.has("export"):
        a.call("export_to_jsonl")
    lost = lost_by_opening(ctx, partial(database, ctx), lambda: ids(poll(ctx.agent("late"))))
    why = f"a file was opened: {'; '.join(lost)}"
    if any(" of export_state is gone" in loss for loss in lost):  # the row of another item (decision 0033)
        ctx.expect("worker.export.06", False, why)
    ctx.expect("worker.log.41", not lost, why)
    _with_gaps(ctx)


def _with_gaps(ctx: Ctx) -> None:
    """A store from before seq was AUTOINCREMENT, of which somebody deleted messages: none gets another number."""
    x, folder = ctx.agent("x"), ctx.store.parent / "gaps"
    x.call("close")
    folder.mkdir()
    with joined(folder / "bus.db") as db:
        db.executescript("PRAGMA journal_mode = WAL;" + _PHASE_0.replace(" AUTOINCREMENT", ""))
        for seq in (1, 4, 5, 6, 7):
            row = (seq, f"m{seq}", ctx.now_ms, "old", "x", "note")
            db.execute(
                "INSERT INTO messages (seq, id, ts_ms, from_agent, to_agent, type) VALUES (?, ?, ?, ?, ?, ?)", row
            )
        db.execute("INSERT INTO cursors VALUES ('x', 5, ?)", (ctx.now_ms,))
    refused = x.refusal("open", store=str(folder), options={})
    came = [(message["seq"], message["id"]) for message in poll(x)] if refused is None else []
    why = f"opening messages 1, 4, 5, 6 and 7, of which x had read three: {said(refused)}; x's next are {came}"
    ctx.expect("worker.log.41", came == [(6, "m6"), (7, "m7")], why)
    if refused is None and [name for _, name in came] != ["m6", "m7"]:  # the row of another item
        ctx.expect("worker.cursor.03", False, why)


_PHASE_0 = """
CREATE TABLE messages (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, ts_ms INTEGER NOT NULL,
  from_agent TEXT NOT NULL, to_agent TEXT, type TEXT NOT NULL, correlation_id TEXT, in_reply_to TEXT, payload TEXT,
  payload_ref TEXT, CHECK (payload IS NULL OR payload_ref IS NULL));
CREATE TABLE cursors (agent_id TEXT PRIMARY KEY, last_acked_seq INTEGER NOT NULL DEFAULT 0,
  updated_at_ms INTEGER NOT NULL);
CREATE TABLE heartbeats (agent_id TEXT PRIMARY KEY, ts_ms INTEGER NOT NULL, status TEXT NOT NULL, current_task TEXT,
  progress REAL);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO meta (key, value) VALUES ('schema_version', '0');
"""


@scenario("log.archive_begins", needs=("archive", "sqlite"))
def archive_begins(ctx: Ctx) -> None:
    """archive waits for the lock; the agent that held it has got its first cursor, far behind the others."""
    a = ctx.agent("a")
    for number in range(4):
        publish(a, id=f"m{number}")
    messages = poll(a)
    a.call("ack", seq=messages[-1]["seq"])
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")

        def first_ack() -> None:
            time.sleep(0.3)
            db.execute("INSERT INTO cursors VALUES ('late', ?, ?)", (messages[0]["seq"], ctx.now_ms))
            db.execute("COMMIT")

        (reply,) = _from_other_thread(lambda: a.call("archive"), first_ack)
    left = ids(poll(ctx.agent("late")))
    good = left == ["m1", "m2", "m3"]
    ctx.expect("worker.log.63", good, f"archive answered {reply}; the late agent, at m0, is left with {left}")


KEY = b"nobody may see it".hex()


@scenario("log.signing", needs=("signing",), signing_key=KEY)
def signing(ctx: Ctx) -> None:
    """Holders of the key read each other; a message that was changed or never signed is marked."""
    a, b = ctx.agent("a"), ctx.agent("b")
    publish(a, id="good", to="b", payload={"n": 1})
    publish(a, id="changed", to="b", payload={"n": 1})
    publish(a, id="resent", to="b", payload={"n": 1})
    publish(a, id="moved", to="b", payload={"n": 1})
    if ctx.has("sqlite"):
        with database(ctx) as db:
            _move_with_all_about_it(db, "moved")
            db.execute("UPDATE messages SET payload = '{\"n\": 2}' WHERE id = 'changed'")
            db.execute("UPDATE messages SET from_agent = 'boss' WHERE id = 'resent'")
        stranger_publishes(ctx, "unsigned", to_agent="b", payload="1")
    by_id = {row["id"]: row for row in poll(b)}
    good = by_id["good"].get("payload") == {"n": 1} and not by_id["good"].get("payload_error")
    ctx.expect("worker.log.48", good, f"a signed message arrived as {by_id['good']}")
    if ctx.has("sqlite"):
        for requirement, names in {
            "worker.log.46": ["changed", "resent", "moved"],
            "worker.log.47": ["unsigned"],
        }.items():
            bad = [by_id[n] for n in names if not _withheld(by_id[n])]
            ctx.expect(requirement, not bad, f"delivered as if it were genuine: {bad}")
    b.call("dump" if ctx.has("dump") else "status")
    b.refusal("poll", agent_id="b", limit="no number")
    texts = {f"the answer to {event.op}": repr(event.value) for event in ctx.history() if event.type in ("ok", "fail")}
    files = [path for path in ctx.store.rglob("*") if path.is_file()]
    texts |= {path.name: path.read_bytes().decode("latin-1") for path in files}
    shown = [place for place, text in texts.items() if KEY in text.lower() or bytes.fromhex(KEY).decode() in text]
    ctx.expect("worker.log.70", not shown, f"the signing key stands in {', '.join(shown)}")


def _move_with_all_about_it(db: sqlite3.Connection, name: str) -> None:
    """Give a message another number, in each table that has one: its signature goes with it."""
    (seq,) = db.execute("SELECT seq FROM messages WHERE id = ?", (name,)).fetchone()
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
        columns = [column["name"] for column in db.execute(f'PRAGMA table_info("{table}")')]
        if "seq" in columns and not table.startswith("sqlite_"):
            db.execute(f'UPDATE "{table}" SET seq = seq + 100 WHERE seq = ?', (seq,))


def _withheld(row: dict[str, Any]) -> bool:
    return row.get("payload_error") == "bad_signature" and row.get("payload") is None


@scenario("log.contention", needs=("sqlite",), is_long=True)
def contention(ctx: Ctx) -> None:
    """Writers wait for each other: a lock held for a moment delays a publish and loses nothing."""
    a, b = ctx.agent("a"), ctx.agent("b")
    publish(a, id="warm")
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        held: list[Any] = []

        def release() -> dict[str, Any]:
            time.sleep(LOCKED_S)
            db.execute("ROLLBACK")
            return {}

        held = _from_other_thread(lambda: publish(a, id="waited"), release)
    ctx.expect("worker.log.50", isinstance(held[0], dict), f"a publish during a lock of {LOCKED_S} s: {held[0]}")
    batches = at_once(*(lambda s=s: [publish(s) for _ in range(40)][-1] for s in (a, b)))
    failed = [str(result) for result in batches if isinstance(result, Exception)]
    count = len(poll(a, limit=1000))
    good = not failed and count == 82
    why = f"two writers of 40 messages at once: errors {failed}, {count - 2} of 80 stored"
    wrong = _open_it_together(ctx, a, b) if good else {}
    ctx.expect("worker.log.49", good and not wrong, f"{why}; two that open the store at once and publish: {wrong}")


@scenario("log.a_lock_that_stays", needs=("sqlite",), is_long=True)
def a_lock_that_stays(ctx: Ctx) -> None:
    """A publish for which there is no lock is answered, though the lock stays."""
    agent = ctx.agent("a")
    publish(agent, id="warm")
    wrong = waits_for_ever(ctx, agent, "publish", message={"id": "locked out", "type": "note"})
    ctx.expect("worker.log.75", not wrong, wrong)


def _open_it_together(ctx: Ctx, a: Session, b: Session) -> dict[str, str]:
    """Two meet at a file that another has made without tables yet: both have seen that they are missing before either
    can make them. And two meet where there is no file, by luck at any step.
    """

    def opens(session: Session) -> Row:
        session.call("open", store=str(ctx.store), options={})
        return publish(session, id=session.agent)

    wrong = {}
    for there, together in (("a file without tables", partial(raced, ctx)), ("no file", at_once)):
        remove(ctx.store / "bus.db")
        if together is not at_once:
            with database(ctx) as db:
                db.execute("PRAGMA journal_mode = WAL")
        results = together(*(partial(opens, session) for session in (a, b)))
        failed = [str(result) for result in results if isinstance(result, Exception)]
        stored = [] if failed else sorted(ids(poll(ctx.agent("late"))))
        if stored != ["a", "b"]:
            wrong[there] = f"errors {failed}, stored {stored}"
    return wrong


def _from_other_thread(call: Any, meanwhile: Any) -> list[Any]:
    """Run `call` in a thread while this thread, which owns the database connection, does `meanwhile`."""
    import threading

    result: list[Any] = [None]

    def run() -> None:
        try:
            result[0] = call()
        except Exception as error:
            result[0] = error

    thread = threading.Thread(target=run)
    thread.start()
    meanwhile()
    thread.join()
    return result


@scenario("log.readers_do_not_wait", needs=("sqlite",))
def readers_do_not_wait(ctx: Ctx) -> None:
    """A reader reads while another participant holds the write lock."""
    a = ctx.agent("a")
    publish(a, id="m1")
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE meta SET value = value")
        try:
            answer: Any = ids(poll(a, timeout_s=3))
        except Exception as error:
            answer = error
        db.execute("ROLLBACK")
    ctx.expect("worker.log.51", answer == ["m1"], f"a poll while another held the write lock: {answer}")


@scenario("log.schema", needs=("sqlite",))
def schema(ctx: Ctx) -> None:
    """bus.db has the seed's tables, columns, constraints, indexes and rows."""
    publish(ctx.agent("a"))
    path = ctx.store / "bus.db"
    if not ctx.expect("worker.log.29", path.is_file(), "there is no bus.db in the store folder"):
        return
    with database(ctx) as db:
        for requirement, (table, columns) in _TABLES.items():
            seen = {row["name"]: _column(row) for row in db.execute(_COLUMNS, (table,))}
            ctx.expect(requirement, seen == columns, f"{table} has columns {seen}, the seed's are {columns}")
        for requirement, (index, wanted) in _INDEXES.items():
            on = [row["name"] for row in db.execute("SELECT name FROM pragma_index_info(?)", (index,))]
            ctx.expect(requirement, on == wanted, f"index {index} is on {on}, the seed's on {wanted}")
        ctx.expect("worker.log.21", _refused(db, _BOTH), "a row with both payload and payload_ref was accepted")
        version = db.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
        ctx.expect(
            "worker.log.37",
            version is not None and version[0] == "1",
            f"meta's schema_version is {version and version[0]!r}",
        )
        states = [tuple(row) for row in db.execute("SELECT id, last_seq FROM export_state")]
        is_one = _refused(db, "INSERT INTO export_state (id, last_seq) VALUES (2, 0)")
        ctx.expect("worker.log.38", states == [(1, 0)] and is_one, f"export_state holds {states}")
        mode = db.execute("PRAGMA journal_mode").fetchone()[0]
        ctx.expect("worker.log.39", mode == "wal", f"journal_mode is {mode}")


def _column(row: sqlite3.Row) -> tuple[Any, ...]:
    """Its type, whether NULL is refused, whether it is the key, and its default if it has one."""
    default = [] if row["dflt_value"] is None else [row["dflt_value"].strip("()")]
    return (row["type"].upper(), row["notnull"], row["pk"], *default)


def _refused(db: sqlite3.Connection, statement: str) -> bool:
    db.execute("BEGIN IMMEDIATE")
    try:
        db.execute(statement)
    except sqlite3.IntegrityError:
        return True
    finally:
        db.execute("ROLLBACK")
    return False


_COLUMNS = 'SELECT name, type, "notnull", pk, dflt_value FROM pragma_table_info(?)'
_BOTH = (
    "INSERT INTO messages (id, ts_ms, from_agent, type, payload, payload_ref)"
    " VALUES ('both', 1, 'x', 't', '1', 'sha256-0')"
)
_TABLES = {
    "worker.log.30": (
        "messages",
        {
            "seq": ("INTEGER", 0, 1),
            "id": ("TEXT", 1, 0),
            "ts_ms": ("INTEGER", 1, 0),
            "from_agent": ("TEXT", 1, 0),
            "to_agent": ("TEXT", 0, 0),
            "type": ("TEXT", 1, 0),
            "correlation_id": ("TEXT", 0, 0),
            "in_reply_to": ("TEXT", 0, 0),
            "payload": ("TEXT", 0, 0),
            "payload_ref": ("TEXT", 0, 0),
        },
    ),
    "worker.log.34": (
        "cursors",
        {"agent_id": ("TEXT", 0, 1), "last_acked_seq": ("INTEGER", 1, 0, "0"), "updated_at_ms": ("INTEGER", 1, 0)},
    ),
    "worker.log.35": (
        "heartbeats",
        {
            "agent_id": ("TEXT", 0, 1),
            "ts_ms": ("INTEGER", 1, 0),
            "status": ("TEXT", 1, 0),
            "current_task": ("TEXT", 0, 0),
            "progress": ("REAL", 0, 0),
        },
    ),
    "worker.log.36": (
        "task_claims",
        {
            "task_id": ("TEXT", 0, 1),
            "claimed_by": ("TEXT", 1, 0),
            "claimed_at_ms": ("INTEGER", 1, 0),
            "lease_until_ms": ("INTEGER", 1, 0),
        },
    ),
    "worker.log.37": ("meta", {"key": ("TEXT", 0, 1), "value": ("TEXT", 1, 0)}),
    "worker.log.38": ("export_state", {"id": ("INTEGER", 0, 1), "last_seq": ("INTEGER", 1, 0, "0")}),
}
_INDEXES = {
    "worker.log.31": ("idx_messages_to_seq", ["to_agent", "seq"]),
    "worker.log.32": ("idx_messages_correlation_seq", ["correlation_id", "seq"]),
    "worker.log.33": ("idx_messages_type_from_ts", ["type", "from_agent", "ts_ms"]),
}
