"""Small helpers for the scripts of several nouns of `timeline`."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from busproof.bus.link import Link, link
from busproof.bus.nats import NatsServer
from busproof.bus.session import Session
from busproof.contract.timeline import DB_NAME
from busproof.play.scenarios.common import Row, joined
from busproof.play.suite import Ctx
from busproof.play.suite import scenario as any_scenario

scenario = partial(any_scenario, system="timeline")

ANY_REQUEST = {"type": "request"}
ANY_INVOKE = {"type": "invoke"}


def invoke(submission: str = "s1", timeline: str = "main", **dimensions: str) -> Row:
    """A user's input."""
    key = {"timeline": timeline, "submission": submission, "harness": "cli", "runtime": "local", "agent": "ann"}
    return {"type": "invoke", **key, **dimensions}


def request(sequence: int = 1, timeline: str = "main", **dimensions: str) -> Row:
    """An agent's call of a service."""
    key = {"timeline": timeline, "submission": "s1", "agent": "ann", "service": "infer", "backend": "ollama"}
    return {"type": "request", **key, "operation": "chat", "sequence": sequence, **dimensions}


def send(session: Session, key: Row, payload: Any = None, **more: Any) -> Row:
    """One message."""
    return session.call("send", key=key, payload=payload, **more)


def fetch(session: Session, wanted: Row, **params: Any) -> Row | None:
    """The next message for a worker."""
    message: Row | None = session.call("fetch", filter=wanted, **params)["message"]
    return message


def log(session: Session, timeline: str = "main", **params: Any) -> list[Row]:
    """The messages that a timeline sees."""
    messages: list[Row] = session.call("log", timeline=timeline, **{"limit": 1_000, **params})["messages"]
    return messages


def chain_faults(messages: list[Row]) -> list[str]:
    """Where numbers do not rise, or a message does not follow the one before it. Gaps are a bus's choice."""
    faults = []
    for before, after in itertools.pairwise(messages):
        if after["number"] <= before["number"]:
            faults.append(f"number {after['number']} follows {before['number']}")
        if after["previous"] != before["hash"]:
            faults.append(f"number {after['number']} does not follow the hash of {before['number']}")
    return faults


@contextmanager
def record(ctx: Ctx) -> Iterator[sqlite3.Connection]:
    """The store's file, joined as another program may."""
    with joined(ctx.store / DB_NAME) as connection:
        yield connection


@contextmanager
def on_a_server(ctx: Ctx, *, config: str = "", **options: Any) -> Iterator[tuple[Session, NatsServer]]:
    """A session on its own NATS server, configured so, which others may reach, too."""
    with closing(NatsServer(config)) as server:
        session = ctx.agent_in_real_time("near", backend="nats", nats_url=server.url, **options)
        try:
            yield session, server
        finally:
            if not session.retired:
                ctx.crash(session)  # its server ends before it could close


@contextmanager
def far_away(ctx: Ctx, **options: Any) -> Iterator[tuple[Session, Session, Link]]:
    """Two sessions on one NATS server: the first by a link that can be cut, the second beside it."""
    with closing(NatsServer()) as server, link(urlsplit(server.url).port or 0) as way:
        urls = {"far": f"nats://127.0.0.1:{way.port}", "near": server.url}
        both = [ctx.agent_in_real_time(name, backend="nats", nats_url=url, **options) for name, url in urls.items()]
        try:
            yield both[0], both[1], way
        finally:
            for session in both:
                if not session.retired:
                    ctx.crash(session)  # its server ends before it could close
