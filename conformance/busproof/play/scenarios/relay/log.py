"""log: the folder that an orchestrator makes, and its ledger."""

from __future__ import annotations

import contextlib
import re
import shutil
import sqlite3
import time
from functools import partial

from busproof.bus.base import DoorError
from busproof.bus.hand_relay import RelayHand
from busproof.bus.session import Session
from busproof.contract.relay import RELAY_TABLES
from busproof.play.scenarios.common import out_of_time, remove, said
from busproof.play.scenarios.gone import put_a_copy
from busproof.play.scenarios.relay.common import MS, bodies, hand, ledger, row_of, scenario, tells, write
from busproof.play.suite import Ctx

TABLES = {
    "relay.log.09": "messages",
    "relay.log.12": "orchestrator_state",
    "relay.log.13": "agents",
    "relay.log.14": "pending_operations",
}
INDEXES = {
    "relay.log.15": ("idx_messages_status", ["status"]),
    "relay.log.16": ("idx_messages_agent", ["agent_name", "direction"]),
    "relay.log.17": ("idx_messages_discovered", ["discovered_at"]),
}
FOLDERS = ("attachments", "archive", "tmp")  # without anything that is still to be done
PROMPT_CHARS = 500_000  # more than Linux gives as one argument (131,072), and less than a message may have


@scenario("log.tree")
def tree(ctx: Ctx) -> None:
    """Opening makes the tree; the ledger alone tells which messages are done."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        names = {path.name for path in ctx.store.iterdir()}
        wanted = {*FOLDERS, "agents"} | ({"ledger.db"} if ctx.has("sqlite") else set())
        ctx.expect("relay.log.01", wanted <= names, f"the folder has {sorted(names)}")
        ctx.expect("relay.log.03", ".lock" in names, f"the folder has {sorted(names)}")
        bus.call("scan")
        file = write(ctx, agents, "ann", "TO: bob\n\nonce")
        bus.call("scan")
        left = sorted(path.name for path in (ctx.store / "tmp").rglob("*"))
        strange = [path for path in (ctx.store / "agents").rglob("*") if path.is_file() and path.suffix != ".msg"]
        ctx.expect("relay.log.08", not left and not strange, f"tmp holds {left}, folders of agents {strange}")
        ctx.crash(bus)
        for name in FOLDERS:
            shutil.rmtree(ctx.store / name, ignore_errors=True)  # somebody tidied up
        again = ctx.agent("orchestrator")
        reply = again.call("scan")
        names = {path.name for path in ctx.store.iterdir()}
        ctx.expect("relay.log.01", wanted <= names, f"opened again without {FOLDERS}, the folder has {sorted(names)}")
        is_known = not tells(ctx) or row_of(ctx, file) != {}
        ctx.expect(
            "relay.log.02",
            is_known and bodies(agents, "bob") == ["once"] and reply["discovered"] == 0,
            f"a fresh orchestrator found {reply} and bob's inbox holds {bodies(agents, 'bob')}",
        )
        if ctx.has("clock"):
            _tidied(ctx, agents, again)
        if ctx.has("spawn"):
            _spawn_in_vain(ctx, agents, again)


def _tidied(ctx: Ctx, agents: RelayHand, bus: Session) -> None:
    """Folders go while the orchestrator runs: what is sent then comes, and is kept, as before.

    Somebody tidied the archive, or an agent its own folders, with a message in them. Nobody knows how that one ends;
    it holds up no other, and the agent may come again, as appendix A makes its folders for every message.
    """
    ann, archive = ctx.store / "agents" / "ann", ctx.store / "archive"
    for tidied in (archive, ann / "outbox" / ".pending", ann / "outbox", ann):
        name = str(tidied.relative_to(ctx.store))
        write(ctx, agents, "ann", "TO: bob\n\nbefore")
        write(ctx, agents, "ann", "TO: late\n\nof an agent that goes")
        bus.refusal("scan")
        for path in archive.iterdir() if tidied == archive else (tidied,):
            shutil.rmtree(path, ignore_errors=True)
        for agent in ("bob", "ann"):
            ctx.advance(60_000)
            file = write(ctx, agents, agent, f"TO: bob\n\n{agent} without {name}")
            shutil.rmtree(ann / "outbox" / ".pending", ignore_errors=True)
            refusals = [bus.refusal("scan") for _ in range(2)]
            gone = f"{name} and then ann's .pending were gone"
            is_told = f"{agent}'s message when {gone}: {said(next(filter(None, refusals), None))}"
            if f"{agent} without {name}" not in bodies(agents, "bob"):  # the row of another item (decision 0033)
                ctx.expect("relay.log.04", False, f"bob has no {is_told}")
            elif not list(archive.glob(f"*/*/{file}")):
                ctx.expect("relay.log.07", False, f"the archive has no {file}, {is_told}")


def _spawn_in_vain(ctx: Ctx, agents: RelayHand, bus: Session) -> None:
    """No system gives a program so long an argument: such a request may end anyhow, but it leaves nothing in tmp."""
    bus.call("close")
    agents.config(clis={"sleeper": ["/bin/sh", "-c", "exec sleep 600", "sleeper"]})
    bus = ctx.agent("orchestrator")
    body = f"NAME: cas\nCLI: sleeper\nPROMPT: {'x' * PROMPT_CHARS}\n"
    write(ctx, agents, "ann", f"TO: __orchestrator__\nKIND: spawn\n\n{body}")
    refusal = bus.refusal("scan")
    left = sorted(path.name for path in (ctx.store / "tmp").rglob("*"))
    ctx.expect("relay.log.08", not left, f"tmp holds {left} after a spawn that cannot be, of which {said(refusal)}")


@scenario("log.tables", needs=("sqlite",))
def tables(ctx: Ctx) -> None:
    """The ledger has the seed's tables, and anybody can read it while the orchestrator works."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann") as agents, ledger(ctx) as db:
        bus.call("scan")
        mode = db.execute("PRAGMA journal_mode").fetchone()[0]
        ctx.expect("relay.log.18", mode == "wal", f"journal_mode is {mode}")
        seeds = sqlite3.connect(":memory:")
        seeds.executescript(RELAY_TABLES)
        for row, table in TABLES.items():
            there, wanted = _columns(db, table), _columns(seeds, table)
            ctx.expect(row, wanted <= there, f"{table} lacks {sorted(wanted - there)}")
        seeds.close()
        for row, (index, columns) in INDEXES.items():
            indexed = [info[2] for info in db.execute(f"PRAGMA index_info({index})")]
            ctx.expect(row, indexed == columns, f"{index} is on {indexed}")
        for row, column in {"relay.log.10": "message_id", "relay.log.11": "file_path"}.items():
            ctx.expect(row, [column] in _unique(db), f"unique are {_unique(db)}")
        db.execute("BEGIN")
        before = db.execute("SELECT count(*) FROM messages").fetchone()[0]
        write(ctx, agents, "ann", "TO: ann\n\nread me")
        reply = bus.call("scan")
        db.execute("COMMIT")
        after = db.execute("SELECT count(*) FROM messages").fetchone()[0]
        ctx.expect("relay.log.57", reply["discovered"] == 1 and after > before, f"a reader made it {reply}")
    bus.call("close")
    odd = out_of_time(partial(_found_and_done, ctx, ctx.agent_in_real_time("orchestrator")))
    ctx.newest.call("close")
    if odd:  # the row of another item
        why = f"found and done now, at {time.time_ns() // MS}; discovered_at and processed_at are {odd}"
        ctx.expect("relay.log.29", False, why)
    if lost := _lost_without_indexes(ctx):  # the row of another item (decision 0033)
        ctx.expect("relay.log.02", False, f"a ledger without its indexes was opened, and has no {lost}")


def _found_and_done(ctx: Ctx, bus: Session) -> list[float]:
    with hand(ctx, "ann") as agents:
        file = write(ctx, agents, "ann", "TO: ann\n\nnow")
        bus.call("scan")
        row = row_of(ctx, file)
    return [row[name] for name in ("discovered_at", "processed_at") if row.get(name) is not None]


def _lost_without_indexes(ctx: Ctx) -> list[str]:
    """The messages that are gone once a ledger of an older version was opened, or refused."""
    with ledger(ctx) as db:
        for index, _ in INDEXES.values():
            db.execute(f"DROP INDEX IF EXISTS {index}")
        before = [row[0] for row in db.execute("SELECT message_id FROM messages")]
    with contextlib.suppress(DoorError):
        ctx.agent("orchestrator").call("close")
    with ledger(ctx) as db:
        after = [row[0] for row in db.execute("SELECT message_id FROM messages")]
    return [name for name in before if name not in after]


def _columns(db: sqlite3.Connection, table: str) -> set[tuple[str, str, int, str, int]]:
    """Name, type, NOT NULL, default, place in the primary key; AUTOINCREMENT as a column of its own."""
    columns = {
        (name, kind.upper(), not_null, str(default), key)
        for _, name, kind, not_null, default, key in db.execute(f"PRAGMA table_info({table})")
    }
    made = db.execute("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    if made and re.search("AUTOINCREMENT", made[0], re.IGNORECASE):
        columns.add(("AUTOINCREMENT", "", 0, "", 0))
    return columns


def _unique(db: sqlite3.Connection) -> list[list[str]]:
    indexes = [row[1] for row in db.execute("PRAGMA index_list(messages)") if row[2]]
    return [[row[2] for row in db.execute(f"PRAGMA index_info({name})")] for name in indexes]


@scenario("log.removed", needs=("sqlite",))
def removed(ctx: Ctx) -> None:
    """The ledger goes, or its copy takes its place: each message that a pass then takes up has its row there."""
    unknown = []
    with hand(ctx, "ann", "bob") as agents:
        for happens in (remove, put_a_copy):
            remove(path := ctx.store / "ledger.db")
            bus = ctx.agent("orchestrator")
            bus.call("scan")
            happens(path)
            body = f"after {happens.__name__}"
            file = write(ctx, agents, "ann", f"TO: bob\n\n{body}")
            refusal = bus.refusal("scan")
            is_left = (ctx.store / "agents" / "ann" / "outbox" / file).exists() and body not in bodies(agents, "bob")
            if not is_left and not (path.exists() and row_of(ctx, file)):
                unknown.append(f"{body}: {said(refusal)}")
            ctx.crash(bus)
    ctx.expect("relay.log.66", not unknown, f"a message was taken up that no ledger knows, {'; '.join(unknown)}")
