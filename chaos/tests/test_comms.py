"""`comms` under chaos: the reference loses and doubles nothing, and planted faults are found."""

from __future__ import annotations

import errno
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from chaos.tests import acts
from chaos.tests.acts import problems_of

from buschaos.crashpoints import cuts, in_the_middle
from buschaos.diskfull import LEVELS_FEW
from buschaos.state import Evidence
from buschaos.subjects.comms.operations import PEERS
from buschaos.subjects.comms.state import problems
from busproof.bus.fleet import reference

OF_FILES = ("write_artifact", "write_artifact again", "export_audit_trail")
IN_THE_DATABASE = (
    "send_message to all",
    "claim_message, abandoned",
    "complete_message",
    "complete_message to the dead letters",
    "send_response",
    "vote.cast",
)

play = partial(acts.play, "comms")
outcomes = partial(acts.outcomes, "comms")


def test_the_reference_survives_every_write_point(tmp_path: Path) -> None:
    """Send, claim, complete, the move to the dead letters, respond, artifact: before or after.

    Writes of the database are torn in the tests of `worker`, which has the same one, and in the nightly run, which
    plays all operations.
    """
    for folder, some, torn in (("database", IN_THE_DATABASE, lambda _: set()), ("files", OF_FILES, in_the_middle)):
        played = play(reference("comms"), tmp_path / folder, *some, points=True, torn=torn)
        assert problems_of(played) == []
        assert outcomes(played)["comms.log.71"] == "pass"
    assert outcomes(played)["comms.blob.12"] == "pass"


def test_the_reference_survives_thirty_kills(tmp_path: Path) -> None:
    """Senders, and pools of two processes under one name: nothing acknowledged is lost, no delivery held twice."""
    played = play(reference("comms"), tmp_path, kills=30)
    assert problems_of(played) == []
    assert outcomes(played) == {"comms.log.72": "pass"}
    assert played.acts[0].counts["kills"] == 30
    assert played.acts[0].counts["acknowledged messages"] > 60


def test_the_reference_survives_a_full_disk(tmp_path: Path) -> None:
    """Ten levels, and every change of two operations that write a second file fails once for lack of space."""
    names = ("write_artifact", "export_audit_trail")
    how = {"levels": LEVELS_FEW, "errors": (errno.ENOSPC,), "reads": False, "shorts": False}
    played = play(reference("comms"), tmp_path, *names, disk_full=True, **how)
    assert problems_of(played) == []
    assert outcomes(played) == {"comms.log.73": "pass"}


@pytest.mark.parametrize(
    ("fault", "name", "says"),
    [
        ("comms/answers_before_commit", "send_message", "was answered, and is not whole"),
        ("comms/buries_in_two_steps", "complete_message to the dead letters", "is half done: agent_status"),
    ],
)
def test_a_planted_fault_is_found_at_its_write_point(
    tmp_path: Path, faulty: Callable[[str], str], fault: str, name: str, says: str
) -> None:
    """By the operation that it breaks."""
    assert any(says in line for line in problems_of(play(faulty(fault), tmp_path, name, points=True)))


@pytest.mark.nightly
def test_two_holders_of_one_delivery_are_found_by_random_kills(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """Two processes of one pool both find the message free. That takes luck, so one of a few plans must show it."""
    bus = faulty("comms/claims_in_two_steps")
    plans = (problems_of(play(bus, tmp_path / str(seed), kills=48, seed=seed)) for seed in range(1, 5))
    assert any("lease: " in line for problem_kinds in plans for line in problem_kinds)


@pytest.mark.nightly
def test_the_reference_survives_every_write_point_torn_everywhere(tmp_path: Path) -> None:
    """All operations, all cuts, all errors, every level of a full disk, and 200 kills."""
    played = play(reference("comms"), tmp_path, points=True, disk_full=True, kills=200, torn=cuts)
    assert problems_of(played) == []
    assert set(outcomes(played).values()) == {"pass"}


def test_a_bus_that_takes_no_ids_is_killed_too(tmp_path: Path, harmless: Callable[[str], str]) -> None:
    """A message that was not answered is not sent again: it is there or not, and whole. Dumped payloads are objects."""
    bus = harmless("comms_sends_once")
    played = play(bus, tmp_path / "kills", kills=8)
    assert problems_of(played) == []
    assert outcomes(played)["comms.log.72"] == "pass"
    played = play(bus, tmp_path / "points", "send_message, once", points=True, errors=(errno.ENOSPC,))
    assert problems_of(played) == []
    assert outcomes(played)["comms.log.71"] == "pass"


def test_where_nothing_is_acknowledged_no_row_says_that_nothing_is_lost(
    tmp_path: Path, harmless: Callable[[str], str]
) -> None:
    """The bus tells each sender that it is too quick."""
    played = play(harmless("comms_takes_nothing"), tmp_path, kills=8)
    assert problems_of(played) == []
    assert outcomes(played)["comms.log.72"] == "inconclusive"
    assert "no message was acknowledged" in played.acts[0].undecided[0]


@pytest.mark.parametrize(("pending", "is_right"), [(1, True), (2, True), (3, True), (4, False), (0, False)])
def test_what_is_due_again_may_be_told_as_it_was(pending: int, is_right: bool) -> None:
    """docs/spec/comms.md, on dump: the count has it or not. A message that was claimed just now is in hands.

    One that failed just now may be due as well: its delay is over before the next call.
    """
    deliveries = (("pending", None), ("processing", "10:00:00"), ("processing", "10:05:00"), ("failed", "10:05:00"))
    rows = [
        {
            "id": f"m{number}",
            "to_agent": "bob",
            "status": status,
            "payload": {},
            "created_at": "2026-01-01T10:00:00.000000Z",
            "last_delivered_at": at and f"2026-01-01T{at}.000000Z",
        }
        for number, (status, at) in enumerate(deliveries)
    ]
    dump = {"messages": rows, "agent_status": [{"agent_id": "bob", "messages_pending": pending}], "integrity": "ok"}
    wrong = problems(Evidence(dump, {"integrity": "ok", "torn_artifacts": []}, [], exported=False))
    assert [problem.noun for problem in wrong] == ([] if is_right else ["presence"])


def test_whose_claim_was_refused_is_no_late_holder() -> None:
    """Peer and victim may be two processes of one agent: the victim then completes the message that the peer holds."""
    (peer,) = (candidate for candidate in PEERS if candidate.late)
    theirs = {"claimed": True, "delivery_count": 2}
    for late in peer.late:
        assert late.params(None, {}, {"claimed": False, "delivery_count": None}, theirs) is None
        assert late.params(None, {}, {"claimed": True, "delivery_count": 1}, theirs) is not None
