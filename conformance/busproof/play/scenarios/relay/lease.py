"""lease: one orchestrator at a time, and the remains of a dead one."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from busproof.bus.base import DoorError, Refused
from busproof.bus.hand_relay import RelayHand
from busproof.bus.session import Session
from busproof.play.scenarios.common import Row, at_once, definite, said
from busproof.play.scenarios.relay.common import MS, bodies, hand, ledger, row_of, rows, scenario, write
from busproof.play.scenarios.relay.presence import is_alive, until
from busproof.play.suite import Ctx

HELD_S = 0.3


@scenario("lease.lock")
def lock(ctx: Ctx) -> None:
    """A second orchestrator is refused while the first one lives; one that was killed, or refused, holds nobody up."""
    first = ctx.agent("orchestrator")
    refusal: Refused | None = None
    try:
        ctx.agent("another")
    except Refused as error:
        refusal = error
    ctx.expect("relay.lease.01", refusal is not None, said(refusal))
    ctx.expect("relay.lease.02", definite(refusal, "LOCKED"), said(refusal))
    ctx.crash(first)
    try:
        ctx.agent("orchestrator").call("scan")
        refusal = None
    except Refused as error:
        refusal = error
    why = f"after a kill: {said(refusal)}"
    if refusal is None:
        refusal = _after_one_of_the_same_number(ctx, ctx.newest)
        why = f"after one whose .lock says what its own does: {said(refusal)}"
    if refusal is None:
        refusal, why = _after_a_number_alone(ctx, ctx.newest)
    ctx.expect("relay.lease.03", refusal is None, why)
    if refusal is None:
        _after_a_refused_open(ctx, ctx.newest)


def _after_one_of_the_same_number(ctx: Ctx, bus: Session) -> Refused | None:
    """A dead orchestrator may have had the very number that the next one has: in a container each is process 1."""
    path = ctx.store / ".lock"
    its_own = path.read_bytes() if path.is_file() else None
    bus.call("close")
    if its_own is not None:
        path.write_bytes(its_own)
        path.chmod(0o600)
    return bus.refusal("open", store=str(ctx.store), options={})


def _after_a_number_alone(ctx: Ctx, bus: Session) -> tuple[Refused | None, str]:
    """Another program's .lock may say no more than a process, as most do; it has ended, so nobody lives here.

    Each bus chooses the content of its .lock, and one that cannot read this may say so. LOCKED says that one lives.
    """
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    for text in (f"{ended.pid}\n", json.dumps({"pid": ended.pid})):
        bus.refusal("close")
        (ctx.store / ".lock").write_text(text)
        refusal = bus.refusal("open", store=str(ctx.store), options={})
        if refusal is not None and refusal.code == "LOCKED":
            return refusal, f"after one whose .lock says {text.strip()}, a process that has ended: {said(refusal)}"
        if refusal is not None:
            (ctx.store / ".lock").unlink()
            bus.call("open", store=str(ctx.store), options={})
    return None, ""


ODD_LOCKS: dict[str, Callable[[Path], object]] = {
    "a folder": lambda path: path.mkdir(),
    "a link to itself": lambda path: path.symlink_to(path),
    "a link to nothing": lambda path: path.symlink_to(path.parent / "missing" / "lock"),
}


def _after_a_refused_open(ctx: Ctx, early: Session) -> None:
    """A bus may refuse such options, or such a ledger, or not; one that does lets the next one in."""
    early.call("close")
    bad = _opened(early, ctx, {"settle_ms": "soon", "rate_per_min": -1})
    refusal = _next(ctx)
    why = f"of bad options it said: {said(bad)}; to the next one, with good ones: {said(refusal)}"
    for odd, make in ODD_LOCKS.items() if refusal is None else ():
        early = ctx.newest
        early.call("close")
        bad = _with_an_odd_lock(early, ctx, make)
        refusal = _next(ctx)
        why = f"of a .lock that is {odd} it said: {said(bad)}; to the next one, without it: {said(refusal)}"
        if refusal is not None or (bad is not None and bad.code == "INTERNAL"):
            ctx.expect("relay.lease.17", False, why)
            return
    if refusal is None and (path := ctx.store / "ledger.db").exists():
        early = ctx.newest
        early.call("close")
        whole = path.read_bytes()
        path.write_bytes(b"no ledger " * 1_000)
        bad = _opened(early, ctx, {})
        path.write_bytes(whole)
        refusal = _next(ctx)
        why = f"of a ledger that is none it said: {said(bad)}; to the next one, when it was put back: {said(refusal)}"
    ctx.expect("relay.lease.17", refusal is None, why)


def _with_an_odd_lock(early: Session, ctx: Ctx, make: Callable[[Path], object]) -> Refused | None:
    """How an open was refused while something that is no file stands at .lock; it is removed afterwards.

    A bus may need no such file, or put its own in the place. One that cannot says so: an error of the disk.
    """
    path = ctx.store / ".lock"
    path.unlink(missing_ok=True)
    make(path)
    bad = _opened(early, ctx, {})
    if path.is_dir():
        shutil.rmtree(path)
    path.unlink(missing_ok=True)
    return bad


def _opened(early: Session, ctx: Ctx, options: Row) -> Refused | None:
    """How an open was refused; one that was not is closed again."""
    bad = early.refusal("open", store=str(ctx.store), options=options)
    if bad is None:
        early.call("close")
    return bad


def _next(ctx: Ctx) -> Refused | None:
    """How another process is refused, while the one before it lives."""
    try:
        ctx.agent("orchestrator").call("scan")
    except Refused as error:
        return error
    return None


@scenario("lease.recovery", needs=("sqlite", "clock"))
def recovery(ctx: Ctx) -> None:
    """The next orchestrator does the work that was in hand when the last one died, once."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        done = write(ctx, agents, "ann", "TO: bob\n\ndone")
        bus.call("scan")
        kept, gone, claimed = (write(ctx, agents, "ann", f"TO: late\n\n{word}") for word in ("kept", "gone", "claimed"))
        bus.call("scan")
        for file, word in ((kept, "kept"), (gone, "gone"), (claimed, "claimed")):
            _in_hand(ctx, agents, file, f"TO: late\n\n{word}")
        agents.agent("late")
        ctx.advance(60_000)
        bus.call("scan")
        ctx.expect("relay.lease.04", not bodies(agents, "late"), f"late has {bodies(agents, 'late')}")
        agents.remove("ann", gone)
        ctx.crash(bus)
        bus = ctx.agent("orchestrator")
        bus.call("scan")
        ctx.advance(60_000)
        bus.call("scan")
        ctx.expect(
            "relay.lease.05", bodies(agents, "late") == ["kept", "claimed"], f"late has {bodies(agents, 'late')}"
        )
        row = row_of(ctx, gone)
        lost = row.get("status") == "failed" and str(row.get("last_error")).startswith("file_disappeared")
        ctx.expect("relay.lease.06", lost, f"its row is {row}")
        with ledger(ctx) as db:
            begun = db.execute("SELECT * FROM pending_operations WHERE completed_at IS NULL").fetchall()
        ctx.expect("relay.lease.07", not begun, f"still open: {[dict(operation) for operation in begun]}")
        ctx.expect("relay.lease.08", bodies(agents, "bob") == ["done"], f"{done}: bob has {bodies(agents, 'bob')}")


def _in_hand(ctx: Ctx, agents: RelayHand, file: str, data: str) -> None:
    """Leave a row that is processing, and its file, as a dying orchestrator does."""
    if row_of(ctx, file).get("status") == "failed":  # it gave up at once
        agents.write("ann", file, data, (ctx.now_ms - 1_000) * MS)
        with ledger(ctx) as db:
            db.execute("UPDATE messages SET status = 'pending' WHERE file_path LIKE ?", (f"%/outbox/{file}",))
    agents.claim(f"ann/{file.removesuffix('.msg')}")


@scenario("lease.busy", needs=("sqlite",))
def busy(ctx: Ctx) -> None:
    """The bus waits for a ledger that another program holds for a moment."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann") as agents:
        bus.call("scan")
        write(ctx, agents, "ann", "TO: ann\n\nlater")
        seen: list[Refused | None] = []
        scanning = threading.Thread(target=lambda: seen.append(bus.refusal("scan")))
        agents.hold()
        try:
            scanning.start()
            time.sleep(HELD_S)
        finally:
            agents.let_go()
        scanning.join()
        refusal = seen[0] if seen else None
        ctx.expect("relay.lease.10", bodies(agents, "ann") == ["later"], said(refusal))


MANY = 300  # messages: more than a bus takes at once
PATIENCE_S_MAX = 30.0  # a bus that waits any longer for the ledger is let in
ROUNDS = 5  # passes that end before the kit has found them in their middle


@scenario("lease.interrupted", needs=("sqlite",), is_long=True)
def interrupted(ctx: Ctx) -> None:
    """A pass that finds the ledger held in its middle, for longer than it waits, leaves the rest to the next one.

    Once before any of its messages came, and once when a part has come already and its messages are still in hand.
    """
    with ctx.beside() as other:
        before, meanwhile = ctx.agent("orchestrator"), other.agent("orchestrator")
        for result in at_once(
            partial(_does_the_rest, ctx, before, has_come=False),
            partial(_does_the_rest, other, meanwhile, has_come=True),
        ):
            if isinstance(result, DoorError):
                raise result


def _does_the_rest(ctx: Ctx, bus: Session, *, has_come: bool) -> Row:
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        wanted: list[str] = []
        for _ in range(ROUNDS):
            if _is_interrupted(ctx, bus, agents, wanted, has_come=has_come):
                break
        refusal = bus.refusal("scan")
        in_hand = [row["message_id"] for row in rows(ctx, "messages") if row["status"] == "processing"]
        came = sorted(bodies(agents, "bob"))
        ctx.expect(
            "relay.lease.15",
            came == wanted and not in_hand,
            f"after the next pass, of which {said(refusal)}, bob has {len(set(came))} of {len(wanted)} messages, "
            f"in {len(came)} files, and {len(in_hand)} are still in hand",
        )
    return {}


def _is_interrupted(ctx: Ctx, bus: Session, agents: RelayHand, wanted: list[str], *, has_come: bool) -> bool:
    """Interrupt a pass over more messages in its middle; False where it ended before it was found there."""
    there = len(wanted)
    more = [f"{number:05} {'x' * 2_000}" for number in range(there, there + MANY)]
    for body in more:
        write(ctx, agents, "ann", f"TO: bob\n\n{body}")
    wanted += more
    scanning = threading.Thread(target=lambda: bus.refusal("scan", timeout_s=90.0))
    scanning.start()
    inbox = ctx.store / "agents" / "bob" / "inbox"
    if is_caught := _held_in_the_middle(agents, scanning, inbox, there + has_come):
        scanning.join(PATIENCE_S_MAX)
        agents.let_go()
    scanning.join()
    return is_caught


def _held_in_the_middle(agents: RelayHand, scanning: threading.Thread, inbox: Path, least: int) -> bool:
    """Take the ledger's write lock while messages are in hand, and so many have come; False where the pass ended."""
    while scanning.is_alive():
        if inbox.is_dir() and len(os.listdir(inbox)) >= least:
            with contextlib.suppress(sqlite3.OperationalError):  # the bus writes without a pause
                agents.hold()
                if agents.db.execute("SELECT 1 FROM messages WHERE status = 'processing'").fetchone():
                    return True
                agents.let_go()
        time.sleep(0.001)
    return False


# It takes no notice of SIGTERM, and says so once it does not.
STUBBORN = 'trap \'\' TERM; echo $$ > "$0.new"; mv "$0.new" "$0"; while :; do sleep 0.1; done'


@scenario("lease.closing", needs=("spawn",))
def closing(ctx: Ctx) -> None:
    """An orchestrator that ends is alone until its agents have ended: another that comes earlier is refused."""
    second = ctx.agent("another")
    second.call("close")
    pid_file = ctx.store.parent / "pid"
    with hand(ctx, "boss") as agents:
        agents.config(clis={"stubborn": ["/bin/sh", "-c", STUBBORN, str(pid_file)]})
        first = ctx.agent("orchestrator")
        first.call("scan")
        write(ctx, agents, "boss", "TO: __orchestrator__\nKIND: spawn\n\nNAME: ann\nCLI: stubborn\n")
        first.call("scan")
        until(pid_file.exists)
        pid = pid_file.read_text().strip() if pid_file.exists() else ""
        ending = threading.Thread(target=lambda: first.refusal("close"))
        was_there = is_alive(pid)
        ending.start()
        try:
            while (
                refusal := second.refusal("open", store=str(ctx.store), options={})
            ) is not None and ending.is_alive():
                time.sleep(0.01)
            is_in = refusal is None and is_alive(pid)
        finally:
            ending.join()
            outlives = is_alive(pid)  # an orchestrator that ends no agents need not wait for them
            if outlives:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(int(pid), signal.SIGKILL)
        ok = was_there and (outlives or not is_in)
        ctx.expect("relay.lease.14", ok, f"ann lived: {was_there}, and still when another was in: {is_in}")
