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


def test_five_failures_in_a_row_open_it(clock: Clock) -> None:
    """The errors come through until then; a success in between starts the count anew (C8)."""
    breaker = CircuitBreaker(clock=clock)
    break_it(breaker, 4)
    assert breaker.call(lambda a, b: a + b, 1, b=2) == 3
    break_it(breaker, 5)
    assert breaker.state == "open"
    called: list[int] = []
    with pytest.raises(CircuitOpen) as caught:
        breaker.call(called.append, 1)
    assert called == [] and caught.value.definite


def test_after_the_time_out_one_probe_decides(clock: Clock) -> None:
    """Its failure opens for another 60 s, its success closes (C8)."""
    breaker = CircuitBreaker(clock=clock)
    break_it(breaker)
    clock.set(T0_MS + 60_001)
    break_it(breaker, 1)
    assert breaker.state == "open"
    clock.set(T0_MS + 120_001)
    with pytest.raises(CircuitOpen):
        breaker.call(str)
    clock.set(T0_MS + 120_002)
    assert breaker.call(str) == ""
    assert breaker.state == "closed"
    break_it(breaker, 4)
    assert breaker.state == "closed"


def test_threshold_and_time_out_are_arguments(clock: Clock) -> None:
    """Of its making (seed: CircuitBreaker)."""
    breaker = CircuitBreaker(1, 0.01, clock=clock)
    break_it(breaker, 1)
    assert breaker.state == "open"
    clock.set(T0_MS + 11)
    assert breaker.call(str) == ""


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
