"""The database goes from under a process that has it open: newcomers must find every change that it accepts.

A system names a call of each method that changes something, and a store that these calls change. Three things happen to
such a store's file: it is removed, another process has already made it anew, or its copy stands in its place, as after
a restored backup. Then each call is made. A definite refusal is fine, and so is a change that stands in the file at the
path. Otherwise a newcomer makes the call again: if it changes that file now, or is refused, the first change is lost.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from busproof.bus.session import Session
from busproof.contract import CONTRACTS
from busproof.play.scenarios.common import Row, definite, joined, remove
from busproof.play.suite import Ctx

Calls = dict[str, Row]  # method → params; the first needs nothing that stands in the store
Prepare = Callable[[Ctx], tuple[Session, Calls]]


def lost(ctx: Ctx, prepare: Prepare) -> list[str]:
    """For each thing that happens to the file: the calls that are accepted then and that nobody finds."""
    path = ctx.store / CONTRACTS[ctx.fleet.system].store
    faults = []
    for what, happened in (("removed", removed), ("made anew", made_anew), ("replaced by its copy", replaced)):
        remove(path)
        session, calls = prepare(ctx)
        with happened(ctx, path, calls):
            if methods := accepted_for_nobody(ctx, session, path, calls):
                faults.append(f"after it was {what}: {', '.join(methods)}")
    return faults


def offered(ctx: Ctx, calls: Calls) -> Calls:
    """The calls that the bus declares."""
    known = CONTRACTS[ctx.fleet.system].methods
    return {name: calls[name] for name in calls if ctx.has(*filter(None, [known[name].noun, known[name].feature]))}


@contextmanager
def removed(_ctx: Ctx, path: Path, _calls: Calls) -> Iterator[None]:
    """As by `git clean`."""
    remove(path)
    yield


@contextmanager
def made_anew(ctx: Ctx, path: Path, calls: Calls) -> Iterator[None]:
    """A process that came after the removal has made another."""
    remove(path)
    method, params = next(iter(calls.items()))
    ctx.agent("first").refusal(method, **params)
    yield


@contextmanager
def replaced(_ctx: Ctx, path: Path, _calls: Calls) -> Iterator[None]:
    """Somebody has it open: there is a log beside it, too."""
    put_a_copy(path)
    with joined(path) as db:
        db.execute("SELECT * FROM sqlite_master").fetchall()
        yield


def put_a_copy(path: Path) -> None:
    """Move the whole content to another file at the same path."""
    copy = path.with_name(f"{path.name}.copy")
    with joined(path) as db, closing(sqlite3.connect(copy)) as other:
        db.backup(other)
    remove(path)
    os.replace(copy, path)


def accepted_for_nobody(ctx: Ctx, session: Session, path: Path, calls: Calls) -> list[str]:
    """The methods, each called in its turn."""
    unfound = [method for method, params in calls.items() if outcome(ctx, session, path, method, params) == "nothing"]
    newcomer = ctx.agent(session.agent)
    return [method for method in unfound if outcome(ctx, newcomer, path, method, calls[method]) != "nothing"]


def outcome(ctx: Ctx, session: Session, path: Path, method: str, params: Row) -> str:
    """`refused` for certain, `found` in the file, or `nothing` is new there though it may have been accepted."""
    ctx.pass_a_moment()
    before = rows(path)
    refusal = session.refusal(method, **params)
    says_whether = CONTRACTS[ctx.fleet.system].server is None  # over MCP no answer says whether it is definite
    if definite(refusal) or (refusal and not says_whether):
        return "refused"
    return "nothing" if rows(path) == before else "found"


def rows(path: Path) -> dict[str, list[str]]:
    """All rows in the file, except those that a new store has."""
    if not path.exists():
        return {}
    with joined(path) as db:
        tables = db.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'meta'").fetchall()
        return {name: [repr(tuple(row)) for row in db.execute(f'SELECT * FROM "{name}"')] for (name,) in tables}
