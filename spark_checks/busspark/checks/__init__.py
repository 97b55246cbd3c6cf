"""The checks of `busproof.checks` once more, in Spark: the same verdicts and the same witnesses."""

from __future__ import annotations

from collections.abc import Callable

from busproof import checks as in_python
from busproof.checks import Check, Verdict, untold
from busproof.checks import acks as py_acks
from busproof.checks import dead_letters as py_dead_letters
from busproof.checks import durable as py_durable
from busproof.checks import export as py_export
from busproof.checks import lease as py_lease
from busproof.checks import order as py_order
from busproof.checks import polls as py_polls
from busproof.checks import receives as py_receives
from busproof.checks import syncs as py_syncs
from busproof.checks.facts import About, Facts, Malformed
from busproof.systems import SYSTEMS
from busspark.checks import acks, dead_letters, durable, export, lease, order, polls, receives, syncs
from busspark.frames import Frames

__all__ = ["TWINS", "run_checks"]

# check in Python → the same in Spark
TWINS: dict[Check, Callable[[Frames, About], Verdict]] = {
    py_order.check: order.check,
    py_order.check_dense: order.check_dense,
    py_durable.check: durable.check,
    py_polls.check: polls.check,
    py_syncs.check: syncs.check,
    py_receives.check: receives.check,
    py_acks.check: acks.check,
    py_lease.check: lease.check,
    py_lease.check_deliveries: lease.check_deliveries,
    py_export.check: export.check,
    py_dead_letters.check: dead_letters.check,
}


def run_checks(frames: Frames, damage: str = "", say: Callable[[str], None] = lambda _: None) -> list[Verdict]:
    """Integrity and all checks of its system on one history; `say` hears the name of each before it starts."""
    checks = SYSTEMS[frames.system].checks
    if damage:
        return [_integrity(frames, frames.known(), damage), *untold(checks)]
    frames = frames.cache()
    known = frames.known()
    verdicts = [_integrity(frames, known, "")]
    for name, check in checks.items():
        say(name)
        verdicts.append(TWINS[check](frames, known))
    # What was cached is found again by the file's name: another history of that name must not find it.
    frames.spark.catalog.clearCache()
    return verdicts


def _integrity(frames: Frames, known: About, damage: str) -> Verdict:
    """The file was looked at when it was read; malformed answers are few, or the bus is beyond help."""
    malformed = [] if damage else [Malformed(row.event) for row in frames.malformed.distinct().collect()]
    return in_python.integrity.check(Facts(malformed=malformed, about=[known]), damage)
