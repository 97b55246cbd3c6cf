"""Many sessions at once, on both backends: one chain, one worker for each message, one answer for each request."""

from __future__ import annotations

import pytest
from reference.tests.timeline.conftest import OpenBus, request

from refbus.kernel.errors import IdConflict
from refbus.timeline.queue import Branch


@pytest.mark.parametrize("payload", ["ask", "ask something else"])
def test_a_timeline_that_begins_while_a_call_looks_it_up(open_bus: OpenBus, payload: str) -> None:
    """The call meets a request and an answer that were not there when it began: the same request, or another's."""
    caller, other = open_bus(), open_bus()
    branch = caller.store.queue.branch

    def late(timeline: str) -> Branch | None:
        caller.store.queue.branch = branch  # type: ignore[method-assign]
        unknown = branch(timeline)
        other.send(request(), "ask")
        other.reply(request(), "answer")
        return unknown

    caller.store.queue.branch = late  # type: ignore[method-assign]
    call = {name: value for name, value in request().items() if name != "type"}
    if payload == "ask":
        assert caller.call_service(**call, payload=payload, timeout_ms=0)["payload"] == "answer"
    else:
        with pytest.raises(IdConflict):
            caller.call_service(**call, payload=payload, timeout_ms=0)
