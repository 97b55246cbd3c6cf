"""log: the story of a submission, writers that meet, and processes that die."""

from __future__ import annotations

import itertools
import json
import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError, Refused
from busproof.bus.nats import CONFIG_NAME, NatsServer
from busproof.bus.session import Session
from busproof.contract.timeline import DB_NAME
from busproof.play.scenarios.common import Row, definite, joined, raced, said, untrue_limits, untrue_timeout
from busproof.play.scenarios.timeline.common import (
    ANY_INVOKE,
    ANY_REQUEST,
    chain_faults,
    fetch,
    invoke,
    log,
    on_a_server,
    record,
    request,
    scenario,
    send,
)
from busproof.play.suite import Ctx

NEW_TIMELINES = 5
SENT_MEANWHILE = 200
# The mistakes of a person who writes config.toml: no TOML, no table, values of another kind, no such file.
BAD_QUEUES = (
    "[queue\n",
    'queue = "nats"\n',
    *(f"[queue]\n{key} = {value}\n" for key in ("backend", "nats_url", "nats_creds") for value in ("5", "true", "[]")),
    '[queue]\nbackend = "paper"\n',
    '[queue]\nbackend = "nats"\nnats_url = "nowhere"\n',
    '[queue]\nbackend = "nats"\nnats_url = "nats://127.0.0.1:1"\nnats_creds = "/nonexistent/creds"\n',
)


@scenario("log.flow")
def flow(ctx: Ctx) -> None:
    """A harness submits, an agent calls a service, the service answers, the agent finishes: four messages, in order."""
    harness, runtime, service = (ctx.agent(name) for name in ("harness", "runtime", "service"))
    send(harness, invoke(), "hello")
    asked = fetch(runtime, ANY_INVOKE)
    send(runtime, request(), ["hello"])
    called = fetch(service, ANY_REQUEST)
    service.call("reply", key=request(), payload={"text": "hi"})
    answer = fetch(runtime, {"type": "response", "agent": "ann"})
    runtime.call("reply", key=invoke(), payload="hi", state={"turns": 1})
    result = fetch(harness, {"type": "complete", "harness": "cli"})
    came = [row and row["payload"] for row in (asked, called, answer, result)]
    ctx.expect("timeline.log.40", came == ["hello", ["hello"], {"text": "hi"}, "hi"], f"the payloads that came: {came}")
    types = [row["key"]["type"] for row in log(harness)]
    ctx.expect("timeline.log.08", types == ["invoke", "request", "response", "complete"], f"the record has {types}")


@scenario("log.one_head")
def one_head(ctx: Ctx) -> None:
    """Writers that all have looked before any could write, still make one chain, also where none had begun it."""
    writers = [ctx.agent(f"w{n}") for n in range(4)]
    send(writers[0], request(0))
    for timeline, first in (("main", 2), *((f"new{n}", 1) for n in range(NEW_TIMELINES))):
        calls = [lambda w=w, n=n, at=timeline: send(w, request(n, at)) for n, w in enumerate(writers, 1)]
        results = raced(ctx, *calls)
        broken = [str(result) for result in results if isinstance(result, DoorError)]
        numbers = sorted(result["number"] for result in results if not isinstance(result, DoorError))
        faults = [*broken, *chain_faults(log(writers[0], timeline))]
        is_one = not faults and numbers == list(range(first, first + 4))
        ctx.expect("timeline.log.20", is_one, f"numbers {numbers} of {timeline}, {faults}")
    if ctx.has("verify", "fork"):
        _verified_meanwhile(ctx, writers[0], writers[1])
    if ctx.has("sqlite"):
        _opened_together(ctx)
    if ctx.has("nats"):
        _with_strangers(ctx)


def _verified_meanwhile(ctx: Ctx, writer: Session, reader: Session) -> None:
    """The record is sound at every moment: verify finds nothing in it while somebody sends and forks all the time."""

    def write() -> None:
        for n in range(SENT_MEANWHILE):
            number = send(writer, request(n, "busy"))["number"]
            if n % 10 == 0:
                fork = {"timeline": f"busy{n}", "submission": "s1", "agent_name": "ann", "parent": "busy", "at": number}
                writer.call("fork", **fork)

    faults: list[Row] = []
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        while not writing.done():
            faults += reader.call("verify")["faults"]
        writing.result()
    if faults:
        ctx.expect("timeline.log.24", False, f"while messages came: {faults!s:.300}")  # the row of another item


def _opened_together(ctx: Ctx) -> None:
    """Two open a store at once that has no file yet, or one without tables: both are let in, and make one chain."""
    pair = [ctx.agent(name) for name in ("ada", "bob")]
    for has_file in (False, True):
        with suppress(DoorError):
            for agent in pair:
                agent.call("close")
        store = ctx.store.parent / f"new{has_file}"
        store.mkdir()
        if has_file:
            with joined(store / DB_NAME) as db:
                db.execute("PRAGMA journal_mode = WAL")
        opens = [lambda w=w, at=store: w.call("open", store=str(at), options={}) for w in pair]
        failed = [str(result) for result in raced(ctx, *opens, store=store) if isinstance(result, DoorError)]
        if len(failed) == len(pair) and has_file:  # it takes no file that it has not made
            return
        sends = [lambda w=w, n=n: send(w, request(n)) for n, w in enumerate(pair)]
        sent = raced(ctx, *sends, store=store) if not failed else []
        numbers = [str(result) if isinstance(result, DoorError) else result["number"] for result in sent]
        why = f"two opened a store at once, {'with' if has_file else 'without'} a file: {failed}, then sent {numbers}"
        if not ctx.expect("timeline.log.20", {*numbers} == {1, 2}, why):
            return


def _with_strangers(ctx: Ctx) -> None:
    """Programs that know only the seed's subjects write, too, twice in a row. A bus may show their messages or not."""
    with on_a_server(ctx) as (writer, server):
        send(writer, request(1), "first")
        for n in (2, 3):
            server.ask(writer.call("subject_of", key=request(n))["subject"], b'"stranger"')
        sent = send(writer, request(4), "last")
        shown = log(writer)
    faults = chain_faults(shown)
    own = [row["number"] for row in shown if row["payload"] != "stranger"]
    is_one = not faults and own == [1, sent["number"]]
    why = f"behind two messages of a program that states no hash, numbers {own} are the bus's own; {faults}"
    ctx.expect("timeline.log.20", is_one, why)


@scenario("log.refused_is_not_recorded")
def refused_is_not_recorded(ctx: Ctx) -> None:
    """A refused message is recorded nowhere, and a recorded message says that it was sent."""
    writer = ctx.agent("w")
    send(writer, request(1), "first")
    tried = ((request(1), "other"), (request(2) | {"agent": ""}, "no name"), (request(3), "x" * 1_000_001))
    refusals = [writer.refusal("send", key=key, payload=payload) for key, payload in tried]
    recorded = [(row["payload"], row["status"]) for row in log(writer)]
    # A bus may choose to take other content under one key, or so large a payload. Such messages may stand there.
    taken = [(payload, "sent") for refusal, (_, payload) in zip(refusals, tried, strict=True) if refusal is None]
    sound = definite(refusals[1]) and all(refusal is None or definite(refusal) for refusal in refusals)
    ok = sound and recorded[:1] == [("first", "sent")] and all(entry in taken for entry in recorded[1:])
    ctx.expect("timeline.log.25", ok, f"{'; '.join(map(said, refusals))}; the record: {recorded!s:.300}")
    faults = _faults_of_bad_queues(ctx)
    now = [(row["payload"], row["status"]) for row in log(writer)]
    why = f"of a config.toml that names no queue, {'; '.join(faults)}; the record: {now!s:.300}"
    ctx.expect("timeline.log.25", not faults and now == recorded, why)


@scenario("log.credentials", needs=("nats",))
def with_credentials(ctx: Ctx) -> None:
    """A server that lets nobody in without credentials, and a config.toml that names a file of them, as in the seed."""
    try:
        from busproof.bus.nats_creds import credentials  # with it nkeys, which no other scenario needs
    except ImportError as error:
        raise DoorError(f"{error}: pip install '.[nats]' in busproof's folder") from error
    made, ends = credentials(), dict[str, str]()
    with closing(NatsServer(made.server)) as server:
        file = server.folder / "user.creds"
        file.write_text(made.user)
        file.chmod(0o600)
        paths = {"no file": "", "its path": str(file), "its path from ~": f"~/{os.path.relpath(file, Path.home())}"}
        for number, (how, path) in enumerate(paths.items()):
            ends[how] = _told_over(ctx, server, ctx.store.parent / f"store{number}", path)
    refused, *sent = ends.values()
    ok = refused.startswith("refused") and sent == ["'hello'", "'hello'"]
    ctx.expect("timeline.log.39", ok, f"open, send and fetch, by the way in which nats_creds names the file: {ends}")
    _said_twice(ctx)


def _said_twice(ctx: Ctx) -> None:
    """An option of open that says what config.toml says leads to the same record: everybody finds what is sent."""
    store = ctx.store.parent / "twice"
    store.mkdir()
    with closing(NatsServer()) as server:
        server.put_under(store)
        queue = {"backend": "nats", "nats_url": server.url}
        options = ({}, *({name: value} for name, value in queue.items()))
        sessions = [ctx.agent_in_real_time(f"twice{n}") for n in range(len(options))]
        sent = []
        for number, (session, given) in enumerate(zip(sessions, options, strict=True)):
            session.call("close")
            if session.refusal("open", store=str(store), options=given) is None:
                send(session, invoke(f"s{number}"))
                sent.append(number)
        there = [message["key"]["submission"] for message in log(sessions[0])]
        for session in sessions:
            ctx.crash(session)  # its server ends before it could close
    lost = [f"{options[number]}" for number in sent if f"s{number}" not in there]
    if lost:  # the row of another item
        why = f"beside a config.toml that says {queue} a store was opened with {', '.join(lost)}: nobody else finds"
        ctx.expect("timeline.log.09", False, f"{why} what was sent")


def _told_over(ctx: Ctx, server: NatsServer, store: Path, creds: str) -> str:
    """The payload that came of a message over a server, or what was refused."""
    store.mkdir()
    server.put_under(store)
    with (store / CONFIG_NAME).open("a") as config:
        # The seed's own line has words behind the value.
        config.write(f"nats_creds = {json.dumps(creds)}  # optional, for authenticated connections\n" if creds else "")
    agent = ctx.agent_in_real_time("one")
    agent.call("close")
    refusal = agent.refusal("open", store=str(store), options={})
    try:
        if refusal is not None:
            return f"refused, {said(refusal)}"
        send(agent, invoke() | {"submission": store.name}, "hello")  # of its own: the stream is one
        came = fetch(agent, ANY_INVOKE | {"submission": store.name})
        return repr(came and came["payload"])
    except DoorError as error:
        return str(error)
    finally:
        if not agent.retired:
            ctx.crash(agent)  # its server ends before it could close


def _faults_of_bad_queues(ctx: Ctx) -> list[str]:
    """Where config.toml names no queue, a bus says so, or needs none; it does not fail without giving a reason."""
    path, faults = ctx.store / CONFIG_NAME, []
    good = path.read_bytes() if path.exists() else None
    late = ctx.agent("late")
    late.call("close")
    try:
        for text in BAD_QUEUES:
            path.write_text(text)
            refusal = late.refusal("open", store=str(ctx.store), options={})
            if refusal is None:
                late.call("close")
            elif refusal.code == "INTERNAL":
                faults.append(f"{text!r}: {said(refusal)}")
    finally:
        path.unlink() if good is None else path.write_bytes(good)
    return faults


@scenario("log.killed")
def killed(ctx: Ctx) -> None:
    """Processes are killed in the middle of their work: acknowledged messages stand, and the chain holds."""
    sent: list[Row] = []
    for n in range(4):
        writer = ctx.agent(f"w{n}")
        sent += [send(writer, request(10 * n + m), {"n": m}) for m in range(3)]
        ctx.crash(writer)
    after = log(ctx.agent("after"))
    faults = chain_faults(after)
    there = {(row["number"], row["hash"]) for row in after}
    lost = [row["number"] for row in sent if (row["number"], row["hash"]) not in there]
    ctx.expect("timeline.log.34", not (faults or lost), f"lost {lost}, {faults}")


@scenario("log.busy", needs=("sqlite",), is_long=True)
def busy(ctx: Ctx) -> None:
    """While another program holds the file, a send is refused for certain, or waits and is done: never half."""
    writer, reader = ctx.agent("w"), ctx.agent("r")
    send(writer, request(1))
    with record(ctx) as held:
        held.execute("BEGIN IMMEDIATE")
        refused = writer.refusal("send", key=request(2))
        numbers = [row["number"] for row in log(reader)]
        held.execute("ROLLBACK")
    again = send(writer, request(2))
    ok = definite(refused, "BUSY") and numbers == [1] and not again["duplicate"] and again["number"] == 2
    why = f"{said(refused)}; meanwhile the record had {numbers}; sent again it was {again}"
    ctx.expect("timeline.log.35", ok, why)


@scenario("log.declared_limits")
def declared_limits(ctx: Ctx) -> None:
    """Each limit that hello tells is the limit: so much is taken, and one more is not."""
    writer = ctx.agent("w")

    def sent(field: str, value: Any) -> Refused | None:
        dimensions, payload = ({}, value) if field == "payload" else ({field: value}, None)
        return writer.refusal("send", key=request(**{"sequence": next(numbers), **dimensions}), payload=payload)

    numbers = itertools.count()
    wrong = untrue_limits(ctx, sent)
    if ctx.has("calls"):
        waits = lambda: writer.refusal("call", key=request(0, agent="nobody"), payload=None)  # noqa: E731
        wrong += untrue_timeout(ctx, "call_timeout_ms", waits)
    ctx.expect("timeline.log.45", not wrong, "; ".join(wrong))
