"""lease: one orchestrator at a time, and what a dead one leaves."""

from __future__ import annotations

import threading
import time

from busproof.adapters.base import Refused
from busproof.scenarios.common import definite, said
from busproof.scenarios.relay.common import bodies, hand, ledger, row_of, scenario, write
from busproof.suite import Ctx

HELD_S = 0.3


@scenario("lease.lock")
def lock(ctx: Ctx) -> None:
    """A second orchestrator is refused while the first one lives; one that was killed holds nobody up."""
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
    ctx.expect("relay.lease.03", refusal is None, said(refusal))


@scenario("lease.recovery", needs=("sqlite",))
def recovery(ctx: Ctx) -> None:
    """What was in hand when the orchestrator died is done by the next one, once."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        done = write(ctx, agents, "ann", "TO: bob\n\ndone")
        bus.call("scan")
        kept, gone, claimed = (write(ctx, agents, "ann", f"TO: late\n\n{word}") for word in ("kept", "gone", "claimed"))
        bus.call("scan")
        for file in (kept, gone, claimed):
            agents.claim(f"ann/{file.removesuffix('.msg')}")
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
        ctx.expect("relay.lease.07", not begun, f"still open: {[dict(one) for one in begun]}")
        ctx.expect("relay.lease.08", bodies(agents, "bob") == ["done"], f"{done}: bob has {bodies(agents, 'bob')}")


@scenario("lease.busy", needs=("sqlite",))
def busy(ctx: Ctx) -> None:
    """A ledger that another program holds for a moment is waited for."""
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
