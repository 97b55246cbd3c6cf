"""Small helpers for the scripts of several nouns of `relay`. The kit's hand is the agents, a session the bus."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from busproof.bus.hand_relay import RelayHand
from busproof.play.scenarios.common import Row, joined
from busproof.play.suite import Ctx
from busproof.play.suite import scenario as any_scenario

MS = 1_000_000
_NUMBERS = itertools.count(1)


def scenario(
    name: str, *, needs: tuple[str, ...] = (), is_long: bool = False
) -> Callable[[Callable[[Ctx], None]], Callable[[Ctx], None]]:
    """Register a script of this system."""
    return any_scenario(name, system="relay", needs=needs, is_long=is_long)


@contextmanager
def hand(ctx: Ctx, *names: str) -> Iterator[RelayHand]:
    """The agents of a store."""
    with closing(RelayHand(ctx.store)) as agents:
        for name in names:
            agents.agent(name)
        yield agents


def write(ctx: Ctx, agents: RelayHand, sender: str, data: str, **more: Any) -> str:
    """A message that has settled; returns its file's name."""
    number = next(_NUMBERS)
    file = f"{ctx.now_ms * MS + number}-{number:08x}.msg"
    agents.write(sender, file, data, (ctx.now_ms - 1_000) * MS, **more)
    return file


def inbox(agents: RelayHand, name: str) -> list[bytes]:
    """The files in an inbox, by name."""
    return [file["data"] for file in agents._listed(agents.store / "agents" / name / "inbox")]


def bodies(agents: RelayHand, name: str) -> list[str]:
    """The bodies of the files in an inbox."""
    return [data.decode(errors="replace").partition("\n\n")[2] for data in inbox(agents, name)]


@contextmanager
def ledger(ctx: Ctx) -> Iterator[sqlite3.Connection]:
    """The ledger, as any SQLite client sees it."""
    with joined(ctx.store / "ledger.db") as db:
        yield db


def row_of(ctx: Ctx, file: str) -> Row:
    """A file's row; empty without one."""
    return next((row for row in rows(ctx, "messages") if str(row["file_path"]).endswith(f"/outbox/{file}")), {})


def agent_of(ctx: Ctx, name: str) -> Row:
    """An agent's row; empty without one."""
    return next((row for row in rows(ctx, "agents") if row["name"] == name), {})


def tells(ctx: Ctx) -> bool:
    """Can anybody look into the ledger?"""
    return ctx.has("sqlite") or ctx.has("dump")


def rows(ctx: Ctx, table: str) -> list[Row]:
    """Rows of the ledger: from its tables or, on a bus that has no such tables, as the bus tells them."""
    if not ctx.has("sqlite"):
        return list(ctx.newest.call("dump")[table])
    with ledger(ctx) as db:
        return [dict(row) for row in db.execute(f"SELECT * FROM {table} ORDER BY 1")]


def mode(path: Path) -> str:
    """Permissions as chmod writes them."""
    return f"{path.lstat().st_mode & 0o777:o}"
