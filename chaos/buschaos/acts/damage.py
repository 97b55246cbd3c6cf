"""chaos.damage: files are taken from under a live process, then single bits are flipped; decision 0021 says what must
hold.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from buschaos import damage, reading
from buschaos.acts.base import Act, Scene, Shared, Words
from buschaos.state import Problem
from buschaos.subjects.base import Subject

BITS_FEW, WAYS_FEW = 2, 3  # of a sample: bits of each kind of file, ways to take a file away


@dataclass(frozen=True)
class Own:
    """How much of it."""

    damage: int = 0  # bits to flip in each kind of file; 0: the usual


class Damaged(Act[Own]):
    """Damages the files of a bus behind its back."""

    name = "chaos.damage"
    flag = "damage"
    own = Own
    folders = ("damage",)

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--damage",
            type=int,
            metavar="N",
            help="flip N bits in each kind of file (0: the usual), and take files from under a live process",
        )

    def usual(self, subject: Subject) -> dict[str, Any]:
        return {"damage": 0}

    def hurried(self, words: Words, subject: Subject) -> dict[str, Any]:
        return {"damage": BITS_FEW}

    def why_not(self, scene: Scene, own: Own) -> str | None:
        if "sqlite" not in scene.fleet.hello.features:
            return "the bus does not declare that it stores in SQLite"
        return None if reading.can_dump(scene.fleet.hello) else reading.WHY_NOT

    def play(self, scene: Scene, own: Own) -> None:
        shared, findings = scene.shared, scene.findings
        usual = damage.BITS_OF_SLOW_STARTERS if scene.subject.is_slow_to_start else damage.BITS_OF_RUN
        count = own.damage or usual
        with damage.damaging(shared.specs[0], shared.system, shared.out / "damage") as files:
            every = files.ways()
            ways = scene.time.ordered(every, f"{shared.seed}", few=WAYS_FEW)
            findings.spared["ways to take a file away"] = len(every) - len(ways)
            for what, take in ways:
                end = take()
                findings.counts["files taken away"] += end != damage.DID_NOT_WAIT
                _tell(scene, files, f"{what}: {end}")
            for kind in damage.KINDS:
                if scene.time.is_over:
                    findings.left_out["kinds of files in which bits are flipped"] += 1
                    continue
                ends = files.bits(kind, count, shared.seed)
                if scene.time.is_sample and ends:
                    findings.spared["flipped bits"] += usual - ends.total()
                if not ends:  # there is no such file
                    continue
                findings.counts["bits flipped"] += ends.total()
                counted = ", ".join(f"{end} {times}" for end, times in ends.most_common())
                _tell(scene, files, f"{ends.total()} bits of the {kind}: {counted}")

    def again(self, shared: Shared, own: Own) -> str:
        return f"--damage {own.damage} --seed {shared.seed}"


def _tell(scene: Scene, files: damage.Damage, note: str) -> None:
    scene.findings.progress.say(f"damage: {note}")
    scene.findings.progress.point()
    scene.findings.notes.append(note)
    problems, files.problems = files.problems, []
    scene.findings.take([(Problem("log", why, is_dialect=True), history) for why, history in problems])
