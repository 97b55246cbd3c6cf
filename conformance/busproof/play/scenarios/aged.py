"""A process that lives long: each declared call again and again, well formed and bent, leaves nothing behind in it."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

from busproof.bus.session import Session
from busproof.contract import CONTRACTS
from busproof.play.scenarios.gone import Calls, Prepare, offered
from busproof.play.scenarios.topics.file import with_all_that_changes
from busproof.play.suite import Ctx, scenario

ROUNDS = 24
GROWN_BYTES_MAX = 64 << 20  # more than any cache of so few messages


def _held(session: Session) -> tuple[int, int]:
    """The descriptors and the bytes of memory that its processes have, where the system tells it."""
    descriptors = memory = 0
    for process in session.door.processes():
        with contextlib.suppress(OSError):
            if int(process.name) != os.getpid():
                descriptors += len(list((process / "fd").iterdir()))
                memory += int(Path(process / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return descriptors, memory


def _tried(ctx: Ctx) -> tuple[Session, Calls]:
    """The calls that doctor tries."""
    trials = CONTRACTS[ctx.fleet.system].trials
    return ctx.agent("old"), offered(ctx, {method: dict(params) for method, params in trials.items()})


def _register(system: str, row: str, name: str, prepare: Prepare = _tried) -> None:
    @scenario(name, system=system)
    def aged(ctx: Ctx) -> None:
        """Each declared call many times, answered or refused: no descriptor is left by each, and no memory."""
        session, calls = prepare(ctx)
        before = (0, 0)
        for number in range(ROUNDS + 2):
            for method, params in calls.items():
                session.refusal(method, **params)
                session.refusal(method, **{param: [[]] for param in params})
            if number == 1:
                before = _held(session)
        more, grown = (now - then for now, then in zip(_held(session), before, strict=True))
        why = f"{ROUNDS} rounds of {2 * len(calls)} calls left {more} descriptors more, and {grown >> 20} MiB"
        ctx.expect(row, more < ROUNDS and grown < GROWN_BYTES_MAX, why)


_register("worker", "worker.limit.19", "limit.aged")
_register("comms", "comms.limit.20", "limit.aged")
_register("topics", "topics.limit.09", "limit.aged", with_all_that_changes)
_register("timeline", "timeline.log.55", "log.aged")
