"""Each operation struck at each point: the part that kill points, errors of a disk and the work of others share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from buschaos import judge
from buschaos.acts.base import Scene
from buschaos.crashpoints import CrashPoints, PointResult, cuts, in_the_middle
from buschaos.limits import Time
from buschaos.operations import Operation
from buschaos.points import Point
from busproof.bus.fleet import Fleet

Torn = Callable[[int], set[int]]


def play(
    scene: Scene,
    time: Time,
    operations: tuple[Operation, ...] | None,
    *,
    what: str,
    folder: str,
    torn: Torn | None = None,
    counts: Callable[[PointResult], bool] = lambda _: True,
    **faults: Any,
) -> None:
    """Each member of a mixed fleet is the victim once. `faults`: those of `CrashPoints`; `what` is counted of them."""
    shared, findings = scene.shared, scene.findings

    def tell(point: PointResult) -> None:
        findings.counts[what] += counts(point)
        history = (point.kept or shared.out) / "history.jsonl"
        findings.point([(problem, history) for problem in point.problems])

    kept = shared.out / "points" / folder
    for turn in range(len(shared.specs)):
        fleet = Fleet(shared.specs[turn:] + shared.specs[:turn], system=shared.system)
        left_out = 0
        try:
            points = CrashPoints(
                fleet,
                kept / str(turn) if turn else kept,
                judge=lambda events: judge.of_events(events).problems,
                torn=torn or (in_the_middle if scene.subject.is_slow_to_start else cuts),
                operations=operations,
                only=shared.at if isinstance(shared.at, Point) else None,
                seed=shared.seed,
                time=time.part(len(shared.specs) - turn),
                tell=tell,
                **faults,
            )
            for result in points.run():
                left_out += result.left_out
                findings.spared["points"] += result.spared
                if result.doubt:
                    findings.undecided.append(f"{result.operation.name}: {result.doubt}")
                findings.progress.say(
                    f"{findings.title}: {result.operation.name}: {len(result.changes)} changes, "
                    f"{len(result.points)} points, {len(result.bad)} bad"
                )
        finally:
            fleet.close()
        findings.spared["operations"] += points.spared
        findings.left_out.update({"whole operations": points.left_out, "points of others": left_out})
        findings.impossible = points.why_impossible or findings.impossible
