"""`topics` under chaos: the reference's server loses and doubles nothing, and planted faults are found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from buschaos import cli, report
from buschaos.gone import CASES, Case
from buschaos.nemeses.mcp_door import watched_door
from buschaos.nemeses.syscalls import ANSWER, Continue
from buschaos.run import Run, Settings, run
from buschaos.subjects.topics.operations import OPERATIONS
from buschaos.subjects.topics.state import read
from busproof.fleet import reference
from busproof.protocol.topics import DB_NAME


def play(bus: str, out: Path, *names: str, **how: Any) -> Run:
    """The acts that are asked for, of these operations or of all."""
    chosen = tuple(op for op in OPERATIONS if op.name in names) if names else None
    return run(replace(Settings(specs=[bus], out=out, system="topics", operations=chosen), **how))


def told(played: Run) -> list[str]:
    """Every problem, with its point."""
    return [f"{problem.point}: {problem.why}" for act in played.acts for problem, _ in act.problems]


def outcomes(played: Run) -> dict[str, str]:
    """Row → outcome."""
    return {row.requirement: row.outcome for row in report.rows(played, "topics")}


def test_the_reference_survives_a_kill_and_a_disconnect(tmp_path: Path) -> None:
    """A sync with an acknowledgement, killed at every point; one that waits, disconnected at every point."""
    case = Case(waits=True, auto_advance=True, way="disconnected")
    played = play(
        reference("topics"), tmp_path, "sync that acknowledges", points=True, gone=True, cases=(case,)
    )
    assert told(played) == []
    assert set(outcomes(played).values()) == {"pass"}
    points, gone = played.acts
    assert points.counts["points killed"] >= 6
    assert gone.counts["points"] >= 7  # two writes and two writes, the wait, the answer, and nobody's


def test_what_was_returned_and_comes_again_is_found(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The other half of exactly."""
    case = Case(waits=False, auto_advance=True, way="disconnected")
    played = play(faulty("topics_gives_back_what_was_returned"), tmp_path, gone=True, cases=(case,))
    assert any("doubled" in line for line in told(played))


@pytest.mark.parametrize("server", ["topics_harmless", "topics_opens_at_once"])
def test_a_server_that_was_started_ahead_serves_the_store(
    tmp_path: Path, faulty: Callable[[str], str], server: str
) -> None:
    """Whether it opens its file at its first call or at its start; and its changes there are seen."""
    door = watched_door(faulty(server))
    try:
        door.call("hello", {})
        door.call("open", {"store": str(tmp_path)})
        with door.watched(tmp_path, lambda _: Continue(), answers=True) as watch:
            assert door.call("topic_create", {"name": "work"})["name"] == "work"
    finally:
        door.kill()
    assert [row["name"] for row in read(tmp_path)["topics"]] == ["work"]
    assert [change.path for change in watch.changes][-2:] == [f"{DB_NAME}-wal", ANSWER]


def test_what_is_not_known_for_a_system_is_never_green(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2: it cannot be asked for."""
    for system, flag in (("topics", "--disk-full"), ("topics", "--kills=8"), ("comms", "--gone")):
        assert cli.main([system, flag, "--out", str(tmp_path)]) == 2
        assert "is not known for" in capsys.readouterr().err


@pytest.mark.nightly
def test_the_reference_survives_every_point(tmp_path: Path) -> None:
    """All operations and all ways to go."""
    played = play(reference("topics"), tmp_path, points=True, gone=True, cases=CASES)
    assert told(played) == []
    assert outcomes(played) == {
        "topics.log.73": "pass", "topics.cursor.48": "pass", "topics.cursor.49": "pass"
    }  # fmt: skip
