"""chaos.waits: a reader that waits stands still in its looks until its news is there."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from buschaos.acts import pairs
from buschaos.acts.base import Act, Scene, Shared, flag
from buschaos.acts.holds import is_hold
from buschaos.operations import Operation
from buschaos.points import At
from buschaos.subjects.base import Subject


@dataclass(frozen=True)
class Own:
    """What it shares with holds: one pair again."""

    twice: int | None = None
    crossed: int | None = None
    against: str | None = None


class Waits(Act[Own]):
    """Readers that wait, held at every step before they sleep."""

    name = "chaos.waits"
    flag = "waits"
    own = Own
    folders = ("waits",)

    def arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--waits",
            action="store_true",
            default=None,
            help="hold a reader that waits in each of its looks, until a message has come",
        )

    def has(self, at: At, only: frozenset[str], subject: Subject) -> bool:
        return is_hold(at) and bool(only & {reader.name for reader, _ in subject.repertoire.waits})

    def operations(self, shared: Shared) -> tuple[Operation, ...] | None:
        readers = {reader.name for reader, _ in shared.subject.repertoire.waits}
        return shared.operations and tuple(operation for operation in shared.operations if operation.name in readers)

    def play(self, scene: Scene, own: Own) -> None:
        operations = self.operations(scene.shared)
        named = {"twice": own.twice, "crossed": own.crossed, "against": own.against}
        pairs.play(scene, scene.time, operations, waits=True, **named)

    def again(self, shared: Shared, own: Own) -> str:
        return f"--waits{flag('twice', own.twice)}{flag('crossed', own.crossed)}{flag('against', own.against)}"
