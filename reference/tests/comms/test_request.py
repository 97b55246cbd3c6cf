"""Question and answer: found by its correlation id, in time or not at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock

Send = Callable[..., str]


def shown(bus: CommsBus, agent: str) -> list[dict[str, Any]]:
    """The messages that an agent receives."""
    return bus.receive_messages(agent, ["general"])["messages"]  # type: ignore[no-any-return]


def test_an_answer_whose_claim_ran_out_is_taken(bus: CommsBus, send: Send, clock: Clock) -> None:
    """Another of the asker's sessions took it first, and let it go: it is there again, as receive_messages shows it."""
    request = send(correlation_id="c")
    bus.send_response(shown(bus, "bob")[0], {"n": 1})
    (answer,) = shown(bus, "alice")
    bus.claim_message("alice", answer["id"])
    assert bus.requests.take_answer("alice", "c", request) is None
    clock.set(clock.now_ms() + 60_000)
    assert shown(bus, "alice") == [answer]
    assert bus.requests.take_answer("alice", "c", request) == answer
    assert shown(bus, "alice") == []
