"""An act is a value: the command line makes its settings, and its replay line makes the same again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import pytest

from buschaos import cli, report
from buschaos.acts import ACTS, acts_of
from buschaos.run import Settings
from buschaos.subjects import SUBJECTS

LINES = [
    *sorted(SUBJECTS),
    "worker --kills 5 --calls 100",
    "worker --points --only publish --only save_blob",
    "worker --only publish --at 7:torn:512",
    "worker --only publish --at 7:EIO:sticky",
    "worker --only save_blob --against 'another blob' --at 3:hold:2",
    "worker --only 'poll that waits' --against 'what it waits for' --at 2:hold",
    "worker --holds --drawn 3 --twice 4 --crossed 9",
    "worker --drawn 7",
    "worker --power 41 --deaths 3 --durability power-loss --option synchronous=FULL --option a=b",
    "worker --at 7:cut:weak:4096:0:none:0 --durability power-loss",
    "mailbox --only ack --power 1 --deaths 1",
    "worker --disk-full --disk /mnt --errors EINTR,short --sticky",
    "worker --damage 4",
    "topics --gone --waits",
]


def _settings(line: str) -> Settings:
    return cli._settings(cli.parser().parse_args(shlex.split(line)))


@pytest.mark.parametrize("line", LINES)
def test_the_replay_line_of_an_act_asks_for_the_same(line: str) -> None:
    """And for no other act."""
    asked = _settings(f"{line} --seed 7")
    assert asked.own
    for name, own in asked.own.items():
        again = _settings(report.again(asked, name).removeprefix("busproof chaos "))
        assert again.own == {name: own}
        assert again.shared.operations == asked.shared.operations
        assert again.shared.at == asked.shared.at
        if "--seed" in report.again(asked, name):
            assert again.shared.seed == 7


def test_a_point_that_is_played_again_leaves_the_run_that_found_it_as_it_is() -> None:
    """The printed line has no --out, and the history of the run is still to be audited."""
    again = _settings("worker --only publish --at 7:torn:512").shared.out
    assert again.parts[-2:] == ("busproof-out", "replay")
    assert again != _settings("worker").shared.out


def test_of_two_operations_with_one_name_a_bus_has_its_own() -> None:
    """Some buses take one id in an ack, and others many: a replay of either is asked for by the same name."""
    operations = _settings("mailbox --only ack").shared.operations
    assert operations is not None
    assert [operation.needs for operation in operations] == [("ack", "ack_many"), ("ack",)]


@pytest.mark.parametrize("system", sorted(SUBJECTS))
def test_a_line_without_flags_asks_for_all_acts_of_the_system(system: str) -> None:
    """In a hurry, too."""
    names = {act.name for act in acts_of(system)}
    assert _settings(system).own.keys() == _settings(f"{system} --quick").own.keys() == names


def test_names_and_settings_of_acts_are_told_apart() -> None:
    """Two acts may share a setting, as both tear writes, and never a flag, a name, or a folder of evidence."""
    for of in ("name", "flag"):
        assert len({getattr(act, of) for act in ACTS}) == len(ACTS)
    folders = [folder for act in ACTS for folder in act.folders]
    assert len(set(folders)) == len(folders)


def test_a_setting_that_no_act_has_is_refused(tmp_path: Path) -> None:
    """A misspelt one would be a run of something else."""
    words: dict[str, Any] = {"pionts": True}
    with pytest.raises(TypeError, match="no act has a setting pionts"):
        Settings(["exec:./bus"], tmp_path, "worker", **words)
