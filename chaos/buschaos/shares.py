"""The sessions of a long run of power cuts, shared among processes.

In one process judging takes turns, however many cores look at disks: so each process takes every n-th session.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

from buschaos.bus import RunFailed
from buschaos.lanes import Lanes
from buschaos.limits import Progress, Time
from buschaos.power import PowerLoss
from buschaos.sessions import FILE, PowerResult
from buschaos.state import Problem
from busproof.bus.base import DoorError
from busproof.bus.fleet import Fleet
from busproof.words import reason

Opening = Callable[[], Fleet]


def cut(
    opening: Opening, new: partial[PowerLoss], count: int, resumes: bool, progress: Progress, time: Time
) -> tuple[PowerResult, str]:
    """The result of so many processes, each with a fleet of its own, and the reason why they were ended, if they were.

    `new` makes the cutter of a fleet. All can be sent to another process.

    Raises:
        RunFailed: a process could not tell anything.
        KeyboardInterrupt: all were interrupted before they had begun.
    """
    if not resumes:
        (new.keywords["out"] / FILE).unlink(missing_ok=True)  # each would remove what the others have written
    lanes = Lanes[PowerResult | None](count, progress, time)
    played = lanes.play([partial(_share, opening, new, (number, count)) for number in range(count)])
    known = [result for _, result in sorted(played.items()) if result is not None]
    if not known:
        raise KeyboardInterrupt
    first, *others = known
    for other in others:
        first.add(other)
    return first, lanes.why


def _share(
    opening: Opening, new: partial[PowerLoss], share: tuple[int, int], progress: Progress, time: Time
) -> PowerResult | None:
    """All that one of them knows in the end, or when it was interrupted; None if it had not begun."""
    problems = list[tuple[Problem, Path]]()

    def tell(shown: list[tuple[Problem, Path]]) -> None:
        progress.point()
        problems.extend(shown)
        for problem, _ in shown:
            progress.found(problem, "chaos.power_loss")

    power: PowerLoss | None = None
    try:
        with contextlib.closing(opening()) as fleet:
            power = new(fleet, share=share, resumes=True, limit=time, tell=tell)
            power.run()
    except KeyboardInterrupt:
        if power is None:
            return None
    except (RunFailed, DoorError) as error:
        if power is None:
            raise
        power.result.doubt = f"it broke off: {reason(error)}"
    assert power is not None
    power.result.problems = problems
    return power.result
