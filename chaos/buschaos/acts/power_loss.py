"""chaos.power_loss: the disks that may be left when the power goes, at every step of a session of all operations."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from buschaos import shares
from buschaos.acts.base import Act, Scene, Shared, Words, flag
from buschaos.bus import RunFailed
from buschaos.nemeses import server
from buschaos.points import At, Outage
from buschaos.power import DEATHS, DEATHS_OF_SLOW_STARTERS, IMAGES_OF_SESSION, PowerLoss
from buschaos.server_power import ServerPower
from buschaos.sessions import Durability, PowerResult
from buschaos.subjects.base import Subject
from busproof.bus.fleet import Fleet

IMAGES_FEW = 25  # of a sample, at each level
FULL = {"synchronous": "FULL"}  # with it the feature `synchronous` promises the level power-loss


@dataclass(frozen=True)
class Own:
    """How much of it, and at which level it is judged."""

    power: int = 0  # distinct images to check; 0: the usual
    deaths: int | None = None  # places of an operation at which somebody dies before the power goes
    resumes: bool = False  # cuts go on where a run with this `out` was stopped
    durability: Durability | None = None  # instead of the one that the bus declares
    options: dict[str, Any] = field(default_factory=dict)  # with which stores are opened

    def __post_init__(self) -> None:
        object.__setattr__(self, "options", dict(self.options))


class PowerCuts(Act[Own]):
    """Cuts one recorded session, judged at the level that is declared, and another at the level of FULL."""

    name = "chaos.power_loss"
    flag = "power"
    own = Own
    folders = ("power",)
    plays_servers = True

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--power",
            type=int,
            metavar="N",
            help="cut the power at every step of a session, and look at N distinct disks that it may leave "
            "(0: the usual)",
        )
        parser.add_argument(
            "--deaths",
            type=int,
            metavar="N",
            help="before the power goes, kill each operation before N of its syncs and make the same call again "
            f"({DEATHS}; MCP: {DEATHS_OF_SLOW_STARTERS})",
        )
        parser.add_argument(
            "--resume",
            dest="resumes",
            action="store_true",
            help="go on where the run with this --out was stopped: acts that ended are not played again",
        )
        parser.add_argument(
            "--durability",
            choices=("process-crash", "power-loss"),
            help="judge power cuts at this level, not the declared",
        )
        parser.add_argument(
            "--option",
            dest="options",
            action="append",
            type=_option,
            metavar="NAME=VALUE",
            help="open the stores of power cuts with this option (synchronous=FULL); again for more",
        )

    def usual(self, subject: Subject) -> dict[str, Any]:
        return {"power": 0}

    def hurried(self, words: Words, subject: Subject) -> dict[str, Any]:
        return {"power": IMAGES_FEW, "deaths": 1}

    def has(self, at: At, only: frozenset[str], subject: Subject) -> bool:
        return isinstance(at, Outage)

    def stale(self, own: Own | None) -> tuple[str, ...]:
        return () if own and own.resumes else self.folders

    def play(self, scene: Scene, own: Own) -> None:
        scene.findings.progress.say("power loss: recording a session, then checking what its power cuts leave")
        hello, out = scene.fleet.hello, scene.shared.out
        if server.is_on_a_server(scene.shared.specs):
            self._cut_a_server(scene, own)
            return
        is_asked_for = own.durability is not None or own.options
        if is_asked_for or "synchronous" not in hello.features or hello.durability == "power-loss":
            self._cut(scene, own, out)
            return
        (out / "full").mkdir(exist_ok=True)
        both = ((own, out), (replace(own, durability="power-loss", options=FULL), out / "full"))
        for number, (level, folder) in enumerate(both):
            if not scene.findings.ended_by:
                part = replace(scene, time=scene.time.part(len(both) - number))
                self._cut(part, level, folder, parts=len(both))

    def _cut(self, scene: Scene, own: Own, out: Path, parts: int = 1) -> None:
        shared, findings = scene.shared, scene.findings
        new = partial(
            PowerLoss,
            out=out,
            durability=own.durability,
            options=own.options,
            operations=self.operations(shared),
            images=own.power or None,
            deaths=own.deaths,
            only=shared.at if isinstance(shared.at, Outage) else None,
            seed=shared.seed,
        )
        count = min(shared.lanes, math.ceil(own.power / IMAGES_OF_SESSION))
        if count > 1 and shared.is_alone:
            opening = partial(Fleet, shared.specs, system=shared.system)
            cut = shares.cut(opening, new, count, own.resumes, findings.progress, scene.time, findings.name)
            result, findings.ended_by = cut
            findings.problems += result.problems  # the progress has heard of them
            _tell(scene, own, result)
            return
        power = new(scene.fleet, parts=parts, resumes=own.resumes, limit=scene.time, tell=findings.point)
        try:
            power.run()
        finally:
            _tell(scene, own, power.result)

    def _cut_a_server(self, scene: Scene, own: Own) -> None:
        """It is the server that syncs: neither levels nor options of a store matter."""
        if scene.shared.at or own.durability or own.options:
            raise RunFailed("--at, --durability and --option are not known for the power of a server")
        shared, findings = scene.shared, scene.findings
        power = ServerPower(
            scene.fleet, shared.out, images=own.power, seed=shared.seed, limit=scene.time, tell=findings.point
        )
        try:
            power.run()
        finally:
            _tell(scene, own, power.result)

    def again(self, shared: Shared, own: Own) -> str:
        options = "".join(flag("option", f"{name}={value}") for name, value in own.options.items())
        is_of_a_place = own.power is True  # `--at` asks for it, and says how much
        amounts = "" if is_of_a_place else f"--power {own.power}{flag('deaths', own.deaths)} "
        return f"{amounts}--seed {shared.seed}{flag('durability', own.durability)}{options}"


def _option(text: str) -> tuple[str, str]:
    name, is_one, value = text.partition("=")
    if not is_one:
        raise argparse.ArgumentTypeError(f"{text!r} is no NAME=VALUE")
    return name, value


def _tell(scene: Scene, own: Own, result: PowerResult) -> None:
    findings = scene.findings
    findings.left_out.update({"images": result.left_out, "operations that die first": result.undying})
    findings.spared.update({"images": result.spared, "operations that die first": result.spared_deaths})
    findings.counts.update({"distinct images": result.checked, "steps that were cut": result.steps})
    if result.doubt:
        findings.undecided.append(result.doubt)
    if result.sessions > 1:
        findings.notes.append(f"{result.sessions} sessions, {result.earlier:,} of the images checked by earlier runs")
    if result.deaths:
        findings.notes.append(
            f"{result.deaths} times somebody died before a sync, another made the same call again, and the power went: "
            f"{result.after_deaths} more images"
        )
    lost = sum(count for calls, count in result.lost.items() if calls)
    options = "".join(f", {name} = {value}" for name, value in own.options.items())
    speed = (result.checked - result.earlier) / max(result.seconds, 0.001)
    of_calls = f"{lost} of {result.checked} images lack acknowledged calls, {max(result.lost, default=0)} at most; "
    findings.notes.append(
        f"judged at {result.durability}{options}: {of_calls if result.lost else ''}"
        f"{speed:.1f} images a second; by model: "
        + ", ".join(f"{model} {count}" for model, count in sorted(result.by_model.items()))
    )
