"""A process stands still, and a peer calls: the part that holds and waits share."""

from __future__ import annotations

from collections import Counter
from typing import Any

from buschaos import judge
from buschaos.acts.base import Scene
from buschaos.holds import Holds
from buschaos.limits import Time
from buschaos.operations import WAITS_S, Operation
from buschaos.points import Place


def play(
    scene: Scene, time: Time, operations: tuple[Operation, ...] | None, *, waits: bool = False, **more: Any
) -> None:
    """Each pair at each place. `more`: what `Holds` takes beside that."""
    shared, findings = scene.shared, scene.findings
    what = findings.name.removeprefix("chaos.")
    sums, longest_ms = Counter[str](), 0
    holds = Holds(
        scene.fleet,
        shared.out,
        judge=lambda events: judge.of_events(events).problems,
        operations=operations,
        only=shared.at if isinstance(shared.at, Place) else None,
        waits=waits,
        seed=shared.seed,
        time=time,
        tell=findings.point,
        **more,
    )
    for result in holds.run():
        findings.counts["points held"] += result.points
        findings.counts["of them with both held"] += result.twice
        for name in ("waited", "left_out", "not_asked", "spared", "answered", "sampled_out"):
            sums[name] += getattr(result, name)
        longest_ms = max(longest_ms, result.longest_ms)
        pair = f"{result.operation.name} against {result.peer.name}"
        findings.progress.say(f"{what}: {pair}: {result.points} points, {len(result.problems)} problems")
    findings.left_out.update({"whole pairs": holds.left_out, "points of pairs": sums["left_out"]})
    findings.spared.update({"pairs of calls": holds.sampled_out, "points of pairs": sums["sampled_out"]})
    findings.impossible = holds.why_impossible
    if holds.why_no_time_passes is not None:
        findings.notes.append(f"no time passed while a process stood still: {holds.why_no_time_passes}")
    if sums["not_asked"]:
        findings.notes.append(f"both can stand still at {sums['not_asked']:,} places more (--twice)")
    if waits and findings.counts["points held"] and not sums["answered"]:
        findings.undecided.append("the reader or its sender was refused at every place: nobody was seen to be woken")
    if sums["spared"]:
        findings.notes.append(
            f"{sums['spared']} places more were not asked: a reader that is not woken waits {WAITS_S} s at each"
        )
    findings.notes.append(
        f"a peer waited for the process that stood still at {sums['waited']} points, and then {longest_ms} ms at most"
    )
