"""export: backups, and numbers for an operator."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing
from pathlib import Path

from busproof.bus.hand_relay import RelayHand
from busproof.bus.session import Session
from busproof.play.scenarios.relay.common import bodies, hand, ledger, mode, row_of, scenario, write
from busproof.play.suite import Ctx

_SEND = ("send", None)
BACK_AND_FORTH: tuple[tuple[str, int | None], ...] = (
    *(_SEND, ("backup", 0), ("restore", 0), _SEND, ("backup", 1), _SEND, _SEND, ("restore", 1), _SEND),
    *(("restore", 0), _SEND, ("backup", 2), ("restore", 2), ("restore", 1), _SEND, _SEND, ("restore", 2), _SEND),
)


@scenario("export.backup", needs=("backup",))
def backup(ctx: Ctx) -> None:
    """A copy that is whole; put back, it knows which messages were delivered."""
    bus = ctx.agent("orchestrator")
    copy = ctx.store.parent / "copy.db"
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        files = [write(ctx, agents, "ann", f"TO: bob\n\n{n}") for n in range(5)]
        bus.call("scan")
        bus.call("backup", path=str(copy))
        if ctx.has("sqlite"):
            with closing(sqlite3.connect(copy)) as db:
                sound = db.execute("PRAGMA integrity_check").fetchone()[0]
                rows = db.execute("SELECT count(*) FROM messages WHERE direction = 'outbox'").fetchone()[0]
            ctx.expect("relay.export.08", sound == "ok" and rows == 5, f"integrity {sound}, {rows} messages of 5")
        late = write(ctx, agents, "ann", "TO: bob\n\nlate")
        bus.call("scan")
        bus.call("restore", path=str(copy))
        if (path := ctx.store / "ledger.db").exists() and mode(path) != "600":  # the row of another item (0033)
            ctx.expect("relay.limit.07", False, f"after a restore ledger.db has {mode(path)}")
        bus.call("scan")
        there = sorted(bodies(agents, "bob"))
        known = [bool(row_of(ctx, file)) for file in files]
        ctx.expect(
            "relay.export.09",
            all(known) and there == ["0", "1", "2", "3", "4", "late"],
            f"bob has {there}; rows of the copy: {known}, of what came after it: {row_of(ctx, late)}",
        )
        if ctx.has("sqlite"):
            _beside_a_reader(ctx, bus, agents, ctx.store.parent / "another.db")


def _beside_a_reader(ctx: Ctx, bus: Session, agents: RelayHand, copy: Path) -> None:
    """Somebody reads the ledger all the while: a copy has the messages that came since, too, or is refused."""
    with ledger(ctx) as reader:
        reader.execute("BEGIN")
        wanted = reader.execute("SELECT count(*) FROM messages WHERE direction = 'outbox'").fetchone()[0] + 5
        for n in range(5):
            write(ctx, agents, "ann", f"TO: bob\n\nbeside a reader {n}")
        bus.call("scan")
        refusal = bus.refusal("backup", path=str(copy))
        reader.execute("COMMIT")
    copied = _outbox_rows(copy) if refusal is None else wanted
    ctx.expect("relay.export.08", copied == wanted, f"beside a reader a copy has {copied} messages of {wanted}")


def _outbox_rows(path: Path) -> int | str:
    """How many messages a copy of the ledger knows, or why it is none."""
    try:
        with closing(sqlite3.connect(path)) as db:
            return int(db.execute("SELECT count(*) FROM messages WHERE direction = 'outbox'").fetchone()[0])
    except sqlite3.Error as error:
        return str(error)


@scenario("export.back_and_forth", needs=("backup",))
def back_and_forth(ctx: Ctx) -> None:
    """Copies are made and put back in any turn, with messages between: the inbox has them in their order.

    The clock stands. A copy does not know the files that were delivered since, and a copy of a ledger that was put back
    knows of an older one's.
    """
    bus, sent, done, there = ctx.agent("orchestrator"), list[str](), list[str](), list[str]()
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        for turn, (step, number) in enumerate(BACK_AND_FORTH):
            done.append(step if number is None else f"{step} {number}")
            if step == "send":
                write(ctx, agents, "ann", f"TO: bob\n\n{turn}")
                sent.append(str(turn))
                bus.call("scan")
            else:
                bus.call(step, path=str(ctx.store.parent / f"copy-{number}.db"))
            if (there := bodies(agents, "bob")) != sent:
                break
    ctx.expect("relay.export.17", there == sent, f"{', '.join(done)}: bob has {there}, by name; sent were {sent}")


@scenario("export.metrics", needs=("metrics",))
def metrics(ctx: Ctx) -> None:
    """Text for Prometheus that counts messages by status and those that wait, and tells how long finished ones took."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        for n in range(3):
            write(ctx, agents, "ann", f"TO: bob\n\n{n}")
        write(ctx, agents, "ann", "TO: nobody\n\nwaits")
        bus.call("scan")
        text = bus.call("metrics")["text"]
        numbers = {float(value) for value in re.findall(r"(?m)^[a-z_]+\{[^}]*\} ([0-9.e+]+)$", text)}
        depth = re.findall(
            r"(?mi)^\w*(?:queue|pending)\w*(?:\{[^}]*\})? ([0-9.]+)$|\{[^}]*pending[^}]*\} ([0-9.]+)$", text
        )
        waits = {float(labelled or other) for labelled, other in depth}
        ctx.expect("relay.export.10", {3.0, 1.0} <= numbers | waits and 1.0 in waits, f"metrics say {text[:600]!r}")
        # A histogram or a summary counts what it has measured; a gauge is 0 where the clock stands.
        taken = re.findall(r"(?mi)^\w*(?:latency|duration|second)\w*(?:\{[^}]*\})? ([0-9.e+]+)$", text)
        counts = re.findall(r"(?mi)^\w*(?:latency|duration|second)\w*_count(?:\{[^}]*\})? ([0-9.e+]+)$", text)
        is_told = bool(taken) and (not counts or max(map(float, counts)) >= 3)
        ctx.expect("relay.export.10", is_told, f"how long messages took is {taken} in {text[-900:]!r}")
