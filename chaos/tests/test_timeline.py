"""`timeline` under chaos: the reference loses and doubles nothing, and no chain breaks."""

from __future__ import annotations

import contextlib
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from chaos.tests import acts
from chaos.tests.acts import problems_of

from buschaos.bus import RunFailed
from buschaos.crashpoints import cuts
from buschaos.diskfull import LEVELS_FEW
from buschaos.nemeses.server import KILL
from buschaos.server_power import SYNCS, ServerPower
from buschaos.state import Problem
from buschaos.subjects.timeline.chain import broken, link
from buschaos.subjects.timeline.operations import request, subject
from buschaos.subjects.timeline.state import FORGETS_NS, deliveries
from busproof.bus.fleet import Fleet, reference
from busproof.contract.history import Event, EventType, read

SHORT = ("send", "fetch, abandoned", "fork")

play = partial(acts.play, "timeline")
outcomes = partial(acts.outcomes, "timeline")


def test_the_reference_survives_the_write_points_of_each_verb(tmp_path: Path) -> None:
    """Send, fetch, fork: before or after; the others in the nightly run."""
    played = play(reference("timeline"), tmp_path, *SHORT, points=True)
    assert problems_of(played) == []
    assert set(outcomes(played).values()) == {"pass"}


def test_the_reference_survives_random_kills(tmp_path: Path) -> None:
    """Callers, and pools of two workers: each sent request comes to a worker, and each chain is whole."""
    played = play(reference("timeline"), tmp_path, kills=16)
    assert problems_of(played) == []
    assert set(outcomes(played).values()) == {"pass"}
    assert played.acts[0].counts["kills"] == 16
    assert played.acts[0].counts["acknowledged messages"] > 30


def test_the_reference_survives_kills_of_its_server(tmp_path: Path) -> None:
    """Of sessions and of the NATS server under them."""
    played = play(f"nats:{reference('timeline')}", tmp_path, kills=16)
    assert problems_of(played) == []
    assert set(outcomes(played).values()) == {"pass"}
    (act,) = played.acts
    assert act.counts["kills of the server"] == 2 * 3
    assert act.counts["kills"] == 16
    deaths = [event for event in read(tmp_path / "history.jsonl") if event.op == KILL]
    assert len(deaths) == 6


@pytest.mark.parametrize(("config", "is_kept"), [(SYNCS, True), ("", False)], ids=["syncs", "syncs later"])
def test_a_server_that_syncs_before_it_answers_keeps_all_when_the_power_goes(
    tmp_path: Path, config: str, *, is_kept: bool
) -> None:
    """A stock server syncs every two minutes, and answers before: what is lost then is seen."""
    with contextlib.closing(Fleet([f"nats:{reference('timeline')}"], system="timeline")) as fleet:
        result = ServerPower(fleet, tmp_path, images=4, config=config).run()
    assert not result.doubt
    assert result.checked == 4
    lost = [problem.why for problem, _ in result.problems if problem.why.startswith("lost: ")]
    assert (not result.problems) if is_kept else lost


def test_on_a_server_kill_points_cannot_be_asked_for(tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="not known for timeline on a server"):
        play(f"nats:{reference('timeline')}", tmp_path, points=True)


def _event(index: int, type_: EventType, mono_ns: int, **fields: Any) -> Event:
    return Event(index=index, run="r", system="timeline", process=1, type=type_, mono_ns=mono_ns, wall_ms=0, **fields)


def _came_again(ns_before_death: int, dies_before: int = 6) -> list[Problem]:
    """A message that was acknowledged, the server's death so much later, and the message again.

    The death is recorded before the event of this number: 6 is behind the answer to the acknowledgement.
    """
    key = request("again")
    message = {"message": {"subject": subject(key), "delivery": "d"}}
    calls: list[tuple[str, Any, Any]] = [
        ("send", {"key": key}, {}),
        ("fetch", {}, message),
        ("ack", {"delivery": "d"}, {}),
        ("fetch", {}, message),
    ]
    events: list[Event] = []
    for number, (op, asked, answer) in enumerate(calls):
        pair: list[tuple[EventType, Any]] = [("invoke", asked), ("ok", answer)]
        for half, (type_, value) in enumerate(pair):
            if 2 * number + half == dies_before:
                events.append(_event(len(events), "nemesis", ns_before_death, op=KILL))
            mono_ns = 0 if 2 * number + half < dies_before else ns_before_death + 1
            events.append(_event(len(events), type_, mono_ns, op=op, value=value))
    return list(deliveries(events))


def test_a_server_that_dies_may_forget_the_last_acknowledgements_alone() -> None:
    assert _came_again(FORGETS_NS) == []
    assert [problem.noun for problem in _came_again(FORGETS_NS + 1)] == ["cursor"]


def test_a_server_that_dies_before_an_answer_is_recorded_may_have_forgotten_that_acknowledgement() -> None:
    """It was asked before; the answer, which came in that moment, is recorded behind the death."""
    assert _came_again(FORGETS_NS + 1, dies_before=5) == []
    assert [problem.noun for problem in _came_again(FORGETS_NS + 1, dies_before=4)] == ["cursor"]


def test_the_reference_survives_a_full_disk(tmp_path: Path) -> None:
    """A few levels; DISK_FULL, and nothing half done."""
    played = play(reference("timeline"), tmp_path, "send", disk_full=True, levels=LEVELS_FEW, errors=())
    assert problems_of(played) == []
    assert set(outcomes(played).values()) == {"pass"}


def _row(number: int, previous: str, **fields: Any) -> dict[str, Any]:
    row = {
        "key": {"timeline": "main"},
        "subject": f"vlinder.main.s.req.a.v.b.o.{number}",
        "number": number,
        "payload": number,
        "nonce": None,
        "state": None,
        "time_us": 1,
        "previous": previous,
        **fields,
    }
    return {**row, "hash": link(row)}


def test_a_broken_chain_is_found() -> None:
    """A changed payload, a gap, a head that lags."""
    first = _row(1, "0" * 64)
    second = _row(2, first["hash"])
    head = {"timeline": "main", "parent": None, "at": None, "number": 2, "hash": second["hash"]}

    def why(rows: list[dict[str, Any]], **fields: Any) -> list[str]:
        return [problem.why for problem in broken(rows, [{**head, **fields}])]

    assert why([first, second]) == []
    assert why([{**first, "payload": 9}, second]) == ["main: message 1 has not the hash of its fields"]
    assert why([second])[0] == "main: number 2 follows 0"
    assert why([first, second], number=1) == ["main: its head is said to be 1, its last message is 2"]


def test_a_request_that_comes_to_nobody_or_again_is_found() -> None:
    """From the history alone."""
    key = {"type": "request", "timeline": "main", "submission": "s", "agent": "a", "service": "v", "backend": "b"}
    key |= {"operation": "o", "sequence": 1}
    subject = "vlinder.main.s.req.a.v.b.o.1"
    came = {"message": {"subject": subject, "delivery": "d1"}}

    def judged(*calls: tuple[str, Any, Any]) -> list[Problem]:
        events = []
        for op, params, reply in calls:
            for kind, value in (("invoke", params), ("ok", reply)):
                events.append(
                    Event(
                        index=len(events),
                        run="r",
                        system="timeline",
                        process=1,
                        type=kind,
                        op=op,
                        value=value,
                        wall_ms=0,
                        mono_ns=len(events),
                    )
                )
        return list(deliveries(events))

    send, fetch = ("send", {"key": key}, {"subject": subject}), ("fetch", {}, came)
    ack = ("ack", {"delivery": "d1"}, {})
    assert judged(send, fetch, ack) == []
    assert judged(send, fetch, fetch, ack) == []
    assert [problem.noun for problem in judged(send)] == ["cursor"]
    assert [problem.events for problem in judged(send, fetch, ack, fetch)] == [(5, 7)]


@pytest.mark.nightly
def test_the_reference_survives_every_write_point_torn_everywhere(tmp_path: Path) -> None:
    """All operations, all cuts, all errors, every level of a full disk, and 200 kills."""
    played = play(reference("timeline"), tmp_path, points=True, disk_full=True, kills=200, torn=cuts)
    assert problems_of(played) == []
    assert set(outcomes(played).values()) == {"pass"}
