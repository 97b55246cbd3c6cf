"""`topics` under chaos: the reference's server loses and doubles nothing, and planted faults are found."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from chaos.tests import acts
from chaos.tests.acts import problems_of

from buschaos import cli
from buschaos.gone import CASES, Case
from buschaos.nemeses.syscalls import ANSWER, Continue, Supervision, watched_child
from buschaos.points import parse
from buschaos.subjects.topics.state import read
from busproof.bus.fleet import open_door, reference
from busproof.contract.history import read as read_history
from busproof.contract.topics import DB_NAME

play = partial(acts.play, "topics", torn=None)
outcomes = partial(acts.outcomes, "topics")


def test_the_reference_survives_a_kill_and_a_disconnect(tmp_path: Path) -> None:
    """A sync with an acknowledgement, killed at every point; one that waits, disconnected at every point."""
    case = Case(waits=True, auto_advance=True, way="disconnected")
    played = play(reference("topics"), tmp_path, "sync that acknowledges", points=True, gone=True, cases=(case,))
    assert problems_of(played) == []
    assert set(outcomes(played).values()) == {"pass"}
    points, gone = played.acts
    assert points.counts["points killed"] >= 6
    assert gone.counts["points"] >= 7  # two writes and two writes, the wait, the answer, and nobody's


def test_the_reference_survives_twelve_kills(tmp_path: Path) -> None:
    """Nothing lost, nothing doubled; the sessions are at work at once, or nothing would be shown."""
    played = play(reference("topics"), tmp_path, kills=12, seed=1)
    assert problems_of(played) == []
    assert outcomes(played) == {"topics.log.75": "pass", "topics.cursor.50": "pass"}
    (act,) = played.acts
    assert act.counts["kills"] == 12
    assert act.counts["acknowledged messages"] > 500
    assert played.history is not None
    assert side_by_side(played.history) > 400


def side_by_side(history: Path) -> int:
    """Syncs that began while another one was under way."""
    under_way: set[int] = set()
    count = 0
    for event in read_history(history):
        if event.type == "invoke":
            count += event.op == "sync" and bool(under_way)
            under_way.add(event.process)
        else:
            under_way.discard(event.process)
    return count


def test_the_reference_survives_a_full_disk(tmp_path: Path) -> None:
    """No page, some, and all that is needed; each change of two operations gets ENOSPC once, and EIO once."""
    names = ("sync that acknowledges", "cursor_reset")
    played = play(reference("topics"), tmp_path, *names, disk_full=True, levels=(0, 13, 55))
    assert problems_of(played) == []
    assert outcomes(played) == {"topics.log.76": "pass", "topics.log.77": "pass"}
    assert played.acts[0].counts["levels of a full disk"] == 6
    assert played.acts[0].counts["errors injected"] >= 8
    (answers,) = played.acts[0].notes
    assert "DISK_FULL" in answers


def test_an_error_of_the_disk_under_a_code_of_the_seeds_is_held_to_its_promise(
    tmp_path: Path, faulty: Callable[[str], str]
) -> None:
    """DB_BUSY is a dialect for a full disk; for a call that happened, it is false."""
    played = play(
        faulty("topics/says_busy_of_what_it_did"),
        tmp_path,
        "cursor_reset",
        disk_full=True,
        levels=(55,),
        errors=(errno.EIO,),
    )
    assert outcomes(played) == {"topics.log.76": "fail", "topics.log.77": "pass"}
    assert any("was refused as certainly not done (DB_BUSY), and yet" in line for line in problems_of(played))


@pytest.mark.parametrize(("bus", "is_right"), [(None, True), ("topics/gives_back_over_a_successor", False)])
def test_nothing_that_another_session_received_meanwhile_is_given_back(
    bus: str | None, is_right: bool, tmp_path: Path, faulty: Callable[[str], str]
) -> None:
    """The call that consumed was cancelled, and has ended; its agent goes on elsewhere before it is undone."""
    case = next(case for case in CASES if case.has_successor)
    played = play(faulty(bus) if bus else reference("topics"), tmp_path, gone=True, cases=(case,))
    assert any("doubled: another session received" in line for line in problems_of(played)) is not is_right
    assert set(outcomes(played).values()) == {"pass" if is_right else "fail"}
    (act,) = played.acts
    assert act.counts["points"] >= 3  # nobody goes; the successor comes; and it does not come


def test_what_was_returned_and_comes_again_is_found(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """The other half of exactly."""
    case = Case(waits=False, auto_advance=True, way="disconnected")
    played = play(faulty("topics/gives_back_what_was_returned"), tmp_path, gone=True, cases=(case,))
    assert any("doubled" in line for line in problems_of(played))


@pytest.mark.parametrize("server", ["topics_again", "topics_opens_at_once"])
def test_a_server_that_was_started_ahead_serves_the_store(
    tmp_path: Path, harmless: Callable[[str], str], server: str
) -> None:
    """Whether it opens its file at its first call or at its start; and its changes there are seen."""
    door = open_door(harmless(server), Supervision().spawn)
    try:
        door.get_ready("topics")
        door.call("open", {"store": str(tmp_path)})
        with watched_child(door).watched(tmp_path, lambda _: Continue(), answers=True) as watch:
            assert door.call("topic_create", {"name": "work"})["name"] == "work"
    finally:
        door.kill()
    assert [row["name"] for row in read(tmp_path)["topics"]] == ["work"]
    assert [change.path for change in watch.changes][-2:] == [f"{DB_NAME}-wal", ANSWER]


def test_what_is_not_known_for_a_system_is_never_green(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 2: such an act cannot be asked for."""
    assert cli.main(["comms", "--gone", "--out", str(tmp_path)]) == 2
    assert "is not known for" in capsys.readouterr().err


@pytest.mark.nightly
def test_the_reference_survives_every_point(tmp_path: Path) -> None:
    """All operations, all ways to go, all levels, 200 kills."""
    played = play(reference("topics"), tmp_path, points=True, gone=True, cases=CASES, disk_full=True, kills=200)
    assert problems_of(played) == []
    assert len(outcomes(played)) == 7
    assert set(outcomes(played).values()) == {"pass"}


@pytest.mark.nightly
@pytest.mark.parametrize(("bus", "outcome"), [("", "pass"), ("topics/stores_one_by_one", "fail")])
def test_a_bus_whose_file_nobody_can_read_is_judged_by_what_it_shows(
    tmp_path: Path, faulty: Callable[[str], str], bus: str, outcome: str
) -> None:
    """By its lists, the agents that have synced, and all that a stranger reads from the beginning."""
    played = play(elsewhere(tmp_path, faulty(bus) if bus else reference("topics")), tmp_path, SENDS, points=True)
    assert outcomes(played)["topics.log.73"] == outcome
    assert bool(problems_of(played)) is (outcome == "fail")


def test_what_only_a_file_can_tell_says_so(tmp_path: Path) -> None:
    """One point is judged; damage does not apply, and reading on for callers that went needs the tables."""
    played = play(elsewhere(tmp_path, reference("topics")), tmp_path, SENDS, points=True, at=parse("3:kill"), gone=True)
    assert problems_of(played) == []
    outcome_of = outcomes(played)
    assert {row: outcome_of[row] for row in ("topics.log.73", "topics.cursor.49")} == {
        "topics.log.73": "pass",
        "topics.cursor.49": "could-not-run",
    }


SENDS = "sync that sends"


def elsewhere(folder: Path, bus: str) -> str:
    """The same server, but its database has another name than it was told."""
    script = folder / "serve.sh"
    script.write_text(f'AGENT_BUS_DB="$AGENT_BUS_DB.elsewhere" exec {bus.removeprefix("mcp:")}\n')
    return f"mcp:sh {script}"
