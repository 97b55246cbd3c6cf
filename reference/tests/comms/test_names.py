"""The seed's own names, over what the bus is made of."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from refbus.comms import CircuitBreaker, CommsBus, MessageEnvelope, TokenBucket, initialize_communication_system
from refbus.kernel.clock import Clock
from refbus.kernel.errors import CircuitOpen


def test_a_system_is_initialized_and_an_envelope_validated(tmp_path: Path) -> None:
    """As the seed writes it."""
    initialize_communication_system(str(tmp_path))
    assert (tmp_path / ".claude/communications/protocol_version.txt").read_text() == "1.0"
    envelope = MessageEnvelope(
        id="550e8400-e29b-41d4-a716-446655440000",
        type="note",
        version="1.0",
        timestamp="2025-11-08T15:30:00Z",
        correlation_id=None,
        from_agent="a",
        to_agent=None,
        channel="general",
        priority=5,
        payload={},
    )
    with CommsBus(tmp_path) as bus:
        assert bus.validate_message(envelope)
        assert not bus.validate_message({**envelope, "priority": 11})


def test_a_bucket_of_threads_gives_what_it_holds_and_no_more(clock: Clock) -> None:
    """All or none, and refilled by the second."""
    bucket = TokenBucket(100, 10, clock=clock)
    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(lambda _: bucket.consume(), range(200))) == 100
    clock.set(clock.now_ms() + 1_000)
    assert not bucket.consume(11)
    assert bucket.consume(10) and not bucket.consume()


def test_a_breaker_is_made_with_seconds(clock: Clock) -> None:
    """The seed's parameters, by name."""
    breaker = CircuitBreaker(failure_threshold=1, timeout=60)
    with pytest.raises(ZeroDivisionError):
        breaker.call(lambda: 1 // 0)
    with pytest.raises(CircuitOpen):
        breaker.call(str)
