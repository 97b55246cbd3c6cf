"""The circuit breaker around a function, for threads; `kernel.breaker` decides."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypedDict, TypeVar

from refbus.kernel.clock import Clock
from refbus.kernel.errors import CircuitOpen, InvalidArgument
from refbus.kernel.rules import breaker
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules.breaker import Breaker

Result = TypeVar("Result")


class CircuitBreaker:
    """Counts failures in a row; after failure_threshold of them, refuses calls for `timeout` s, then lets one probe."""

    def __init__(
        self,
        failure_threshold: int = breaker.FAILURE_THRESHOLD,
        timeout: float = breaker.TIMEOUT_MS / 1000,
        *,
        clock: Clock | None = None,
    ) -> None:
        self._threshold = limits.integer("failure_threshold", failure_threshold, 1)
        self._timeout_ms = round(1000 * limits.number("timeout, in seconds,", timeout, 0, limits.NOW_MS_MAX / 1000))
        self._clock = clock or Clock()
        self._breaker = Breaker()
        self._lock = threading.Lock()

    @property
    def state(self) -> str:
        """closed, open or half_open."""
        return self._breaker.state

    def call(self, function: Callable[..., Result], *args: Any, **kwargs: Any) -> Result:
        """Call through the breaker. CIRCUIT_OPEN: the function was not called."""
        with self._lock:
            self._breaker, admitted = breaker.admit(self._breaker, self._clock.now_ms(), timeout_ms=self._timeout_ms)
            admitted_in = self._breaker.state
        if not admitted:
            raise CircuitOpen(f"the circuit breaker is {self._breaker.state}")
        try:
            result = function(*args, **kwargs)
        except BaseException:
            with self._lock:
                self._breaker = breaker.failed(self._breaker, self._clock.now_ms(), threshold=self._threshold)
            raise
        with self._lock:
            # A call from before the breaker opened says nothing about the probe, which is still out.
            if self._breaker.state == admitted_in:
                self._breaker = breaker.succeeded(self._breaker)
        return result


class BreakerAnswer(TypedDict):
    """The breaker after one event; `admitted` is None for the end of a call."""

    state: breaker.State
    admitted: bool | None


class BreakerAnswers(TypedDict):
    """circuit_breaker: one answer for each event."""

    answers: list[BreakerAnswer]


class Breakers:
    """circuit_breaker."""

    def circuit_breaker(self, events: list[dict[str, Any]]) -> BreakerAnswers:
        """The answer of a fresh breaker to each event: {at_ms, event: "call", "success" or "failure"}.

        A call asks to be admitted; success and failure are the ends of calls that were. Errors: INVALID_ARGUMENT.
        """
        if type(events) is not list:
            raise InvalidArgument("events must be a list")
        state = Breaker()
        answers: list[BreakerAnswer] = []
        for event in events:
            at_ms, kind = _event(event)
            admitted = None
            if kind == "call":
                state, admitted = breaker.admit(state, at_ms)
            elif kind == "success":
                state = breaker.succeeded(state)
            else:
                state = breaker.failed(state, at_ms)
            answers.append({"state": state.state, "admitted": admitted})
        return {"answers": answers}


def _event(event: Any) -> tuple[int, str]:
    if type(event) is not dict or event.keys() != {"at_ms", "event"}:
        raise InvalidArgument("an event is an object with at_ms and event")
    if event["event"] not in ("call", "success", "failure"):
        raise InvalidArgument("event must be call, success or failure")
    return limits.integer("at_ms", event["at_ms"], 0, limits.NOW_MS_MAX), event["event"]
