"""The processing loop, dead letters and redriving: at least once, but not for ever."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

import pytest

from refbus.kernel.errors import Busy
from refbus.worker.bus import WorkerBus
from refbus.worker.loop import Loop

OpenBus = Callable[..., WorkerBus]


def publish(bus: WorkerBus, *ids: str) -> None:
    """One message each, to everybody."""
    bus.publish_many("alice", [{"type": "t", "id": each} for each in ids])


def test_deliveries_that_end_in_a_crash_count(open_bus: OpenBus) -> None:
    """A handler that kills its process is the worst poison: the count comes before the handler."""
    bus = open_bus(deliveries_max=2)
    publish(bus, "poison", "b")

    class Crash(BaseException):
        pass

    def crash(message: dict[str, Any]) -> None:
        raise Crash

    for _ in range(2):
        with pytest.raises(Crash):
            bus.process("bob", crash)
    assert bus.process_loop("bob") == {"handled": ["b"], "failed": None}
    assert [message["id"] for message in bus.dead_letters("bob")["messages"]] == ["poison"]


def test_a_message_archived_while_its_handler_ran_dies_where_it_is_seen(open_bus: OpenBus) -> None:
    """Nobody waits for an agent without a cursor; its dead letter is back in the log, and can be redriven."""
    bus = open_bus(deliveries_max=1)
    publish(bus, "poison")
    bus.ack("carol", 1)

    def handler(_: object) -> None:
        assert bus.archive()["archived"] == 1
        raise RuntimeError

    assert bus.process("bob", handler).failed == "poison"
    assert [letter["id"] for letter in bus.dead_letters("bob")["messages"]] == ["poison"]
    assert bus.redrive("bob", 1) == {"redriven": True}
    assert [message["id"] for message in bus.poll("bob")["messages"]] == ["poison"]


def test_an_error_behind_a_handled_message_promises_nothing(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until one is acknowledged it is known that nothing was done."""
    ack, seqs_refused = bus.cursors.ack, {1}

    def acknowledge(agent_id: str, seq: int) -> Any:
        if seq in seqs_refused:
            raise Busy("locked")
        return ack(agent_id, seq)

    publish(bus, "a", "b")
    monkeypatch.setattr(bus.cursors, "ack", acknowledge)
    with pytest.raises(Busy) as first:
        bus.process_loop("bob")
    seqs_refused = {2}
    with pytest.raises(Busy) as later:
        bus.process_loop("bob")
    assert (first.value.definite, later.value.definite) == (True, False)


def test_the_loop_runs_until_it_is_stopped(bus: WorkerBus, open_bus: OpenBus) -> None:
    """A message wakes it; the handler may stop it, in the middle of a batch."""
    seen: list[str] = []

    def handler(message: dict[str, Any]) -> None:
        seen.append(message["id"])
        if message["id"] == "last":
            loop.stop()

    loop = Loop(bus, "bob", handler)
    thread = threading.Thread(target=loop.run)
    thread.start()
    other = open_bus()
    publish(other, "a")
    publish(other, "b", "last", "left")
    thread.join(30)
    assert seen == ["a", "b", "last"]
    assert [message["id"] for message in bus.poll("bob")["messages"]] == ["left"]


def test_the_loop_rests_longer_and_longer_while_nothing_comes(bus: WorkerBus) -> None:
    """By the kernel's schedule."""
    loop = Loop(bus, "bob", lambda message: None)
    assert [loop.step() for _ in range(3)] == [300.0, 450.0, 675.0]
    publish(bus, "a")
    assert loop.step() == 200.0


def test_the_loop_survives_failures(
    bus: WorkerBus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Of the handler, of the database; it says so and tries again."""
    monkeypatch.setattr("refbus.kernel.rules.retry.POLL_ACTIVE_MS", 1.0)
    publish(bus, "a")
    fails = [RuntimeError("no"), None]

    def handler(message: dict[str, Any]) -> None:
        if error := fails.pop(0):
            raise error

    loop = Loop(bus, "bob", handler)
    loop.step()
    assert "failed to process a: RuntimeError('no')" in caplog.text
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(bus, "process", _busy)
        loop.step()
    assert "could not go on: BUSY" in caplog.text
    loop.step()
    assert bus.poll("bob")["messages"] == []


def _busy(*_: object, **__: object) -> None:
    raise Busy("locked")
