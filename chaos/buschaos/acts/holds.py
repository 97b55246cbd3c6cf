"""chaos.holds: a process stands still at each change and lock of an operation, while a peer works; then any call of a
drawn program, while any others come.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from buschaos import schedules
from buschaos.acts import every_point, pairs
from buschaos.acts.base import Act, Findings, Scene, Shared, Words, flag
from buschaos.crashpoints import in_the_middle
from buschaos.holds import CROSSED, CROSSED_OF_SLOW_STARTERS, TWICE_OF_PAIR, TWICE_OF_SLOW_STARTERS
from buschaos.limits import Time
from buschaos.nemeses.syscalls import Others
from buschaos.points import At, Place, Point
from buschaos.subjects.base import Subject

TWICE_FEW, CROSSED_FEW, DRAWN_FEW = 1, 2, 1  # of a sample
WITH_OTHERS = "points at which others worked"


@dataclass(frozen=True)
class Own:
    """How much of it."""

    holds: bool = False
    twice: int | None = None  # places of a pair at which both stand still
    crossed: int | None = None  # so many pairs of operations that nobody named, drawn by the seed
    against: str | None = None  # this peer's call alone
    drawn: int = 0  # programs in which any call stands still while any others come
    torn: every_point.Torn | None = None


class HeldCalls(Act[Own]):
    """Every pair of an operation that stands still and a peer's call; others at work on its files; drawn programs."""

    name = "chaos.holds"
    flag = "holds"
    own = Own
    folders = ("holds", "schedules")
    length = 4

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--holds",
            action="store_true",
            default=None,
            help="hold a process at each change and lock it makes, while a peer works",
        )
        parser.add_argument(
            "--twice",
            type=int,
            metavar="N",
            help=f"places of a pair of calls at which both are held ({TWICE_OF_PAIR}; MCP: {TWICE_OF_SLOW_STARTERS})",
        )
        parser.add_argument(
            "--crossed",
            type=int,
            metavar="N",
            help=f"hold N operations against any others, which nobody named ({CROSSED}; "
            f"MCP: {CROSSED_OF_SLOW_STARTERS})",
        )
        parser.add_argument(
            "--drawn",
            type=int,
            metavar="N",
            help="play N drawn programs in which any call is held while any others come "
            f"(of --holds: {schedules.PROGRAMS})",
        )
        parser.add_argument(
            "--script", type=Path, metavar="FILE", help="play the script of such a program again, alone"
        )
        parser.add_argument("--against", metavar="PEER", help="hold against this peer's call alone")

    def unsaid(self, words: Words, subject: Subject) -> dict[str, Any]:
        """As many drawn programs as usual, where all of the act is asked for."""
        is_whole = words.get("holds") and not any(name in words for name in ("only", "against", "at", "drawn"))
        return {"drawn": schedules.PROGRAMS} if is_whole else {}

    def has(self, at: At, only: frozenset[str], subject: Subject) -> bool:
        return is_hold(at) and not (only & {reader.name for reader, _ in subject.repertoire.waits})

    def hurried(self, words: Words, subject: Subject) -> dict[str, Any]:
        return {"torn": in_the_middle, "twice": TWICE_FEW, "crossed": CROSSED_FEW, "drawn": DRAWN_FEW}

    def is_named(self, words: Words) -> bool:
        return "holds" in words or "drawn" in words

    def settings(self, words: Words) -> Own | None:
        return self.of(words) if words.get("holds") or words.get("drawn") else None

    def nouns(self, shared: Shared) -> frozenset[str] | None:
        """Also those of the late calls of the operations' peers."""
        if shared.operations is None:
            return None
        asked = {operation.name for operation in shared.operations}
        peers = [peer for peer in shared.subject.repertoire.peers if asked & {*peer.against}]
        return frozenset({op.noun for op in shared.operations} | {late.noun for peer in peers for late in peer.late})

    def play(self, scene: Scene, own: Own) -> None:
        operations, at, others = self.operations(scene.shared), scene.shared.at, scene.subject.repertoire.others
        every = scene.subject.repertoire.operations if operations is None else operations
        shared_files = tuple(operation for operation in every if operation.name in others)
        is_pair, is_point = own.against is not None or isinstance(at, Place), isinstance(at, Point)
        plays: list[Callable[[Time], None]] = []
        if own.holds and not is_point:
            named: dict[str, Any] = {"twice": own.twice, "crossed": own.crossed, "against": own.against}
            plays.append(lambda part: pairs.play(scene, part, operations, **named))
        if own.holds and shared_files and not is_pair:
            how: dict[str, Any] = {"what": WITH_OTHERS, "folder": "others", "torn": own.torn}
            struck: dict[str, Any] = {"kills": False, "others": True, "counts": lambda point: point.is_struck}
            plays.append(lambda part: every_point.play(scene, part, shared_files, **how, **struck))
        if own.drawn:
            plays.append(lambda part: _programs(scene, part, own))
        for number, play in enumerate(plays):
            play(scene.time.part(len(plays) - number))

    def in_part(self, own: Own) -> str:
        return "" if own.holds else "of holds only drawn programs"

    def doubt_of_narrow(self, findings: Findings) -> str:
        return "" if findings.counts[WITH_OTHERS] else "nobody else worked on its files meanwhile"

    def again(self, shared: Shared, own: Own) -> str:
        asked = " ".join(["--holds"] * own.holds + [f"--drawn {own.drawn}"] * (own.drawn > 0))
        amounts = f"{flag('twice', own.twice)}{flag('crossed', own.crossed)}"
        return f"{asked} --seed {shared.seed}{amounts}{flag('against', own.against)}"


def is_hold(at: At) -> bool:
    """Does nobody come to harm there?"""
    return isinstance(at, Place) or (isinstance(at, Point) and isinstance(at.verdict, Others))


def _programs(scene: Scene, time: Time, own: Own) -> None:
    shared, findings = scene.shared, scene.findings
    if why := schedules.why_not(shared.system, scene.fleet.hello):
        findings.notes.append(f"no drawn programs: {why}")
        return
    drawn = schedules.Schedules(shared.specs, shared.system, shared.out / "schedules", seed=shared.seed, time=time)
    findings.progress.say(f"holds: {own.drawn} drawn programs")
    try:
        for shown in drawn.run(own.drawn):
            findings.point(shown)
    finally:
        findings.counts.update(drawn.counts)
    if time.is_sample:
        findings.spared["drawn programs"] = schedules.PROGRAMS - own.drawn
    if time.is_over:
        findings.left_out["drawn programs"] += own.drawn - drawn.counts["drawn programs"]
    if not own.holds:
        findings.undecided.append("drawn programs can break a row; the pairs of --holds decide it")
