"""Question and answer: found by its correlation id, in time or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.kernel.clock import Clock

OpenBus = Callable[..., CommsBus]
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


def answer_one(bus: CommsBus, agent: str, payload: dict[str, Any]) -> None:
    """The seed's responder: wait for a request, claim it, answer it, complete it."""
    (request,) = bus.receive_messages(agent, ["general"], 1, 60)["messages"]
    assert bus.claim_message(agent, request["id"])["claimed"]
    bus.send_response(request, payload, agent_id=agent)
    bus.complete_message(request["id"], agent_id=agent)


def test_a_request_gets_its_answer(bus: CommsBus, open_bus: OpenBus, send: Send) -> None:
    """From another thread; claimed and completed for the asker, other mail untouched (seed: Request/Response)."""
    other_mail = [send("alice", from_agent="carol", priority=10) for _ in range(11)]
    responder = threading.Thread(target=answer_one, args=(open_bus(), "bob", {"context": {"branch": "main"}}))
    responder.start()
    reply = bus.request("alice", "bob", "context.query", {"query": "q"}, timeout_seconds=60)["response"]
    responder.join(30)
    assert (reply["type"], reply["from_agent"], reply["to_agent"]) == ("context.response", "bob", "alice")
    assert reply["payload"] == {"context": {"branch": "main"}}
    assert [m["id"] for m in bus.receive_messages("alice", ["general"], 100)["messages"]] == other_mail
    assert shown(bus, "bob") == []
    assert bus.get_agent_health("alice")["messages_processed"] == 1
