"""chaos.kill_points: every operation killed at every change it makes; each of a mixed fleet is the victim once."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import Any

from buschaos.acts import every_point
from buschaos.acts.base import Act, Scene, Shared, Words
from buschaos.crashpoints import in_the_middle
from buschaos.nemeses.syscalls import Fail, Others, Short
from buschaos.points import At, Point
from buschaos.subjects.base import Subject


@dataclass(frozen=True)
class Own:
    """How much of it."""

    points: bool = True
    torn: every_point.Torn | None = None  # where a write is cut; None: as often as the system's bus can bear


class KillPoints(Act[Own]):
    """Kills an operation before each change, and in the middle of its writes."""

    name = "chaos.kill_points"
    flag = "points"
    own = Own
    folders = ("points",)  # with those of errors and of others
    length = 1

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--points",
            action="store_true",
            default=None,
            help="kill every operation before each change it makes, and in each write",
        )

    def hurried(self, words: Words, subject: Subject) -> dict[str, Any]:
        return {"torn": in_the_middle}

    def has(self, at: At, only: frozenset[str], subject: Subject) -> bool:
        return isinstance(at, Point) and not isinstance(at.verdict, Others | Fail | Short)

    def play(self, scene: Scene, own: Own) -> None:
        operations = self.operations(scene.shared)
        every_point.play(scene, scene.time, operations, what="points killed", folder="killed", torn=own.torn)

    def again(self, shared: Shared, own: Own) -> str:
        return "--points"
