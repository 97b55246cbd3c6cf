"""Forks: a new timeline with a parent and a fork point, which reads through and never writes to its parent."""

from __future__ import annotations

import pytest
from reference.tests.timeline.conftest import request

from refbus.kernel.errors import IdConflict, InvalidArgument, NotFound
from refbus.timeline.bus import TimelineBus


def grown(bus: TimelineBus, timeline: str, count: int, first: int = 1) -> None:
    """So many requests."""
    for n in range(first, first + count):
        bus.send(request(timeline, sequence=n), {"on": timeline})


def seen(bus: TimelineBus, timeline: str) -> list[str]:
    """The timelines of the messages that a timeline sees."""
    return [message["key"]["timeline"] for message in bus.log(timeline)["messages"] if message["key"]]


def test_a_fork_sees_its_parent_up_to_the_fork_point(bus: TimelineBus) -> None:
    """And nothing that the parent does later."""
    grown(bus, "main", 5)
    forked = bus.fork("side", "s1", "ada", "main", 3)
    assert forked["number"] == 4
    grown(bus, "main", 2, first=6)
    grown(bus, "side", 1)
    assert seen(bus, "side") == ["main"] * 3 + ["side"] * 2
    assert [message["number"] for message in bus.log("side")["messages"]] == [1, 2, 3, 4, 5]
    assert [message["number"] for message in bus.log("side", after=2)["messages"]] == [3, 4, 5]
    assert seen(bus, "main") == ["main"] * 7


def test_the_chain_of_a_fork_goes_on_from_its_parents(bus: TimelineBus) -> None:
    """So all timelines are one DAG."""
    grown(bus, "main", 3)
    bus.fork("side", "s1", "ada", "main", 2)
    main, side = bus.log("main")["messages"], bus.log("side")["messages"]
    assert side[:2] == main[:2]
    assert side[2]["previous"] == main[1]["hash"] == main[2]["previous"]
    assert bus.verify("side")["ok"]


def test_a_fork_of_a_fork_sees_only_what_both_left(bus: TimelineBus) -> None:
    """Also where it is made in a stretch that its parent only inherited."""
    grown(bus, "main", 4)
    bus.fork("side", "s1", "ada", "main", 3)
    grown(bus, "side", 2)
    bus.fork("late", "s1", "ada", "side", 5)
    bus.fork("early", "s1", "ada", "side", 2)
    bus.fork("empty", "s1", "ada", "side", 0)
    assert seen(bus, "late") == ["main"] * 3 + ["side"] * 2 + ["late"]
    assert seen(bus, "early") == ["main"] * 2 + ["early"]
    assert seen(bus, "empty") == ["empty"]
    assert bus.verify() == {"ok": True, "checked": 4 + 3 + 3, "faults": []}


def test_the_parent_is_never_written_to(bus: TimelineBus) -> None:
    """The fork message is the first of the new timeline (T8)."""
    grown(bus, "main", 2)
    before = bus.log("main")
    bus.fork("side", "s1", "ada", "main", 2)
    assert bus.log("main") == before


def test_the_dag_is_shown(bus: TimelineBus) -> None:
    """Each timeline with its parent, its fork point and its head."""
    grown(bus, "main", 2)
    forked = bus.fork("side", "s1", "ada", "main", 1)
    main, side = bus.timelines()["timelines"]
    assert (main["parent"], main["at"], main["number"]) == (None, None, 2)
    assert side == {"timeline": "side", "parent": "main", "at": 1, "number": 2, "hash": forked["hash"]}


def test_a_timeline_begins_once(bus: TimelineBus) -> None:
    """The same fork again is the first one; any other is refused."""
    grown(bus, "main", 3)
    first = bus.fork("side", "s1", "ada", "main", 2)
    assert bus.fork("side", "s1", "ada", "main", 2) == {**first, "duplicate": True}
    for other in (("side", "s1", "ada", "main", 1), ("side", "s2", "ada", "main", 2), ("main", "s1", "ada", "side", 1)):
        with pytest.raises(IdConflict):
            bus.fork(*other)
    assert bus.verify()["ok"]


@pytest.mark.parametrize(("parent", "at"), [("nowhere", 0), ("nowhere", 1), ("main", 4)])
def test_a_fork_needs_a_parent_and_a_point_in_it(bus: TimelineBus, parent: str, at: int) -> None:
    """Nothing is made otherwise."""
    grown(bus, "main", 3)
    with pytest.raises(NotFound):
        bus.fork("side", "s1", "ada", parent, at)
    with pytest.raises(NotFound):
        bus.log("side")
    with pytest.raises(InvalidArgument):
        bus.fork("side", "s1", "ada", "main", -1)
