"""chaos.gone_callers: a call is cancelled, its client disconnects, or both are killed, at each change that it makes."""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import dataclass

from buschaos import reading
from buschaos.acts.base import Act, Scene, Shared
from buschaos.gone import CASES, Case, GoneCallers
from busproof.bus.fleet import Fleet


@dataclass(frozen=True)
class Own:
    """How much of it."""

    cases: tuple[Case, ...] = CASES


class CallersGo(Act[Own]):
    """Every case, gone at every point; in a mixed fleet each member serves once."""

    name = "chaos.gone_callers"
    flag = "gone"
    own = Own
    folders = ("gone",)

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--gone",
            action="store_true",
            default=None,
            help="cancel a sync, close its connection, or kill both, at each change it makes",
        )

    def why_not(self, scene: Scene, own: Own) -> str | None:
        if not all(spec.startswith("mcp:") for spec in scene.shared.specs):
            return "only an MCP server can be told that its caller went: --bus is mcp:CMD… here"
        if not reading.can_dump(scene.fleet.hello):
            return "the kit reads on as the same agent by the seed's tables, and the bus stores in no SQLite"
        return super().why_not(scene, own)

    def play(self, scene: Scene, own: Own) -> None:
        findings = scene.findings
        for spec in scene.shared.specs:
            with contextlib.closing(Fleet([spec], system=scene.shared.system)) as alone:
                callers = GoneCallers(alone, scene.shared.out, own.cases, scene.time)
                for number, result in enumerate(callers.run(), 1):
                    findings.counts["points"] += result.points
                    findings.progress.point(result.points)
                    counts = f"{result.case}: {result.points} points, {len(result.problems)} problems"
                    findings.progress.say(f"gone callers: {counts}")
                    findings.take(result.problems)
                    findings.left_out["points of callers"] += result.left_out
                    findings.spared["points of callers"] += result.spared
                    findings.spared["cases"] = callers.spared
                    if scene.time.is_over and number < len(own.cases):
                        findings.left_out[f"of {len(own.cases)} cases"] = len(own.cases) - number
                        break

    def again(self, shared: Shared, own: Own) -> str:
        return "--gone"
