"""log: a message is stored as it was sent, durably, in the seed's tables, until its time is over."""

from __future__ import annotations

import re
import shutil
import sqlite3
import threading
import time
import uuid
from contextlib import closing
from datetime import datetime
from functools import partial
from typing import Any

from busproof.bus.base import DoorError, Refused
from busproof.bus.session import Session
from busproof.contract.comms import COMMS_METHODS
from busproof.play.scenarios.common import (
    Row,
    at_once,
    definite,
    ids,
    lost_by_opening,
    out_of_time,
    remove,
    said,
    waits_for_ever,
)
from busproof.play.scenarios.comms.common import claim, database, receive, scenario, sees, send, stored, stranger_sends
from busproof.play.scenarios.comms.retry import fail_for_good
from busproof.play.scenarios.gone import Calls, lost, offered
from busproof.play.suite import Ctx

MICROSECONDS = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z")
SEED_COLUMNS = {
    "messages": "id TEXT pk, type TEXT !, version TEXT !, timestamp TEXT !, correlation_id TEXT, from_agent TEXT !,"
    " to_agent TEXT, channel TEXT !, priority INTEGER ! 5, payload TEXT !, status TEXT ! 'pending',"
    " created_at TEXT !, expires_at TEXT, delivery_count INTEGER 0, last_delivered_at TEXT, error TEXT",
    "channel_subscriptions": "channel_name TEXT ! pk, agent_id TEXT ! pk, subscribed_at TEXT !",
    "agent_status": "agent_id TEXT pk, status TEXT !, current_task TEXT, last_heartbeat TEXT !,"
    " messages_pending INTEGER 0, messages_processed INTEGER 0, error_count INTEGER 0",
    "dead_letter_queue": "id TEXT pk, original_message TEXT !, error TEXT !, moved_at TEXT !, retry_count INTEGER !",
}
SEED_INDEXES = {
    "idx_ready_messages": "messages(channel, status, priority DESC, timestamp) WHERE status = 'pending'",
    "idx_correlation": "messages(correlation_id) WHERE correlation_id IS NOT NULL",
    "idx_expiration": "messages(expires_at) WHERE expires_at IS NOT NULL",
    "idx_agent_channels": "channel_subscriptions(agent_id)",
}


def iso_ms(text: str) -> float:
    """Epoch milliseconds of an ISO 8601 time."""
    return datetime.fromisoformat(text).timestamp() * 1000


@scenario("log.envelope")
def envelope(ctx: Ctx) -> None:
    """Every field arrives as it was sent."""
    a, b = ctx.agent("a"), ctx.agent("b")
    before_ms = time.time() * 1000
    name = send(
        a, "b", message_type="context.query", payload={"query": "q"}, channel="c1", priority=7, correlation_id="req-001"
    )
    came = receive(b, "c1")
    row = came[0] if came else {}
    ctx.expect("comms.log.01", len(came) == 1, f"one message was sent to b on c1, b received {came}")
    ctx.expect("comms.log.02", row.get("id") == name, f"the id that was returned is {name!r}, the message's {row}")
    try:
        is_uuid = str(uuid.UUID(str(row.get("id")))) == str(row.get("id")).lower()
    except ValueError:
        is_uuid = False
    ctx.expect("comms.log.03", is_uuid, f"the id is no UUID: {row.get('id')!r}")
    ctx.expect("comms.log.04", row.get("type") == "context.query", f"type: {row}")
    ctx.expect("comms.log.05", row.get("version") == "1.0", f"version: {row}")
    now_ms = ctx.now_ms if ctx.hello.clock == "manual" else before_ms
    try:
        is_now = abs(iso_ms(str(row.get("timestamp"))) - now_ms) < 60_000
    except (ValueError, TypeError):
        is_now = False
    ctx.expect("comms.log.06", is_now, f"timestamp is not the time of the sending: {row.get('timestamp')!r}")
    ctx.expect("comms.log.07", row.get("correlation_id") == "req-001", f"correlation_id: {row}")
    ctx.expect("comms.log.08", row.get("from_agent") == "a", f"from_agent: {row}")
    ctx.expect("comms.log.09", row.get("to_agent") == "b", f"to_agent: {row}")
    ctx.expect("comms.log.10", row.get("channel") == "c1", f"channel: {row}")
    ctx.expect("comms.log.11", row.get("priority") == 7, f"priority: {row}")
    ctx.expect("comms.log.12", row.get("payload") == {"query": "q"}, f"payload: {row}")
    ctx.expect(
        "comms.log.58",
        bool(MICROSECONDS.fullmatch(str(row.get("timestamp")))),
        f"timestamp {row.get('timestamp')!r} is not UTC with microseconds and Z",
    )
    c = ctx.agent_in_real_time("c")

    def sent() -> list[float]:
        name = send(c, "c", payload={"n": time.time_ns()})  # a bus may give a row its content's id
        texts = [row["timestamp"] for row in receive(c) if row["id"] == name]
        return [iso_ms(text) for text in texts if "." in text]  # whole seconds claim to be no more than that

    odd = out_of_time(sent)
    ctx.expect("comms.log.06", not odd, f"sent now, at {time.time() * 1000:.3f} ms, with a timestamp of {odd}")


@scenario("log.defaults")
def defaults(ctx: Ctx) -> None:
    """The defaults are `general`, 5, and no answer to anything."""
    a, b = ctx.agent("a"), ctx.agent("b")
    send(a, "b")
    message = receive(b)[0]
    good = (message["channel"], message["priority"], message.get("correlation_id")) == ("general", 5, None)
    ctx.expect("comms.log.13", good, f"channel, priority and correlation_id that were not given are {message}")


@scenario("log.unique_ids")
def unique_ids(ctx: Ctx) -> None:
    """No two messages share an id."""
    a, b = ctx.agent("a"), ctx.agent("b")
    names = [send(s, "c") for _ in range(20) for s in (a, b)]
    ctx.expect("comms.log.14", len(set(names)) == 40, f"40 messages got {len(set(names))} ids")


@scenario("log.payload_values")
def payload_values(ctx: Ctx) -> None:
    """Any JSON object that was sent is received as it was."""
    a, b = ctx.agent("a"), ctx.agent("b")
    payloads: list[dict[str, Any]] = [
        {},
        {"": ""},
        {"a": None, "b": False, "c": 0, "d": [], "e": {}},
        {"n": 2**53, "m": -1.5e300, "z": 0.1},
        {"u": 'ü €\u2028\u0000\n"\\ 🚌'},
        {"deep": [[[{"x": [1, {"y": None}]}]]]},
        {"long": "x" * 20_000},
    ]
    sent = {send(a, "b", payload=payload): payload for payload in payloads}
    came = {message["id"]: message["payload"] for message in receive(b)}
    wrong = {name: (payload, came.get(name)) for name, payload in sent.items() if came.get(name) != payload}
    ctx.expect("comms.log.15", not wrong, f"sent and received differ: {str(wrong)[:400]}")


@scenario("log.survives_kill")
def survives_kill(ctx: Ctx) -> None:
    """An acknowledged message is there for another process after the sender's death."""
    a = ctx.agent("a")
    names = [send(a, "b") for _ in range(5)]
    ctx.crash(a)
    came = ids(receive(ctx.agent("b")))
    ctx.expect(
        "comms.log.16", sorted(came) == sorted(names), f"sent {names}, then the sender was killed; b received {came}"
    )


@scenario("log.tables", needs=("sqlite",))
def tables(ctx: Ctx) -> None:
    """messages.db has the seed's tables and indexes, in WAL mode, and a sent message is a row of `messages`."""
    a = ctx.agent("a")
    name = send(a, "b", payload={"k": [1]})
    with database(ctx) as db:
        for number, (table, wanted) in enumerate(SEED_COLUMNS.items(), 17):
            rows = db.execute(f"SELECT * FROM pragma_table_info('{table}')").fetchall()
            have = ", ".join(
                f"{r['name']} {r['type']}"
                + " !" * r["notnull"]
                + f" {r['dflt_value']}" * (r["dflt_value"] is not None)
                + " pk" * bool(r["pk"])
                for r in rows
            )
            ctx.expect(f"comms.log.{number}", have == wanted, f"{table} has {have}; the seed has {wanted}")
        have_indexes = {
            r["name"]: " ".join(r["sql"].split("ON", 1)[1].split())
            for r in db.execute("SELECT name, sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL")
        }
        wrong = {n: have_indexes.get(n) for n, wanted in SEED_INDEXES.items() if have_indexes.get(n) != wanted}
        ctx.expect("comms.log.21", not wrong, f"indexes: {wrong}; the seed's are {SEED_INDEXES}")
        mode = db.execute("PRAGMA journal_mode").fetchone()[0]
        ctx.expect("comms.log.22", mode == "wal", f"journal_mode is {mode}")
    row = stored(ctx, name)
    good = (
        row.get("status") == "pending"
        and row.get("delivery_count") == 0
        and row.get("payload") in ('{"k": [1]}', '{"k":[1]}')
    )
    ctx.expect("comms.log.23", good, f"the row of a message that was just sent: {row}")


@scenario("log.layout", needs=("sqlite",))
def layout(ctx: Ctx) -> None:
    """Opening creates the folders and files of the seed's tree."""
    ctx.agent("a")
    claude = ctx.store / ".claude"
    there = (claude / "communications" / "messages.db").is_file()
    ctx.expect("comms.log.24", there, "there is no .claude/communications/messages.db")
    version = claude / "communications" / "protocol_version.txt"
    said_version = version.read_text().strip() if version.is_file() else None
    ctx.expect("comms.log.25", said_version == "1.0", f"protocol_version.txt says {said_version!r}")
    ctx.expect("comms.log.26", (claude / "artifacts").is_dir(), "there is no .claude/artifacts")


@scenario("log.another_version", needs=("sqlite",))
def another_version(ctx: Ctx) -> None:
    """A project of another protocol version is not written to."""
    send(ctx.agent("a"), "b")
    claude = ctx.store / ".claude"
    (claude / "communications" / "protocol_version.txt").write_text("2.0")
    if (claude / "artifacts").is_dir():
        (claude / "artifacts").rmdir()
    database_ = claude / "communications" / "messages.db"
    remove(database_)
    with closing(sqlite3.connect(database_)) as db:
        db.execute("CREATE TABLE theirs (id)")
    before = {path: path.is_file() and path.read_bytes() for path in claude.rglob("*")}
    try:
        ctx.agent("b")
        why = "it was opened"
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
    after = {path: path.is_file() and path.read_bytes() for path in claude.rglob("*")}
    changed = sorted(str(path.relative_to(claude)) for path in after if before.get(path) != after[path])
    good = "SCHEMA_MISMATCH" in why and changed == []
    ctx.expect("comms.log.57", good, f"protocol_version.txt says 2.0: {why}; made or changed meanwhile: {changed}")


@scenario("log.open_again")
def open_again(ctx: Ctx) -> None:
    """Opening a project that is there changes nothing in it."""
    name = send(ctx.agent("a"), "b")
    first, second = ctx.agent("b"), ctx.agent("b")
    ctx.expect(
        "comms.log.27", sees(first, name) and sees(second, name), "a message was gone after others opened the project"
    )
    if ctx.has("blob"):
        shutil.rmtree(ctx.store / ".claude" / "artifacts", ignore_errors=True)  # somebody tidied up
        written = ctx.agent("tidy").refusal("write_artifact", task_id="t", name="result.json", content={"n": 1})
        if written is not None:  # the row of another item (decision 0033)
            ctx.expect("comms.log.26", False, f"with the artifacts' folder gone, a process that opens: {said(written)}")
    if ctx.has("sqlite"):
        lost = lost_by_opening(ctx, partial(database, ctx), lambda: sees(ctx.agent("late"), name))
        ctx.expect("comms.log.27", not lost, f"a file was opened: {'; '.join(lost)}")
    first_calls(ctx)


AT_ONCE, FIRSTS, FIRSTS_S = 8, 40, 3.0


def first_calls(ctx: Ctx) -> None:
    """Processes open a new project at the same moment, or make the first calls of an agent; none is turned away.

    They meet by luck, at one project and one agent after the other, for as long as there is time.
    """
    sessions = [ctx.agent("a") for _ in range(AT_ONCE)]
    until_s = time.monotonic() + FIRSTS_S
    for number in range(FIRSTS):
        project = ctx.store / f"project {number}"
        project.mkdir()
        agent_id = f"first {number}"
        calls: tuple[tuple[str, str, Row], ...] = (
            ("comms.log.27", "open", {"store": str(project), "options": {}}),
            ("comms.presence.01", "send_heartbeat", {"agent_id": agent_id, "status": "idle"}),
            ("comms.route.20", "subscribe_to_channel", {"agent_id": agent_id, "channel_name": "c"}),
            ("comms.blob.03", "write_artifact", {"agent_id": agent_id, "task_id": "t", "content": 1}),
        )
        for row, method, params in calls:
            if method != "open" and not ctx.has(COMMS_METHODS[method].noun or ""):
                continue
            # Each writes an artifact of its own: together they make its folder alone.
            own: list[Row] = [
                {"name": f"{place}.json"} if method == "write_artifact" else {} for place in range(AT_ONCE)
            ]
            works = [partial(s.call, method, **params, **more) for s, more in zip(sessions, own, strict=True)]
            refused = [str(result) for result in at_once(*works) if isinstance(result, DoorError)]
            if refused:
                ctx.expect(row, False, f"{AT_ONCE} processes at once, each with a first {method}: {refused[0]}")
                return
        if time.monotonic() > until_s:
            return


@scenario("log.waits_for_a_lock", needs=("sqlite",))
def waits_for_a_lock(ctx: Ctx) -> None:
    """A writer that finds the file locked waits for it."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = send(a, "b")
    with database(ctx) as db:
        db.execute("BEGIN IMMEDIATE")
        result: list[Any] = []

        def work() -> None:
            try:
                result.append(send(a, "b"))
                result.append(claim(b, name))
            except Exception as error:
                result.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        time.sleep(0.4)
        reader = ctx.agent("b")
        reads = sees(reader, name)
        under_lock = _refused_views(ctx, reader)
        db.execute("COMMIT")
        thread.join()
    good = len(result) == 2 and result[1] is True
    ctx.expect("comms.log.28", good, f"a send and a claim while another held the lock for 0.4 s: {result}")
    stuck = under_lock - _refused_views(ctx, reader)
    why = f"while another held the write lock, a read showed the message: {reads}; refused then alone: {stuck}"
    ctx.expect("comms.log.29", reads and not stuck, why)


def _refused_views(ctx: Ctx, reader: Session) -> set[str]:
    views = {"get_agent_health": "presence", "get_subscribed_channels": "route"}
    return {view for view, noun in views.items() if ctx.has(noun) and reader.refusal(view, agent_id="b")}


@scenario("log.a_lock_that_stays", needs=("sqlite",), is_long=True)
def a_lock_that_stays(ctx: Ctx) -> None:
    """A send for which there is no lock is answered, though the lock stays."""
    agent = ctx.agent("a")
    send(agent, "b")
    wrong = waits_for_ever(ctx, agent, "send_message", to_agent="b", message_type="note", payload={})
    ctx.expect("comms.log.99", not wrong, wrong)


@scenario("log.bad_envelopes")
def bad_envelopes(ctx: Ctx) -> None:
    """A call that the envelope does not allow is refused, and nothing is stored."""
    a, b = ctx.agent("a"), ctx.agent("b")

    def asked(**params: Any) -> Refused | None:
        return a.refusal("send_message", **{"to_agent": "b", "message_type": "t", "payload": {}, **params})

    def soft(**params: Any) -> str:
        answer = asked(**params)
        return "" if definite(answer) else f"{params}: {said(answer)}"

    for row, cases in (
        ("comms.log.30", [{"priority": value} for value in (0, 11, -1, "5", 5.5, None)]),
        ("comms.log.31", [{"payload": value} for value in NO_OBJECTS]),
        ("comms.log.32", [{field: None} for field in ("message_type", "from_agent", "channel")]),
    ):
        answers = [(case, asked(**case)) for case in cases]
        why = "; ".join(f"{case}: {said(answer)}" for case, answer in answers if not definite(answer))
        ctx.expect(row, all(answer is not None for _, answer in answers), why)
        if not all(answer is None or answer.definite for _, answer in answers):
            ctx.expect("comms.limit.15", False, why)  # refused, but nobody knows whether for good
    bad = [*filter(None, (soft(priority=True), soft(payload={"x": float("nan")})))]
    ctx.expect("comms.log.33", not bad, "; ".join(bad))
    left = receive(b)
    ctx.expect("comms.log.34", len(left) <= len(bad), f"{len(bad)} were not refused; b received {left}")


@scenario("log.any_correlation")
def any_correlation(ctx: Ctx) -> None:
    """A correlation id may be any text."""
    a, b = ctx.agent("a"), ctx.agent("b")
    wanted = ["req-001", str(uuid.UUID(int=7)), "ü 1"]
    for text in wanted:
        send(a, "b", correlation_id=text)
    came = [message["correlation_id"] for message in receive(b)]
    ctx.expect("comms.log.35", came == wanted, f"sent {wanted}, received {came}")


@scenario("log.expiry", needs=("clock",))
def expiry(ctx: Ctx) -> None:
    """A message past its TTL is neither shown nor claimable, and the clean-up removes and counts it."""
    a, b = ctx.agent("a"), ctx.agent("b")
    short, long = send(a, "b", ttl_seconds=10), send(a, "b", ttl_seconds=1000)
    shared = send(a, ttl_seconds=10)
    ctx.advance(9_999)
    early, nothing = sees(b, short), a.call("cleanup_expired_messages")["deleted"]
    ctx.expect("comms.log.36", early and nothing == 0, f"1 ms before its TTL: shown {early}, {nothing} removed")
    ctx.advance(1)
    late = sees(b, short)
    ctx.expect("comms.log.37", not late, "a message past its TTL was received")
    ctx.expect("comms.log.38", not claim(b, short) and not claim(b, shared), "a message past its TTL was claimed")
    deleted = a.call("cleanup_expired_messages")["deleted"]
    again = a.call("cleanup_expired_messages")["deleted"]
    ctx.expect("comms.log.39", (deleted, again) == (2, 0), f"two messages are past their TTL: {deleted}, then {again}")
    ctx.expect("comms.log.40", sees(b, long), "the clean-up took a message whose TTL is not over")
    if ctx.has("sqlite"):
        ctx.expect("comms.log.41", not stored(ctx, short), "an expired message is still a row after the clean-up")


STANDARD: dict[str, tuple[dict[str, Any], list[dict[str, Any]]]] = {
    "context.query": ({"query": "q", "aspects": ["a"]}, [{}, {"query": 1}, {"query": "q", "aspects": "a"}]),
    "context.response": (
        {"context": {"k": 1}, "artifact_path": ".claude/artifacts/a/t/r.json"},
        [{}, {"context": "text"}, {"context": {}, "artifact_path": 1}],
    ),
    "task.claim": ({"task_id": "t"}, [{}, {"task_id": 1}]),
    "task.update": (
        {"task_id": "t", "status": "s", "progress": 0.5},
        [{"task_id": "t"}, {"status": "s"}, {"task_id": "t", "status": "s", "progress": "half"}],
    ),
    "vote.initiate": (
        {"topic": "t", "options": ["x", "y"], "deadline": "2099-01-01T00:00:00Z"},
        [
            {"topic": "t", "options": ["x", "y"]},
            {"topic": "t", "options": "x", "deadline": "2099-01-01T00:00:00Z"},
            {"topic": "t", "options": ["x", "y"], "deadline": "soon"},
        ],
    ),
    "broadcast": ({"message": "m", "severity": "low"}, [{"message": "m"}, {"message": 1, "severity": "low"}]),
    "heartbeat": ({"status": "idle", "current_task": "t"}, [{}, {"status": "idle", "current_task": 1}]),
}


@scenario("log.damaged_row", needs=("sqlite",))
def damaged_row(ctx: Ctx) -> None:
    """A stranger's payload that is no JSON, or no object, breaks its own message alone."""
    a, b = ctx.agent("a"), ctx.agent("b")
    stranger_sends(ctx, "00000000-0000-4000-8000-000000000002", to_agent="b", payload="{no JSON")
    stranger_sends(ctx, "00000000-0000-4000-8000-000000000003", to_agent="b", payload="[1]")
    name = send(a, "b")
    try:
        shown = sees(b, name)
        why = "the message beside it was not received"
    except DoorError as error:
        shown, why = False, str(error)
    ctx.expect("comms.log.88", shown, f"a row's payload is no JSON, another's a list: {why}")


@scenario("log.standard_types")
def standard_types(ctx: Ctx) -> None:
    """A payload that keeps to the schema of its standard type is sent; other types are free."""
    a, b = ctx.agent("a"), ctx.agent("b")
    for number, (name, (good, _)) in enumerate(STANDARD.items(), 43):
        minimal = {key: value for key, value in good.items() if key not in OPTIONAL}
        more = {**good, "more": 1}
        answers = [a.refusal("send_message", to_agent="b", message_type=name, payload=p) for p in (good, minimal, more)]
        why = f"{name}, whole, without its optional fields, and with one more: {[said(r) for r in answers]}"
        ctx.expect(f"comms.log.{number}", answers == [None] * 3, why)
    free = send(a, "b", message_type="task.complete", payload={"task_id": "t", "summary": "s"})
    ctx.expect("comms.log.51", sees(b, free), "a message of a type that is not standard did not arrive")


@scenario("log.broken_schemas")
def broken_schemas(ctx: Ctx) -> None:
    """A payload that breaks the schema of its standard type is refused."""
    a = ctx.agent("a")
    soft = [
        f"{name} {payload}"
        for name, (_, bad) in STANDARD.items()
        for payload in bad
        if not definite(a.refusal("send_message", to_agent="b", message_type=name, payload=payload))
    ]
    ctx.expect("comms.log.89", not soft, f"accepted: {'; '.join(soft)}")


OPTIONAL = {"aspects", "artifact_path", "progress", "current_task"}


def _closes_for_some(sessions: list[Session], opened: Row) -> str:
    """How processes, which live in several zones, differ on a vote; empty: it is closed for all or for nobody."""
    votes: list[str | None] = []
    for session in sessions:
        try:
            votes.append(send(session, message_type="vote.initiate", payload=opened))
        except Refused:
            votes.append(None)
    closed = {vote: [session.call("tally", vote_id=vote)["closed"] for session in sessions] for vote in votes if vote}
    is_one = len({vote is None for vote in votes}) == 1 and all(len(set(ends)) == 1 for ends in closed.values())
    return "" if is_one else f"taken by {len(closed)} of {len(votes)} processes, closed for each: {[*closed.values()]}"


@scenario("log.vote_cast", needs=("votes", "clock"))
def vote_cast(ctx: Ctx) -> None:
    """One vote an agent, its last; only for an option of a vote that is there and open; a tally that then stays."""
    a, b, c = (ctx.agent(name) for name in "abc")
    deadline = "2026-01-10T14:10:00Z"
    opened = {"topic": "t", "options": ["x", "y"], "deadline": deadline}
    differ = _closes_for_some([a, b, c], {**opened, "deadline": "2026-01-10T14:05:00"})
    ctx.expect("comms.log.61", not differ, f"a vote until 14:05, told without a zone: {differ}")
    vote, tied = (send(a, message_type="vote.initiate", payload=opened) for _ in range(2))

    def cast(session: Any, **said_: Any) -> Any:
        return session.refusal("send_message", message_type="vote.cast", payload={"vote_id": vote, **said_})

    shapes: list[dict[str, Any]] = [{}, {"option": 1}, {"option": "x", "reasoning": 1}]
    soft = [shape for shape in shapes if not definite(cast(b, **shape))]
    accepted = (cast(b, option="x", reasoning="because"), cast(c, option="x"), cast(c, option="y"), cast(a, option="y"))
    ctx.expect(
        "comms.log.50",
        accepted == (None,) * 4 and not soft,
        f"vote.cast: {[said(r) for r in accepted]}; accepted bad payloads: {soft}",
    )
    unknown = (
        cast(b, option="z"),
        b.refusal("send_message", message_type="vote.cast", payload={"vote_id": str(uuid.UUID(int=1)), "option": "x"}),
    )
    ctx.expect(
        "comms.log.59",
        all(definite(r) for r in unknown),
        f"a cast for no option, and for no vote: {[said(r) for r in unknown]}",
    )
    cast(b, option="x", vote_id=tied)
    cast(c, option="y", vote_id=tied)
    ctx.advance(10 * 60_000 - 1)
    before = a.call("tally", vote_id=vote)
    ctx.advance(1)
    at = a.call("tally", vote_id=vote)
    late = cast(b, option="y")
    after = a.call("tally", vote_id=vote)
    counts, of_first_votes = {"x": 1, "y": 2}, {"x": 2, "y": 1}  # whose vote stays is a choice (C15)
    ctx.expect("comms.log.60", before["counts"] == counts, f"b: x, c: x then y, a: y; the tally is {before}")
    ctx.expect(
        "comms.log.61",
        definite(late) and after["counts"] == before["counts"] and after["counts"] in (counts, of_first_votes),
        f"a cast at the deadline: {said(late)}; the tally is {after}",
    )
    wins = ["x"] if before["counts"] == of_first_votes else ["y"]
    closed = (before["closed"], at["closed"], at["winners"]) == (False, True, wins)
    ctx.expect("comms.log.62", closed, f"the tally 1 ms before the deadline: {before}, at it: {at}")
    ctx.expect("comms.log.62", after == at, f"the tally at the deadline: {at}, after a late cast: {after}")
    both = a.call("tally", vote_id=tied)["winners"]
    ctx.expect("comms.log.62", sorted(both) == ["x", "y"], f"b cast x, c cast y; the winners are {both}")
    many, later = 1001, "2026-01-10T14:20:00Z"  # votes, more than any page holds: those of the last agents decide
    crowded = send(a, message_type="vote.initiate", payload={**opened, "deadline": later})
    for number in range(many):
        ballot = {"vote_id": crowded, "option": "xy"[number > many // 2 - 1]}
        send(b, "a", from_agent=f"voter {number:04}", message_type="vote.cast", payload=ballot)
    ctx.advance(10 * 60_000)
    final = a.call("tally", vote_id=crowded)
    wanted = ({"x": many // 2, "y": many // 2 + 1}, ["y"])
    ctx.expect("comms.log.62", (final["counts"], final["winners"]) == wanted, f"of {many} votes the tally is {final}")


NO_OBJECTS: list[Any] = [[], "text", 1, None, True]

GOOD = {
    "id": "550e8400-e29b-41d4-a716-446655440000",
    "type": "context.query",
    "version": "1.0",
    "timestamp": "2025-11-08T15:30:00Z",
    "correlation_id": "req-001",
    "from_agent": "frontend-dev-01",
    "to_agent": "context-manager",
    "channel": "general",
    "priority": 5,
    "payload": {"query": "q"},
}
REQUIRED = ("id", "type", "version", "timestamp", "from_agent", "channel", "priority", "payload")


@scenario("log.validate", needs=("validate",))
def validate(ctx: Ctx) -> None:
    """validate_message accepts the seed's own example, and names all faults of other messages."""
    a = ctx.agent("a")

    def judged(message: Any) -> tuple[bool, list[str]]:
        try:
            reply = a.call("validate_message", message=message)
        except Refused as error:
            return True, [f"no answer but {error}"]
        return reply["valid"], reply["errors"]

    def without(*fields: str, **more: Any) -> dict[str, Any]:
        return {**{key: value for key, value in GOOD.items() if key not in fields}, **more}

    good = judged(GOOD), judged(without("correlation_id", "to_agent"))
    ctx.expect("comms.log.52", good == ((True, []),) * 2, f"the seed's example: {good}")
    missed = [f for f in REQUIRED if judged(without(f))[0] or not any(f in e for e in judged(without(f))[1])]
    ctx.expect("comms.log.53", not missed, f"missing and not told: {missed}")
    priorities: list[Any] = [0, 11, "5", 5.5]
    soft = [value for value in priorities if judged(without(priority=value))[0]]
    ctx.expect("comms.log.54", not soft, f"priorities that were not found invalid: {soft}")
    bad_payloads: list[Any] = [[], "text", None]
    soft_payloads = [value for value in bad_payloads if judged(without(payload=value))[0]]
    ctx.expect("comms.log.55", not soft_payloads, f"payloads that were found valid: {soft_payloads}")
    soft_versions = [value for value in ("2.0", "", None) if judged(without(version=value))[0]]
    ctx.expect("comms.log.56", not soft_versions, f"versions that were found valid: {soft_versions}")
    every = judged(without("type", priority=11, version="9"))[1]
    ctx.expect("comms.log.63", len(every) >= 3, f"a message with three faults: {every}")
    fields: dict[str, Any] = {
        "priority": True,
        "id": "not-a-uuid",
        "timestamp": "yesterday",
        "from_agent": 1,
        "channel": None,
    }
    soft_fields = [f"{k}={v!r}" for k, v in fields.items() if judged(without(**{k: v}))[0]]
    soft_fields += [repr(value) for value in bad_payloads if judged(value)[0]]
    ctx.expect("comms.log.64", not soft_fields, f"found valid: {', '.join(soft_fields)}")


@scenario("log.idempotent_send", needs=("idempotent_send",))
def idempotent_send(ctx: Ctx) -> None:
    """The same id and content again is the first message; another content is refused."""
    a, b = ctx.agent("a"), ctx.agent("b")
    name = str(uuid.UUID(int=12345))
    message: Row = {"to_agent": "b", "message_type": "note", "payload": {"n": 1}, "message_id": name}
    first = a.call("send_message", **message)["message_id"]
    changes: list[Row] = [{"payload": {"n": 2}}, {"to_agent": "c"}, {"priority": 9}]
    others = [a.refusal("send_message", **{**message, **change}) for change in changes]
    ctx.expect(
        "comms.log.66",
        all(definite(r, "ID_CONFLICT") for r in others),
        f"the id again, with {changes}: {[said(r) for r in others]}",
    )
    again = [a.refusal("send_message", **message) for _ in range(2)]
    replies = [first, *(name if refusal is None else said(refusal) for refusal in again)]
    came = [(row["id"], row["payload"]) for row in receive(b)]
    good = replies == [name] * 3 and came == [(name, {"n": 1})]
    ctx.expect("comms.log.65", good, f"three sends with one id answered {replies}; b received {came}")


@scenario("log.removed", needs=("sqlite",))
def removed(ctx: Ctx) -> None:
    """The file goes, or another takes its place; later openers of the store find all that is accepted from then on."""
    nobody_finds = lost(ctx, with_all_that_changes)
    ctx.expect("comms.log.92", not nobody_finds, f"accepted, and found by nobody {'; '.join(nobody_finds)}")


def with_all_that_changes(ctx: Ctx) -> tuple[Session, Calls]:
    """A store on which every method that changes one has something to change."""
    a = ctx.agent("a")
    send(a, "a", ttl_seconds=1)
    letter = send(a, "a")
    if ctx.hello.clock == "manual":
        fail_for_good(ctx, a, letter)
    names = [send(a, "a") for _ in range(3)]
    claim(a, names[1])
    a.call("subscribe_to_channel", channel_name="old")
    request = next(message for message in receive(a) if message["id"] == names[0])
    note: Row = {"to_agent": "a", "message_type": "note", "payload": {"n": 1}}
    calls: Calls = {
        "send_message": note,
        "send_with_retry": note,
        "send_response": {"original_message": request, "response_payload": {"n": 1}},
        "claim_message": {"message_id": names[2]},
        "complete_message": {"message_id": names[1]},
        "request": {**note, "timeout_seconds": 0},
        "subscribe_to_channel": {"channel_name": "new"},
        "unsubscribe_from_channel": {"channel_name": "old"},
        "send_heartbeat": {"status": "active", "current_task": "new"},
        "cleanup_expired_messages": {},
        "redrive": {"id": letter},
    }
    return a, offered(ctx, calls)


@scenario("log.strangers_row", needs=("sqlite",))
def strangers_row(ctx: Ctx) -> None:
    """A row that a process with SQLite bindings inserted is a message like any other."""
    b = ctx.agent("b")
    stranger_sends(ctx, "00000000-0000-4000-8000-000000000001", to_agent="b")
    came = ids(receive(b))
    ctx.expect("comms.log.67", came == ["00000000-0000-4000-8000-000000000001"], f"b received {came}")
    took = claim(b, "00000000-0000-4000-8000-000000000001")
    ctx.expect("comms.log.68", took, "a stranger's message could not be claimed")
