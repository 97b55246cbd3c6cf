"""The circuit breaker around real calls."""

from __future__ import annotations

import threading

import pytest

from refbus.comms.breaker import CircuitBreaker
from refbus.kernel.clock import Clock
from refbus.kernel.errors import CircuitOpen

T0_MS = 1_768_053_600_000  # where the clock of these tests stands


def fail() -> None:
    """A call that keeps failing."""
    raise OSError("down")


def break_it(breaker: CircuitBreaker, times: int = 5) -> None:
    """So many failures."""
    for _ in range(times):
        with pytest.raises(OSError, match="down"):
            breaker.call(fail)


class SlowCall:
    """A call through the breaker that comes back when it is told to."""

    def __init__(self, breaker: CircuitBreaker) -> None:
        self.begun, self._end = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: breaker.call(self._wait))
        self._thread.start()
        assert self.begun.wait(30)

    def _wait(self) -> None:
        self.begun.set()
        assert self._end.wait(30)

    def end(self) -> None:
        self._end.set()
        self._thread.join(30)


def test_while_the_probe_is_out_nobody_else_gets_in(clock: Clock) -> None:
    """Half open admits one, whoever else asks (C8)."""
    breaker = CircuitBreaker(clock=clock)
    break_it(breaker)
    clock.set(T0_MS + 60_001)
    probe = SlowCall(breaker)
    assert breaker.state == "half_open"
    with pytest.raises(CircuitOpen):
        breaker.call(str)
    probe.end()
    assert breaker.state == "closed"


def test_a_late_success_decides_nothing(clock: Clock) -> None:
    """A call admitted before the breaker opened says nothing about the probe, which is still out (C8)."""
    breaker = CircuitBreaker(clock=clock)
    late, later = SlowCall(breaker), SlowCall(breaker)
    break_it(breaker)
    late.end()
    assert breaker.state == "open"
    clock.set(T0_MS + 60_001)
    probe = SlowCall(breaker)
    later.end()
    assert breaker.state == "half_open"
    probe.end()
    assert breaker.state == "closed"
