"""chaos.disk_full: every level of a full disk; every change fails once, for lack of space or with an I/O error."""

from __future__ import annotations

import argparse
import contextlib
import errno
import tempfile
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from buschaos import diskfull, points, reading
from buschaos.acts import every_point
from buschaos.acts.base import Act, Scene, Shared, Words, flag, why_no_points
from buschaos.crashpoints import in_the_middle
from buschaos.nemeses import disk
from buschaos.nemeses.syscalls import Fail, Short
from buschaos.points import At, Left, Point
from buschaos.subjects.base import Subject

ERRORS = (errno.ENOSPC, errno.EIO, errno.EMFILE, errno.EROFS)
SHORT = "short"  # in a list of errors: a write that takes a part of its bytes


@dataclass(frozen=True)
class Own:
    """How much of it."""

    disk_folder: Path | None = None  # a small file system to fill, instead of one of our own
    levels: tuple[int, ...] | None = None  # as many as the system's bus can bear
    wants: diskfull.Wants | None = None  # of descriptors and memory; where levels are named, these alone
    errors: tuple[int, ...] = ERRORS
    sticky: tuple[bool, ...] = (False,)  # an error once, or until the call is over
    reads: bool = True  # reading fails, too
    shorts: bool = True  # writes are short, too
    torn: every_point.Torn | None = None


class FullDisk(Act[Own]):
    """A full disk at every level, then one error at every change."""

    name = "chaos.disk_full"
    flag = "disk_full"
    own = Own
    folders = ("disk",)
    length = 2

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--disk-full",
            action="store_true",
            default=None,
            help="fill the disk to every level; inject errors and short writes",
        )
        parser.add_argument(
            "--disk",
            dest="disk_folder",
            type=Path,
            metavar="DIR",
            help="a small mounted file system to fill, where namespaces are forbidden",
        )
        parser.add_argument(
            "--errors",
            action=_Errors,
            metavar="NAME,…",
            help="other errors than ENOSPC,EIO,EMFILE,EROFS,short: EDQUOT,EINTR",
        )
        parser.add_argument(
            "--sticky", action="store_const", const=(True,), help="an error stays until the call is over"
        )

    def hurried(self, words: Words, subject: Subject) -> dict[str, Any]:
        levels = diskfull.LEVELS_OF_SAMPLE[: 2 if subject.is_slow_to_start else None]
        return {"torn": in_the_middle, "levels": levels, "wants": diskfull.WANTS_OF_SAMPLE}

    def has(self, at: At, only: frozenset[str], subject: Subject) -> bool:
        return isinstance(at, Left) or (isinstance(at, Point) and isinstance(at.verdict, Fail | Short))

    def why_not(self, scene: Scene, own: Own) -> str | None:
        if not reading.can_compare(scene.fleet.hello, scene.subject):
            return reading.WHY_NOT
        if isinstance(scene.shared.at, Point):  # of one operation, and no full disk
            return None
        if own.disk_folder is not None:
            return disk.why_not_filled(own.disk_folder)
        with tempfile.TemporaryDirectory(prefix="busproof-disk-") as folder:
            return disk.why_unavailable(Path(folder))

    def play(self, scene: Scene, own: Own) -> None:
        at = scene.shared.at
        if not isinstance(at, Point):
            try:
                _fill(scene, own)
            except diskfull.NotInItsFolderError as error:
                scene.findings.undecided.append(f"no full disk: {error}")
        if isinstance(at, Left):
            return
        if why := why_no_points(scene.fleet):
            scene.findings.notes.append(f"no errors injected at system calls: {why}")
            return
        reads = own.reads and not scene.subject.is_slow_to_start
        operations = self.operations(scene.shared)
        how: dict[str, Any] = {"what": "errors injected", "kills": False, "sticky": own.sticky, "torn": own.torn}
        writing: dict[str, Any] = {"folder": "errors", "errors": own.errors, "shorts": own.shorts}
        every_point.play(scene, scene.time.part(2 if reads else 1), operations, **how, **writing)
        if reads:
            when_read: dict[str, Any] = {"folder": "reads", "errors": (errno.EIO,), "reads": True}
            every_point.play(scene, scene.time, operations, **how, **when_read)

    def again(self, shared: Shared, own: Own) -> str:
        names = ",".join([*(errno.errorcode[number] for number in own.errors), *([SHORT] if own.shorts else [])])
        is_usual = own.errors == ERRORS and own.shorts
        errors = "" if is_usual else f" --errors {names}"
        return f"--disk-full{flag('disk', own.disk_folder)}{errors}{' --sticky' if any(own.sticky) else ''}"


class _Errors(argparse.Action):
    """The names of errors, and whether writes are short."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, text: Any, *_: Any) -> None:
        known = [*(errno.errorcode[number] for number in points.CAN), SHORT]
        names = text.split(",")
        if unknown := [name for name in names if name not in known]:
            raise argparse.ArgumentError(self, f"{unknown[0]} is none of {', '.join(known)}")
        namespace.errors = tuple(getattr(errno, name) for name in names if name != SHORT)
        namespace.shorts = SHORT in names


def _fill(scene: Scene, own: Own) -> None:
    """A full disk at every level, and a process with too little of something else."""
    shared, findings = scene.shared, scene.findings
    levels, wants = _amounts(own, is_slow=scene.subject.is_slow_to_start)
    answers: Counter[str] = Counter()
    half = scene.time.part(2)  # the other one is for errors
    with tempfile.TemporaryDirectory(prefix="busproof-disk-") as work, contextlib.ExitStack() as stack:
        # Its process works in the folder: it ends first, even if a problem is the last that was asked for.
        played = stack.enter_context(
            contextlib.closing(
                diskfull.run(
                    shared.specs,
                    levels,
                    Path(work),
                    shared.out,
                    system=shared.system,
                    folder=own.disk_folder,
                    wants=wants,
                    only=shared.at if isinstance(shared.at, Left) else None,
                )
            )
        )
        for level in played:
            is_disk = level.of == "pages"
            findings.counts["levels of a full disk" if is_disk else "of too few descriptors or memory"] += 1
            findings.progress.point()
            answers += level.answers if is_disk else Counter()
            again = f"--at {Left(level.amount, level.of, level.opened)}"
            problems = [replace(problem, point=level.title, again=again) for problem in level.problems]
            findings.add(problems, shared.out / "disk" / level.name / "history.jsonl")
            if level.opened == "before":
                findings.progress.say(f"disk full: {level.title}: {dict(level.answers)}")
            if half.is_over:
                every = 2 * len(levels) + _count(wants)
                findings.left_out["levels"] = every - sum(findings.counts.values())
                break
    if scene.time.is_sample:
        usual, more = _amounts(replace(own, levels=None, wants=None), is_slow=scene.subject.is_slow_to_start)
        findings.spared["levels"] = 2 * (len(usual) - len(levels)) + _count(more) - _count(wants)
    if levels and answers.keys() == {"ok"} and 0 in levels and scene.subject.names_full_disk:
        findings.undecided.append("no full disk: no call needed more room than there was, at any level")
    if levels:
        counted = ", ".join(f"{code} {n}" for code, n in sorted(answers.items()))
        findings.notes.append(f"answers on a full disk: {counted}")


def _count(wants: diskfull.Wants) -> int:
    return sum(len(amounts) for _, amounts in wants)


def _amounts(own: Own, *, is_slow: bool) -> tuple[tuple[int, ...], diskfull.Wants]:
    """What is left of the disk, and of all else; where the settings do not say, as much as the system can bear."""
    levels, wants = own.levels, own.wants
    if wants is None:
        wants = () if levels is not None else diskfull.WANTS_FEW if is_slow else diskfull.WANTS
    if levels is None:
        levels = diskfull.LEVELS_OF_SLOW_STARTERS if is_slow else diskfull.LEVELS
    return levels, wants
