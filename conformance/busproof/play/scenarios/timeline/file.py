"""log: the file, and the faults that verify finds in one that somebody has changed."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.session import Session
from busproof.contract.timeline import CONTRACT, DB_NAME
from busproof.play.scenarios.common import NOT_JSON_TEXTS, Row, joined, lost_by_opening, said
from busproof.play.scenarios.gone import Calls, lost, offered
from busproof.play.scenarios.halves import TIMES, halves
from busproof.play.scenarios.timeline.common import ANY_REQUEST, fetch, invoke, log, record, request, scenario, send
from busproof.play.suite import Ctx

# A change that keeps the value's length; for a number, one more.
CHANGES = {
    "subject": "substr(subject, 1, length(subject) - 1) || '9'",
    "nonce": "'other'",
    "state": "lower('AB') || substr(coalesce(state, ''), 3)",
    "payload": "replace(payload, 'n', 'm')",
    "time_us": "time_us + 1",
    "previous": "'f' || substr(previous, 2)",
    "hash": "'g' || substr(hash, 2)",
}
# Values that no message holds: each is found, and stops nobody from looking at the rest.
UNFIT = {
    "subject": ("''", "'no subject'", "subject || '.9'", "x'00ff'"),
    "payload": ("'{'", "x'00ff'", "''"),
    "time_us": ("'soon'", "-1"),
    "previous": ("''", "x'00ff'"),
    "hash": ("''", "x'00ff'"),
}
# A character of one field goes to its neighbour: a hash that runs the fields together stays the same.
MOVED = (
    {"payload": "payload || substr(time_us, 1, 1)", "time_us": "CAST(substr(time_us, 2) AS INTEGER)"},
    {"nonce": "nonce || substr(payload, 1, 1)", "payload": "substr(payload, 2)"},
    {"state": "substr(state, 1, length(state) - 1)", "payload": "substr(state, length(state)) || payload"},
)


@scenario("log.tables", needs=("sqlite",))
def tables(ctx: Ctx) -> None:
    """The file has the page's tables and columns."""
    send(ctx.agent("a"), request())
    with record(ctx) as db:
        mode = db.execute("PRAGMA journal_mode").fetchone()[0]
        faults = [] if mode == "wal" else [f"journal_mode is {mode}"]
        for table, columns in wanted_columns().items():
            have = {row["name"] for row in db.execute(f"SELECT name FROM pragma_table_info('{table}')")}
            faults += [f"{table} has no {name}" for name in columns if name not in have]
    ctx.expect("timeline.log.32", not faults, f"the file: {', '.join(faults)}")
    _without_an_index(ctx)


def _without_an_index(ctx: Ctx) -> None:
    """A file that another program made may lack an index that this bus has. To open it loses nothing that was done."""
    a = ctx.agent("in-hand")
    send(a, request(2))
    held = [fetch(a, ANY_REQUEST) for _ in range(2)]
    if held[0] is not None:
        a.call("ack", delivery=held[0]["delivery"])

    def opens() -> None:
        with suppress(DoorError):  # it may refuse the file
            log(ctx.agent("late"))

    if lost := lost_by_opening(ctx, partial(record, ctx), opens):
        ctx.expect("timeline.log.09", False, f"a file was opened: {'; '.join(lost)}")  # the row of another item


def wanted_columns() -> dict[str, list[str]]:
    """The columns of the contract's statements, as SQLite reads them."""
    db = sqlite3.connect(":memory:")
    db.executescript(CONTRACT.tables)
    named = [
        name
        for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'")
    ]
    columns = {name: [row[1] for row in db.execute(f"PRAGMA table_info({name})")] for name in named}
    db.close()
    return columns


def faults_of(session: Session, **params: Any) -> tuple[bool, set[tuple[str, int]]]:
    """verify's ok, and the places where it finds a fault."""
    reply = session.call("verify", **params)
    return reply["ok"], {(fault["timeline"], fault["number"]) for fault in reply["faults"]}


def written(ctx: Ctx) -> Session:
    """Five messages on main, and a fork of it at 3 with one of its own."""
    writer = ctx.agent("w")
    for n in range(1, 5):
        send(writer, request(n), {"n": n})
    writer.call("reply", key=request(1), payload={"n": "done"})
    writer.call("fork", timeline="branch", submission="s1", agent_name="ann", parent="main", at=3)
    return writer


@scenario("log.tampering", needs=("sqlite", "verify"))
def tampering(ctx: Ctx) -> None:
    """Each field of a message is changed in its turn; verify names the place, and is content when it is mended."""
    writer = written(ctx)
    unnoticed = []
    tried = [(column, change, "main", 5 if column == "state" else 2) for column, change in CHANGES.items()]
    for place in (("main", 1), ("main", 2), ("branch", 4)):  # the first of a record, of none, and of a fork
        tried += [(column, change, *place) for column, changes in UNFIT.items() for change in changes]
    for column, change, timeline, number in tried:
        with changed(ctx, number, {column: change}, timeline):
            ok, places = faults_of(writer)
        if ok or not places & {(timeline, number), (timeline, number + 1)}:
            unnoticed.append(f"{column} = {change} of {timeline} {number} (faults at {sorted(places)})")
    ok, places = faults_of(writer)
    ctx.expect("timeline.log.21", not unnoticed and ok, f"not found: {unnoticed}; mended, it finds {sorted(places)}")


@scenario("log.whole_fields", needs=("sqlite", "verify"))
def whole_fields(ctx: Ctx) -> None:
    """In any form, the hash is of every field, and of each alone: a character moved from one to the next is found."""
    writer = ctx.agent("w")
    send(writer, invoke(), 12)
    to = {"type": "delegate", "timeline": "main", "submission": "s1", "caller": "ann", "target": "bob"}
    send(writer, to, 12, nonce="n")
    writer.call("reply", key=invoke(), payload=12, state={"a": 1})
    unnoticed = []
    for number, change in ((3, {"state": CHANGES["state"]}), (2, {"nonce": "'o'"}), *enumerate(MOVED, 1)):
        with changed(ctx, number, change):
            ok, _ = faults_of(writer)
        if ok:
            unnoticed.append(f"{' and '.join(change)} of number {number}")
    ctx.expect("timeline.log.18", not unnoticed, f"verify finds no fault, with another {', another '.join(unnoticed)}")


@contextmanager
def changed(ctx: Ctx, number: int, changes: dict[str, str], timeline: str = "main") -> Iterator[None]:
    """A message with other fields, for a while."""
    where = f"WHERE timeline = '{timeline}' AND number = ?"
    with record(ctx) as db:
        before = db.execute(f"SELECT {', '.join(changes)} FROM messages {where}", (number,)).fetchone()
        sets = ", ".join(f"{column} = {change}" for column, change in changes.items())
        db.execute(f"UPDATE messages SET {sets} {where}", (number,))
    yield
    with record(ctx) as db:
        db.execute(f"UPDATE messages SET {', '.join(f'{column} = ?' for column in changes)} {where}", (*before, number))


@scenario("log.cut_chain", needs=("sqlite", "verify"))
def cut_chain(ctx: Ctx) -> None:
    """A message is taken out; another is put in, with a hash of its own."""
    writer = written(ctx)
    with record(ctx) as db:
        db.execute("BEGIN")
        db.execute("DELETE FROM messages WHERE timeline = 'main' AND number = 2")
        db.execute("COMMIT")
    gone_ok, gone = faults_of(writer)
    with record(ctx) as db:
        db.execute(
            "INSERT INTO messages (timeline, number, submission, type, subject, payload, time_us, previous, hash)"
            " SELECT timeline, 2, submission, type, subject || '7', payload, time_us, previous, hash FROM messages"
            " WHERE timeline = 'main' AND number = 1"
        )
    put_ok, put = faults_of(writer)
    twin = _of_a_twin(ctx)
    with record(ctx) as db:
        db.execute("DELETE FROM messages WHERE timeline = 'main' AND number = 2")
        db.execute(f"INSERT INTO messages ({', '.join(twin)}) VALUES ({', '.join('?' * len(twin))})", [*twin.values()])
    twin_ok, of_twin = faults_of(writer)
    places = f"one put in its place: ok is {put_ok}, {sorted(put)}; a twin record's: ok is {twin_ok}, {sorted(of_twin)}"
    ctx.expect(
        "timeline.log.22",
        not gone_ok and not put_ok and not twin_ok and any(place[0] == "main" for place in gone & put | gone),
        f"number 2 gone: ok is {gone_ok}, faults {sorted(gone)}; {places}",
    )


def _of_a_twin(ctx: Ctx) -> Row:
    """Number 2 of another record that is written alike, but for its content: its hash is that of its fields."""
    folder = ctx.store.with_name("twin")
    folder.mkdir()
    door = ctx.fleet.door(0, folder, {})
    for n in (1, 2):
        door.call("send", {"key": request(n), "payload": {"n": n, "by": "a stranger"}})
    ctx.fleet.give_back(door, retired=False)
    with joined(folder / DB_NAME) as db:
        return dict(db.execute("SELECT * FROM messages WHERE timeline = 'main' AND number = 2").fetchone())


@scenario("log.remembered_head", needs=("sqlite", "verify"))
def remembered_head(ctx: Ctx) -> None:
    """The tail is cut off, and the head moved back: only a bus that remembers the head can tell, and verify does."""
    writer = ctx.agent("w")
    for n in range(1, 4):
        send(writer, request(n), {"n": n})
    last: Row = log(writer)[-1]
    before, _ = faults_of(writer, timeline="main", head=last["hash"])
    with record(ctx) as db:
        db.execute("BEGIN")
        db.execute("DELETE FROM messages WHERE timeline = 'main' AND number = 3")
        db.execute(
            "UPDATE timelines SET number = 2, hash = (SELECT hash FROM messages WHERE timeline = 'main' AND number = 2)"
            " WHERE timeline = 'main'"
        )
        db.execute("COMMIT")
    after, places = faults_of(ctx.agent("v"), timeline="main", head=last["hash"])
    ok = before and not after and any(name == "main" for name, _ in places)
    ctx.expect(
        "timeline.log.23", ok, f"with the head: ok {before}; of a tail cut off: ok {after}, faults {sorted(places)}"
    )


@scenario("log.damaged", needs=("sqlite", "groups"))
def damaged(ctx: Ctx) -> None:
    """Bytes stand where a result has a text: it is shown as damaged, and its agent has no older state meanwhile.

    An invalid subject hides no other message.
    """
    a = ctx.agent("a")
    for n in (1, 2):
        send(a, invoke(f"s{n}"), {"n": n})
        a.call("reply", key=invoke(f"s{n}"), payload={"n": n}, state={"n": n})
    wrong = []
    for column in ("payload", "state", "hash"):
        with changed(ctx, 4, {column: "x'00ff'"}):
            seen = shown(a, "log", timeline="main")
            if seen != [(1, False), (2, False), (3, False), (4, True)]:
                wrong.append(f"{column} damaged, log shows {seen}")
            seen = shown(a, "fetch", filter={"type": "complete", "submission": "s2"}, group=column)
            if seen != [(4, True)]:
                wrong.append(f"{column} damaged, fetch shows {seen}")
            wrong += [f"{column} damaged, {answer}" for answer in not_corrupt(a, ctx.has("calls"))]
    for text in NOT_JSON_TEXTS:
        quoted = text.replace("'", "''")
        with changed(ctx, 4, {"payload": f"'{quoted}'"}):
            seen = shown(a, "log", timeline="main")
            if seen != [(1, False), (2, False), (3, False), (4, True)]:
                wrong.append(f"a payload is {text!r}, log shows {seen}")
    for subject in ("''", "'vlinder'", "'vlinder.main.s2.none.a.b.c'", "x'00ff'"):
        with changed(ctx, 2, {"subject": subject}):
            seen = shown(a, "log", timeline="main")
            if seen != [(1, False), (2, True), (3, False), (4, False)]:
                wrong.append(f"a subject is {subject}, log shows {seen}")
    now = a.call("state", timeline="main", agent="ann")["number"]
    ctx.expect("timeline.log.49", not wrong and now == 4, f"{'; '.join(wrong)}; mended, the newest result is {now}")


def shown(session: Session, method: str, **params: Any) -> list[tuple[int, bool]] | str:
    """The messages' numbers, and which are said to be damaged. A damaged one lacks some of the promised fields."""
    try:
        reply = session.door.call(method, params)
    except DoorError as error:
        return str(error)
    messages = reply["messages"] if "messages" in reply else [reply["message"]]
    return [(row["number"], bool(row.get("payload_error"))) for row in messages if row is not None]


def not_corrupt(session: Session, has_calls: bool) -> list[str]:
    """The calls that need the damaged result, or a state that it hides, and are not told so."""
    calls: dict[str, Row] = {"state": {"timeline": "main", "agent": "ann"}}
    if has_calls:
        dimensions = {name: value for name, value in invoke("s2").items() if name != "type"}
        calls["run_agent"] = {**dimensions, "payload": {"n": 2}, "timeout_ms": 0}
    refusals = {method: session.refusal(method, **params) for method, params in calls.items()}
    return [f"{method}: {said(r)}" for method, r in refusals.items() if r is None or r.code != "CORRUPT"]


@scenario("log.removed", needs=("sqlite",))
def removed(ctx: Ctx) -> None:
    """The file goes, or another takes its place; later openers of the store find all that is accepted from then on."""
    nobody_finds = lost(ctx, with_all_that_changes)
    ctx.expect("timeline.log.50", not nobody_finds, f"accepted, and found by nobody {'; '.join(nobody_finds)}")


def with_all_that_changes(ctx: Ctx) -> tuple[Session, Calls]:
    """A store on which every method that changes one has something to change."""
    a = ctx.agent("a")
    for n in range(4):
        send(a, request(n))
    send(a, invoke())
    held = [message["delivery"] for message in (fetch(a, ANY_REQUEST), fetch(a, ANY_REQUEST)) if message]
    of_main = {"timeline": "main", "submission": "s1", "timeout_ms": 0}
    calls: Calls = {
        "send": {"key": request(9)},
        "reply": {"key": invoke(), "payload": 1, "state": {}},
        "fetch": {"filter": ANY_REQUEST},
        "ack": {"delivery": held[0]},
        "nak": {"delivery": held[1]},
        "run_agent": {**of_main, "harness": "cli", "runtime": "local", "agent": "bob"},
        "call_service": {
            **of_main,
            "agent": "ann",
            "service": "infer",
            "backend": "ollama",
            "operation": "chat",
            "sequence": 8,
        },
        "delegate": {**of_main, "caller": "ann", "target": "bob", "nonce": "n"},
        "fork": {"timeline": "branch", "submission": "s1", "agent_name": "ann", "parent": "main", "at": 1},
    }
    return a, offered(ctx, calls)


WHOLE = {"messages": "timeline, number, hash, state", "timelines": "timeline, parent, at, number, hash"}


@scenario("log.whole", needs=("sqlite",))
def whole(ctx: Ctx) -> None:
    """A send, a reply and a fork are there at once: with the head of their timeline, and a fork with its parent."""
    a, seen = ctx.agent("a"), []
    for n in range(TIMES):
        asked = invoke(f"s{n}")
        fork = {"timeline": f"branch{n}", "submission": f"s{n}", "agent_name": "ann", "parent": "main", "at": 1}
        calls: Calls = {"send": {"key": asked}, "reply": {"key": asked, "payload": n, "state": {"n": n}}, "fork": fork}
        for method, params in calls.items():
            sights = halves(ctx.store / DB_NAME, WHOLE, partial(a.call, method, **params))
            seen += [f"of a {method} {sight}" for sight in sights]
    ctx.expect("timeline.log.51", not seen, f"seen in {len(seen)} of {3 * TIMES} calls: {'; '.join(seen[:3])}")
