"""Work queues: one worker of a type gets each message; an unacknowledged one comes again."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from pathlib import Path

import pytest
from reference.tests.timeline.conftest import OpenBus, request

from refbus.kernel.clock import Clock
from refbus.kernel.errors import InvalidArgument
from refbus.timeline import sqlite as sqlite_queue
from refbus.timeline.bus import TimelineBus
from refbus.timeline.sqlite import SqliteQueue

OLLAMA = {"type": "request", "service": "infer", "backend": "ollama"}


NOBODYS = "$JS.ACK.VLINDER.nobody.1.1.1.1.0"  # well formed; of a consumer that there is not


@pytest.mark.parametrize(
    "delivery", ["", "a:b:c", "a:0:1", None, 3, "x\n:1:1", "\ud800:1:1", "$JS.ACK.\ud800", "$JS.ACK.a", NOBODYS]
)
def test_what_is_no_delivery_is_refused(bus: TimelineBus, delivery: str) -> None:
    """Rather than silently acknowledged."""
    with pytest.raises(InvalidArgument):
        bus.ack(delivery)
    with pytest.raises(InvalidArgument):
        bus.nak(delivery)


def test_what_another_session_gave_back_is_not_its_owners_any_more(open_bus: OpenBus) -> None:
    """The next to get it keeps it, though its first owner gives it back as well, in a time that was its own."""
    owner, other, third = open_bus(), open_bus(), open_bus()
    owner.send(request(), "work")
    lent = owner.fetch(OLLAMA)["message"]
    assert lent is not None
    other.nak(lent["delivery"])
    taken = third.fetch(OLLAMA)["message"]
    assert taken is not None and taken["delivery_count"] == 2
    owner.nak(lent["delivery"])
    assert owner.fetch(OLLAMA)["message"] is None
    third.nak(taken["delivery"])
    again = other.fetch(OLLAMA)["message"]
    assert again is not None and again["delivery_count"] == 3


def test_what_was_deleted_in_a_workers_hands_hides_nothing_behind_it(tmp_path: Path, clock: Clock) -> None:
    """Another program was at the file; the time of the worker's delivery runs out like any other."""
    with TimelineBus(tmp_path, clock=clock, ack_wait_ms=1_000) as bus:
        for sequence in (1, 2):
            bus.send(request(sequence=sequence))
        assert bus.fetch({"type": "request"})["message"]["number"] == 1
        with contextlib.closing(sqlite3.connect(tmp_path / "timeline.db", isolation_level=None)) as db:
            db.execute("DELETE FROM messages WHERE number = 1")
        clock.set(clock.now_ms() + 1_000)
        assert bus.fetch({"type": "request"})["message"]["number"] == 2
        assert bus.fetch({"type": "request"})["message"] is None


def test_what_is_due_is_found_without_reading_the_record(tmp_path: Path) -> None:
    """By the worker's own deliveries, and each message by its position."""
    queue = SqliteQueue(tmp_path, clock=Clock(), ack_wait_ms=30_000)
    with contextlib.closing(queue), queue.store.snapshot() as tx:
        plan = [row[-1] for row in tx.rows(f"EXPLAIN QUERY PLAN {sqlite_queue._DUE}", ("worker", 0))]
    assert any("SEARCH messages USING INTEGER PRIMARY KEY" in step for step in plan), plan
    assert not any("SCAN" in step for step in plan), plan


def test_a_fetch_ends_with_its_time(bus: TimelineBus) -> None:
    """With nothing."""
    began = time.monotonic()
    assert bus.fetch(OLLAMA, wait_ms=300)["message"] is None
    assert time.monotonic() - began >= 0.3
