"""Snapshots: the images that a kill would leave at each change of one operation, all taken from one recorded run of it.

The image before a change is the folder as it was and the tape up to there. It is exact, as all that a killed process
wrote stays in the page cache. So nobody has to die for it. Two things are checked apart: the tape is whole, and real
deaths leave the same (`Ledger`, and a seeded sample of real kills).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from buschaos.nemeses.syscalls import ANSWER, Change, Kill, Torn
from buschaos.points import AFTER_THE_ANSWER, Point
from buschaos.tape.image import Disk, Image, Tree
from buschaos.tape.step import Step


@dataclass(frozen=True)
class Shot:
    """A disk as a kill at this point leaves it. `is_answered`: the caller may have its answer already."""

    point: Point
    struck: Change | None
    image: Image
    is_answered: bool


@dataclass(frozen=True)
class Ledger:
    """How much of an operation was seen, and how much was not."""

    changes: int
    missed: list[str] = field(default_factory=list)  # files that are not as the tape left them
    mapped: list[str] = field(default_factory=list)  # files that are stored into without a call
    unread: int = 0  # calls that could not be looked at
    is_changed: bool = False  # the state is another one afterwards

    @property
    def doubt(self) -> str:
        """The reason why nothing may be called good here; empty if all was seen."""
        if self.mapped:
            return f"{', '.join(self.mapped)}: stored into through a memory mapping, which no supervisor sees"
        if self.missed:
            return f"{', '.join(self.missed[:3])}: changed by something that was not seen"
        if self.unread:
            return f"{self.unread} calls could not be looked at"
        if self.is_changed and not self.changes:
            return "its state changed, and no change was seen"
        return ""


def shots(base: Image, changes: list[Change], torn: Callable[[int], set[int]]) -> Iterator[Shot]:
    """One before each change and the answer, one per tear, one after all; each distinct image once."""
    seen: set[tuple[bytes, bool]] = set()
    for shot in _all(base, changes, torn):
        key = shot.image.digest(), shot.is_answered
        if key not in seen:
            seen.add(key)
            yield shot


def _all(base: Image, changes: list[Change], torn: Callable[[int], set[int]]) -> Iterator[Shot]:
    disk, is_answered = Disk(base), False
    for change in changes:
        # A process that begins to write the answer cannot take it back.
        is_answered = is_answered or (change.path == ANSWER and ends(change.steps))
        yield Shot(Point(change.ordinal, Kill()), change, disk.image(), is_answered)
        before = disk.image()
        for step in change.steps:
            if step.kind == "write":
                for size in sorted(torn(len(step.data))):
                    torn_disk = Disk(before).play([replace(step, data=step.data[:size])])
                    yield Shot(Point(change.ordinal, Torn(size)), change, torn_disk.image(), is_answered)
        disk.play(change.steps)
    yield Shot(Point(AFTER_THE_ANSWER, Kill()), None, disk.image(), is_answered=True)


def left_behind(base: Image, changes: list[Change]) -> list[int]:
    """The changes before which a kill leaves a file that was not there, and will not be: scratch, or a lock."""
    disk, names = Disk(base), list[set[str]]()
    for change in changes:
        names.append(_names(disk.tree()))
        disk.play(change.steps)
    lasting = {*base.files, *base.folders, *base.links, *_names(disk.tree())}
    return [change.ordinal for change, there in zip(changes, names, strict=True) if there - lasting]


def _names(tree: Tree) -> set[str]:
    return {*tree.names, *tree.folders, *tree.links}


def ends(steps: tuple[Step, ...]) -> bool:
    """Do these steps end an answer? Answers are lines."""
    return any(step.data.endswith(b"\n") for step in steps)
