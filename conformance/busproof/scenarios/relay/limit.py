"""limit: permissions, links, and what a file may hold."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

from busproof.scenarios.relay.common import bodies, hand, mode, row_of, scenario, write
from busproof.suite import Ctx

ODD_CONTENTS = (
    "\x00" * 4096,
    "TO: " + "x" * 100_000,
    "\n" * 10_000,
    "TO:\x85\n\n",
    "A:" * 5_000,
    "\u202e\n\n",
    "TO: \U0001f600\n\n",
)


@scenario("limit.permissions")
def permissions(ctx: Ctx) -> None:
    """Only the owner gets in."""
    os.umask(umask := os.umask(0o022))
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        (ctx.store / "agents" / "cas").mkdir(mode=0o755)
        bus.call("scan")
        write(ctx, agents, "ann", "TO: bob\n\nprivate")
        bus.call("scan")
        folders = [ctx.store, ctx.store / "agents", *(ctx.store / "agents" / name for name in ("ann", "bob", "cas"))]
        wrong = {str(path): mode(path) for path in folders if mode(path) != "700"}
        ctx.expect("relay.limit.06", not wrong, f"{wrong} (umask {umask:o})")
        files = [ctx.store / "ledger.db", ctx.store / "config.json"]
        open_ = {path.name: mode(path) for path in files if path.exists() and mode(path) != "600"}
        ctx.expect("relay.limit.07", not open_, f"{open_}")
        modes = [mode(path) for path in (ctx.store / "agents" / "bob" / "inbox").iterdir()]
        ctx.expect("relay.limit.08", modes == ["600"], f"delivered files have {modes}")


@scenario("limit.declared")
def declared(ctx: Ctx) -> None:
    """The size that hello tells is the limit: so many bytes are delivered, and one more are failed unread."""
    limit = ctx.hello.limits.get("message_bytes_max")
    bus, outcomes, head = ctx.agent("orchestrator"), dict[int, Any](), "TO: bob\n\n"
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        for size in (limit, limit + 1) if limit is not None else ():
            file = write(ctx, agents, "ann", head + "x" * (size - len(head)))
            bus.call("scan")
            reason = str(row_of(ctx, file).get("last_error") or "").partition(":")[0]
            outcomes[size] = len(bodies(agents, "bob")), reason
    wanted = {} if limit is None else {limit: (1, ""), limit + 1: (1, "too_large")}
    ctx.expect("relay.limit.20", outcomes == wanted, f"messages of bob, and why one failed, by size: {outcomes}")


@scenario("limit.links")
def links(ctx: Ctx) -> None:
    """Links lead nowhere: what is outside is not read, not moved, not written."""
    outside = ctx.store.parent / "outside"
    outside.mkdir()
    secret = outside / "1700000000000000000-0000aaaa.msg"
    secret.write_text("TO: ann\n\nsecret")
    os.utime(secret, (1, 1))
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob", "cas", "dee") as agents:
        bus.call("scan")
        home = ctx.store / "agents"
        (home / "bob" / "outbox" / secret.name).symlink_to(secret)
        _replaced(home / "cas" / "inbox", outside)
        _replaced(home / "dee" / "outbox", outside)
        (ctx.store / "attachments" / "ab").symlink_to(outside)
        (outside / ("ab" + "0" * 62)).write_text("attached")
        write(ctx, agents, "ann", "TO: cas\n\ninto a link")
        write(ctx, agents, "ann", f"TO: ann\nATTACHMENT: sha256:ab{'0' * 62}\n\nwith a link")
        for _ in range(2):
            bus.call("scan")
            ctx.advance(10_000)
        there = sorted(path.name for path in outside.iterdir())
        wanted = sorted([secret.name, "ab" + "0" * 62])
        ctx.expect(
            "relay.limit.15",
            there == wanted and bodies(agents, "ann") == [] and secret.read_text() == "TO: ann\n\nsecret",
            f"outside holds {there}, ann received {bodies(agents, 'ann')}",
        )


def _replaced(folder: Path, target: Path) -> None:
    if (folder / ".pending").is_dir():
        (folder / ".pending").rmdir()
    folder.rmdir()
    folder.symlink_to(target)


@scenario("limit.odd_content")
def odd_content(ctx: Ctx) -> None:
    """No content ends the orchestrator, nor does what is no file; what stands behind it is delivered."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        odd = [write(ctx, agents, "ann", data) for data in ODD_CONTENTS]
        odd += [write(ctx, agents, "ann", "TO: bob\n\n", end=end) for end in ("ff", "c080", "eda080", "f4908080")]
        with socket.socket(socket.AF_UNIX) as made:
            place = os.getcwd()
            os.chdir(ctx.store / "agents" / "ann" / "outbox")
            try:
                made.bind("1700000000000000000-0000bbbb.msg")
            finally:
                os.chdir(place)
        write(ctx, agents, "ann", "TO: bob\n\nbehind")
        ctx.advance(10_000)
        bus.call("scan")
        states = {row_of(ctx, file).get("status") for file in odd}
        ctx.expect(
            "relay.limit.19",
            bodies(agents, "bob") == ["behind"] and states == {"failed"},
            f"bob has {bodies(agents, 'bob')}, odd files are {states}",
        )
