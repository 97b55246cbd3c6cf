"""`relay` under chaos: after any kill, each file is delivered once and archived once."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from chaos.tests import acts
from chaos.tests.acts import problems_of

from buschaos.crashpoints import CrashPoints, in_the_middle
from buschaos.holds import Holds
from buschaos.points import Place, Point, parse
from buschaos.state import Evidence
from buschaos.subjects.relay.agents import Writer, join
from buschaos.subjects.relay.operations import OPERATIONS
from buschaos.subjects.relay.state import problems
from busproof.bus.fleet import Fleet, reference

play = partial(acts.play, "relay", reference("relay"))


def test_the_orchestrator_survives_kills_while_agents_write(tmp_path: Path) -> None:
    """Each file that was put into an outbox has ended, once, in every inbox that it was for."""
    played = play(tmp_path, kills=6)
    assert problems_of(played) == []
    assert played.acts[0].counts["kills"] == 6


def test_agents_that_write_while_the_orchestrator_works_write_all_their_files(tmp_path: Path) -> None:
    """The half that a thread of their own writes, too: nobody hears of an error in it."""
    writer = Writer()
    join(tmp_path / "store")
    writer.write(tmp_path / "store", [("ann", number, "bob", "text") for number in range(5)])
    writer.wait()
    assert len(list((tmp_path / "store").glob("agents/ann/outbox/*.msg"))) == 5
    assert len((tmp_path / "sent.jsonl").read_text().splitlines()) == 5


def test_a_second_run_in_the_same_folder_knows_nothing_of_the_first(tmp_path: Path) -> None:
    """Files sent and read by the first one's agents are not missed (a stranger's report: the reference was INVALID)."""
    for seed in (1, 2):
        assert problems_of(play(tmp_path, kills=2, seed=seed)) == []


@pytest.mark.parametrize("at", ["22:kill", "142:kill", "194:EIO", "240:ENOSPC", "280:kill"])
def test_a_pass_that_is_cut_short_is_finished_by_the_next(tmp_path: Path, at: str) -> None:
    """All points are played at night; these are spread over scan, delivery and archive."""
    (result,) = play_one(tmp_path, parse(at))
    assert result == []


@pytest.mark.parametrize(
    ("name", "at"), [("spawn", "46:kill"), ("spawn", "61:kill"), ("spawn", "62:kill"), ("release", "34:kill")]
)
def test_who_was_started_is_known_and_ended_wherever_the_orchestrator_died(tmp_path: Path, name: str, at: str) -> None:
    """A spawn about to write its process down, to let its gate go, and to become the program; a release between two
    signals."""
    (result,) = play_one(tmp_path, parse(at), name)
    assert result == []


@pytest.mark.nightly
def test_a_spawn_and_a_release_survive_every_write_point(tmp_path: Path) -> None:
    """And every signal."""
    assert problems_of(play(tmp_path, "spawn", "release", points=True)) == []


def play_one(out: Path, at: Point, name: str = "scan") -> list[list[str]]:
    """One point of the pass, or of another operation; its problems."""
    operations = tuple(operation for operation in OPERATIONS if operation.name == name)
    fleet = Fleet([reference("relay")], system="relay")
    try:
        (result,) = CrashPoints(fleet, out, torn=in_the_middle, operations=operations, only=at).run()
        return [[problem.why for problem in point.problems] for point in result.points]
    finally:
        fleet.close()


@pytest.mark.parametrize(
    ("fault", "name", "at", "says"),
    [
        ("relay/a_copy_has_two_names", "scan", "84:kill", "is half done: copies"),
        ("relay/goes_before_it_is_known", "spawn", "52:kill", "is half done: begun"),
        ("relay/believes_a_recorded_pid", "spawn", "61:kill", "is half done: agents"),
    ],
)
def test_a_planted_fault_is_found_at_its_write_point(
    tmp_path: Path, faulty: Callable[[str], str], fault: str, name: str, at: str, says: str
) -> None:
    """One in the middle of those that show it; all points of a pass are played at night."""
    played = acts.play("relay", faulty(fault), tmp_path, name, points=True, at=parse(at))
    assert [says in line for line in problems_of(played)] == [True]


@pytest.mark.nightly
def test_the_orchestrator_survives_every_write_point(tmp_path: Path) -> None:
    """Of the opening and of a pass."""
    played = play(tmp_path, points=True)
    assert problems_of(played) == []


@pytest.mark.nightly
def test_a_full_disk_loses_nothing(tmp_path: Path) -> None:
    """Files that could not be processed are processed when there is room."""
    played = play(tmp_path, disk_full=True, levels=(0, 1, 2, 3, 5, 8, 13, 21, 34, 60), errors=(errno.ENOSPC, errno.EIO))
    assert problems_of(played) == []


@pytest.mark.parametrize(("bus", "ends"), [("", []), ("relay/removes_its_lock_first", ["a third opens it, too"])])
def test_who_closes_lets_one_other_in(tmp_path: Path, faulty: Callable[[str], str], bus: str, ends: list[str]) -> None:
    """Another has opened the lock file and asks for the lock when its holder has gone; then a third comes."""
    close = tuple(operation for operation in OPERATIONS if operation.method == "close")
    place = parse("1:hold:2")
    assert isinstance(place, Place)
    with contextlib.closing(Fleet([faulty(bus) if bus else reference("relay")], system="relay")) as fleet:
        (result,) = Holds(fleet, tmp_path, operations=close, only=place).run()
    assert result.twice == 1
    assert [problem.why.rpartition(", and ")[2] for problem, _ in result.problems] == ends


SOUND: dict[str, Any] = {
    "ledger": [
        {
            "message_id": "ann/1",
            "direction": "outbox",
            "agent_name": "ann",
            "target": "*",
            "status": "archived",
            "checksum": "5e",
        },
        {
            "message_id": "bob/9",
            "direction": "inbox",
            "agent_name": "bob",
            "target": "*",
            "status": "completed",
            "checksum": None,
        },
    ],
    "pending_operations": [{"id": 1, "operation_type": "deliver", "completed_at": 5}],
    "copies": [
        {"agent": agent, "name": "9.msg", "id": "ann/1", "is_whole": True, "text": ""} for agent in ("bob", "cid")
    ],
    "outboxes": [],
    "archived": [{"file": "ann/1", "sha256": "5e"}],
    "scratch": [],
    "sent": [{"file": "ann/1"}],
    "agents": [{"name": "ann", "pid": None}, {"name": "w", "pid": 7}],
    "running": [{"agent": "w", "pid": 7}],
}


@pytest.mark.parametrize(
    ("broken", "says"),
    [
        ({}, ""),
        ({"copies": SOUND["copies"][:1]}, "lost: ann/1 is archived, and cid has no copy"),
        ({"copies": SOUND["copies"] + SOUND["copies"][:1]}, "doubled: ann/1 lies 2 times in the inbox of bob"),
        ({"copies": [SOUND["copies"][0] | {"is_whole": False}, SOUND["copies"][1]]}, "torn: bob/inbox/9.msg"),
        ({"ledger": [SOUND["ledger"][0] | {"status": "processing"}]}, "stuck: ann/1 is processing"),
        ({"ledger": [SOUND["ledger"][0] | {"status": "failed", "last_error": None}]}, "unrecorded: ann/1 failed"),
        ({"ledger": []}, "lost: [\"ann/1\"] were put into outboxes"),
        ({"archived": []}, "lost: the files of [\"ann/1\"] are nowhere"),
        ({"outboxes": SOUND["archived"]}, "doubled: the files of [\"ann/1\"] are in two places"),
        ({"archived": [{"file": "ann/1", "sha256": "d1"}]}, "lost: ann/1 went into the archive with other words"),
        ({"elsewhere": [{"file": "x"}]}, "outside: x was written through a link"),
        ({"scratch": [{"file": "x"}]}, "left behind: tmp/x"),
        ({"running": [*SOUND["running"], {"agent": "w", "pid": 8}]}, "orphan: a process of w lives that the ledger"),
        ({"running": []}, "gone: w has a process in the ledger, and none that lives"),
        ({"pending_operations": [SOUND["pending_operations"][0] | {"completed_at": None}]}, "stuck: operation 1"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_folder_is_told(broken: dict[str, Any], says: str) -> None:
    """And nothing of a sound one."""
    reasons = [problem.why for problem in problems(Evidence(SOUND | broken, {"integrity": "ok"}))]
    assert not reasons if not says else any(why.startswith(says) for why in reasons), reasons
