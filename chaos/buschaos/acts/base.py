"""The form of an act: what it is called, when it can be played, what it does, and how it is played again.

A new act is a module here with one `Act`, an entry of `acts.ACTS`, and rows of the catalogue whose check is its name:
a system has the acts that its rows name. Command line, limits, report and replay lines take all else from the act.
"""

from __future__ import annotations

import argparse
import shlex
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from buschaos import reading
from buschaos.limits import Progress, Time
from buschaos.nemeses import syscalls
from buschaos.operations import Operation
from buschaos.points import At
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from buschaos.subjects.base import Subject
from busproof.bus.fleet import Fleet

Own = TypeVar("Own")  # the settings of one act
Words = Mapping[str, Any]  # what was asked for, by the names of the fields of all acts' settings


@dataclass(frozen=True)
class Shared:
    """The settings that all acts of a run have in common."""

    specs: list[str]
    out: Path
    system: str
    seed: int = 0
    operations: tuple[Operation, ...] | None = None  # all of the system's
    at: At | None = None  # this point of them, and no other
    time: Time = field(default_factory=Time)  # that the whole run may take, its acts in equal parts
    lanes: int = 1  # acts that are played at a time
    is_alone: bool = False  # one act has all the lanes

    @property
    def subject(self) -> Subject:
        """What chaos knows of the system."""
        return SUBJECTS[self.system]


@dataclass
class Findings:
    """All that is known of one act."""

    name: str
    counts: Counter[str] = field(default_factory=Counter)
    problems: list[tuple[Problem, Path]] = field(default_factory=list)  # each with the history that shows it
    undecided: list[str] = field(default_factory=list)
    could_not_run: str | None = None
    broke_off: str = ""  # the same, if it had begun
    ended_by: str = ""  # the reason why it was cut short, other than the time
    left_out: Counter[str] = field(default_factory=Counter)  # for which there was no time
    spared: Counter[str] = field(default_factory=Counter)  # that a sample does without, and the whole act adds
    impossible: str = ""  # why an operation does not have the one point that was asked for
    notes: list[str] = field(default_factory=list)
    seconds: float = 0.0  # that it took
    nouns: frozenset[str] | None = None  # of the operations that were asked for; None: all there are
    progress: Progress = field(default_factory=Progress)

    def add(self, problems: list[Problem], history: Path) -> None:
        """Take in problems that one history shows."""
        self.take([(problem, history) for problem in problems])

    def take(self, shown: list[tuple[Problem, Path]]) -> None:
        """Take in problems, each with the history that shows it. Raises Enough."""
        self.problems += shown
        for problem, _ in shown:
            self.progress.found(problem, self.name)

    def point(self, shown: list[tuple[Problem, Path]]) -> None:
        """A point was judged, and showed this."""
        self.progress.point()
        self.take(shown)

    @property
    def title(self) -> str:
        """The act's name for a reader."""
        return title(self.name)

    @property
    def cut_short(self) -> str:
        """The reason why not all of it was played, and the parts left out; empty if all was played."""
        left_out = ", ".join(f"{count:,} {what}" for what, count in self.left_out.items() if count)
        return self.ended_by or (left_out and f"the time was over, left out: {left_out}")


@dataclass
class Scene:
    """What an act plays with, and where its findings go as they come: whatever ends it, they are known."""

    shared: Shared
    fleet: Fleet
    time: Time
    findings: Findings

    @property
    def subject(self) -> Subject:
        """What chaos knows of the system."""
        return self.shared.subject


class Act(Generic[Own]):
    """One way to break a bus, with settings of its own: a frozen dataclass whose fields are words."""

    name: ClassVar[str]  # the check of its rows
    flag: ClassVar[str]  # the word that asks for it
    own: type[Own]
    folders: ClassVar[tuple[str, ...]]  # of its evidence, below the run's
    length: ClassVar[int] = 0  # acts that take long, by the time that they take; 0: it is soon over
    compares: ClassVar[bool] = True  # a state with another, so that it matters how much of a state is told
    plays_servers: ClassVar[bool] = False  # buses on a server, whose files are not in their folder

    # -- what is asked for

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        """Add its flags to a command line: what is not said is None, or stays out."""
        raise NotImplementedError

    def usual(self, subject: Subject) -> dict[str, Any]:
        """The words that ask for all of it."""
        return {self.flag: True}

    def unsaid(self, words: Words, subject: Subject) -> dict[str, Any]:
        """Words that follow from those of a command line."""
        return {}

    def hurried(self, words: Words, subject: Subject) -> dict[str, Any]:
        """Words for a sample of it; `words` are those of the command line, which go before them."""
        return {}

    def has(self, at: At, only: frozenset[str], subject: Subject) -> bool | None:
        """Does `--at` name one of its points, of these operations? None: it has none that can be named."""
        return None

    def is_named(self, words: Words) -> bool:
        """Does a command line ask for it? One that names no act asks for all."""
        return self.flag in words

    def settings(self, words: Words) -> Own | None:
        """Its own settings; None: it was not asked for."""
        asked = words.get(self.flag)
        return None if asked is None or asked is False else self.of(words)

    def of(self, words: Words) -> Own:
        """Those of the words that are its own."""
        return self.own(**{name: words[name] for name in self.words if name in words})

    @property
    def words(self) -> list[str]:
        """The names of its settings."""
        return [setting.name for setting in fields(self.own)]  # type: ignore[arg-type]

    def operations(self, shared: Shared) -> tuple[Operation, ...] | None:
        """Those of the asked operations that it plays: one that waits would take its time elsewhere."""
        readers = {reader.name for reader, _ in shared.subject.repertoire.waits}
        return shared.operations and tuple(op for op in shared.operations if op.name not in readers)

    def nouns(self, shared: Shared) -> frozenset[str] | None:
        """The nouns of the operations that are asked for; None: all there are."""
        return None if shared.operations is None else frozenset(operation.noun for operation in shared.operations)

    def stale(self, own: Own | None) -> tuple[str, ...]:
        """The folders of an earlier run that must not be taken for this one's."""
        return self.folders

    # -- what it does

    def why_not(self, scene: Scene, own: Own) -> str | None:
        """The reason why it cannot be played on this bus and this machine; None: it can."""
        return why_no_points(scene.fleet)

    def play(self, scene: Scene, own: Own) -> None:
        """Strike, judge, and tell the scene's findings."""
        raise NotImplementedError

    # -- what is told of it

    def in_part(self, own: Own) -> str:
        """The part of it that alone was asked for; empty: the whole."""
        return ""

    def doubt_of_narrow(self, findings: Findings) -> str:
        """The reason why a narrow row, though nothing speaks against it, was not decided."""
        return ""

    def again(self, shared: Shared, own: Own) -> str:
        """The flags that ask for the same again."""
        raise NotImplementedError


def title(act: str) -> str:
    """An act's name for a reader."""
    return act.partition(".")[2].replace("_", " ")


def flag(name: str, value: object | None) -> str:
    """A flag with a value; empty where there is none."""
    return "" if value is None else f" --{name} {shlex.quote(str(value))}"


def why_no_points(fleet: Fleet) -> str | None:
    """The reason why no process of this bus can be struck at a change of a file, and the state be compared."""
    if not reading.can_compare(fleet.hello, SUBJECTS[fleet.system]):
        return reading.WHY_NOT
    return syscalls.why_unavailable()
