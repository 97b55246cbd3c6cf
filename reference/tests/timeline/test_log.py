"""Sending is recording: one append, numbered and chained, known by its key."""

from __future__ import annotations

from reference.tests.timeline.conftest import OpenBus, request


def test_two_sessions_append_to_one_chain(open_bus: OpenBus) -> None:
    """Neither forks it, though each knows an older head (T6)."""
    first, other = open_bus(), open_bus()
    for n in range(10):
        (first if n % 2 else other).send(request(sequence=n))
        first.send(request("side", sequence=n))
    assert [message["number"] for message in other.log("main")["messages"]] == list(range(1, 11))
    assert first.verify() == {"ok": True, "checked": 20, "faults": []}
