"""The kernel's rules that `comms` stands on, for all values: bucket, breaker, deliveries, times as text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refbus.kernel import iso
from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import breaker, bucket, delivery
from refbus.kernel.rules.breaker import Breaker
from refbus.kernel.rules.bucket import Bucket
from refbus.kernel.rules.delivery import Delivery

times_us = st.integers(0, iso.END_US)
# Fractions of an hour and of a minute, which Python takes for fractions of a second.
OF_MORE = ("2026-01-10T14.5Z", "2026-01-10T14:30,5Z", "20260110T1430.5+01:00")
nows_us = st.integers(0, 2**53)

# -- the token bucket


@given(st.lists(st.tuples(nows_us, st.integers(1, 5)), max_size=60))
def test_a_bucket_grants_no_more_than_its_capacity_and_what_time_refilled(asked: list[tuple[int, int]]) -> None:
    """Never above capacity, never below nothing; a step back of the clock gains nobody a token."""
    held = bucket.full(0)
    granted = forward_us = last_us = 0
    for now_us, cost in asked:
        held, taken = bucket.consume(held, now_us, cost=cost)
        granted += cost * taken
        forward_us, last_us = forward_us + max(0, now_us - last_us), now_us
        assert 0 <= held.tokens <= bucket.CAPACITY
        assert granted <= bucket.CAPACITY + bucket.REFILL_PER_S * forward_us / 1_000_000 + 1e-6


@given(st.floats(0, 100), nows_us, nows_us, st.floats(0.5, 200))
def test_tokens_are_taken_all_or_none(tokens: float, at_us: int, now_us: int, cost: float) -> None:
    """A refusal costs nothing, a grant costs as many as were asked for."""
    before = bucket.refilled(Bucket(tokens, at_us), now_us, bucket.CAPACITY, bucket.REFILL_PER_S)
    after, taken = bucket.consume(Bucket(tokens, at_us), now_us, cost=cost)
    assert taken == (before.tokens >= cost)
    assert after == (before._replace(tokens=before.tokens - cost) if taken else before)


@given(st.lists(st.integers(0, 100_000), max_size=30))
def test_a_token_is_there_at_the_very_moment_that_it_is_due(steps_us: list[int]) -> None:
    """However many refusals were asked for on the way: doubles lose less of each part than a token is worth."""
    held, now_us = bucket.consume(bucket.full(0), 0, cost=bucket.CAPACITY)[0], 0
    for step_us in steps_us:
        now_us = min(now_us + step_us, 99_999)
        held, taken = bucket.consume(held, now_us)
        assert not taken
    assert bucket.consume(held, 100_000)[1]


def test_the_seeds_bucket_holds_100_and_refills_10_a_second() -> None:
    """Capacity 100, 10 tokens a second, 1 a message (seed: Rate Limiting)."""
    held = bucket.full(0)
    for _ in range(100):
        held, taken = bucket.consume(held, 0)
        assert taken
    assert not bucket.consume(held, 99_999)[1]
    assert bucket.consume(held, 100_000)[1]
    held, taken = bucket.consume(held, 1_000_000, cost=10)
    assert taken and held.tokens == pytest.approx(0)


# -- the circuit breaker

events = st.lists(st.tuples(st.sampled_from(["call", "success", "failure"]), st.integers(0, 200_000)), max_size=60)


@given(events)
def test_a_breaker_follows_its_diagram(steps: list[tuple[str, int]]) -> None:
    """Only the arrows drawn in kernel/breaker.py exist; while open or half open, at most the probe gets in (C8)."""
    state, failures_in_a_row = Breaker(), 0
    for event, now_ms in steps:
        before = state
        if event == "call":
            state, admitted = breaker.admit(before, now_ms)
            is_probe = before.state == "open" and now_ms - before.failed_at_ms > breaker.TIMEOUT_MS
            assert admitted == (before.state == "closed" or is_probe)
            assert state.state == ("half_open" if is_probe else before.state)
        elif event == "success":
            state = breaker.succeeded(before)
            failures_in_a_row = failures_in_a_row if before.state == "open" else 0
            assert state.state == ("open" if before.state == "open" else "closed")
        else:
            state = breaker.failed(before, now_ms)
            failures_in_a_row += 1
            opens = before.state != "closed" or failures_in_a_row >= breaker.FAILURE_THRESHOLD
            assert (state.state == "open") == opens
            assert state.failed_at_ms == now_ms
        assert state.failures == failures_in_a_row


def test_success_forgets_failures_and_the_time_out_is_more_than_60_s() -> None:
    """Five in a row, and longer than 60 s: at 60 s it is still open (seed: Circuit Breaker; C8)."""
    state = Breaker()
    for _ in range(4):
        state = breaker.failed(state, 0)
    state = breaker.succeeded(state)
    for _ in range(5):
        assert breaker.admit(state, 0)[1]
        state = breaker.failed(state, 1000)
    assert not breaker.admit(state, 61_000)[1]
    state, admitted = breaker.admit(state, 61_001)
    assert admitted and state.state == "half_open"
    assert not breaker.admit(state, 10**9)[1]
    assert breaker.failed(state, 61_002).state == "open"
    assert breaker.succeeded(state) == Breaker()


# -- deliveries

deliveries = st.builds(
    Delivery,
    st.sampled_from(["pending", "processing", "done", "failed", "dead"]),
    st.integers(0, 100),
    st.integers(0, 2),
    times_us,
)


@given(deliveries, nows_us)
def test_a_message_is_there_when_pending_or_when_its_wait_is_over(held: Delivery, now_us: int) -> None:
    """Done and dead never; visible_at itself is over (C1, C2)."""
    expected = held.status == "pending" or (held.status in ("processing", "failed") and now_us >= held.visible_at_us)
    assert delivery.may_claim(held, now_us) == expected


@given(deliveries, nows_us, st.integers(1, 10**9))
def test_a_claim_counts_one_delivery_and_hides_the_message(held: Delivery, now_us: int, ms: int) -> None:
    """For the visibility time-out exactly; failures are not touched (C1, C2)."""
    after = delivery.claimed(held, now_us, ms)
    assert (after.status, after.delivery_count, after.failures) == (
        "processing",
        held.delivery_count + 1,
        held.failures,
    )
    assert not delivery.may_claim(after, now_us + ms * 1000 - 1)
    assert delivery.may_claim(after, now_us + ms * 1000)


@given(nows_us, st.floats(0.5, 1.5))
def test_the_third_failure_is_the_last_and_each_wait_is_twice_as_long(now_us: int, jitter: float) -> None:
    """1 s × 2^n × jitter, n from 0; claims that timed out in between do not count (C1)."""
    held = Delivery()
    for delay_s in (1, 2):
        held = delivery.claimed(delivery.claimed(held, now_us, 1), now_us, 1)
        held = delivery.failed(held, now_us, jitter)
        assert held.status == "failed"
        assert held.visible_at_us - now_us == pytest.approx(delay_s * jitter * 1_000_000, abs=1)
    assert delivery.failed(held, now_us, jitter)[:3] == ("dead", 4, 3)


# -- times as text


@given(times_us, times_us)
def test_times_survive_their_text_and_texts_sort_as_times(us: int, other: int) -> None:
    """ISO 8601, UTC, microseconds, Z (C7)."""
    text = iso.text(us)
    assert iso.parse("it", text) == us
    assert len(text) == 27 and text.endswith("Z")
    assert (text < iso.text(other)) == (us < other)


@given(st.datetimes(timezones=st.timezones()))
def test_every_zone_is_understood(at: datetime) -> None:
    """The same moment, however it is written."""
    expected = (at - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()
    assert abs(iso.parse("it", at.isoformat()) / 1_000_000 - expected) < 0.001


@pytest.mark.parametrize(
    "value", ["", "soon", "2026-01-10T14:00:00", "2026-13-01T00:00:00Z", None, 5, b"x", [], *OF_MORE]
)
def test_what_tells_no_moment_is_refused(value: object) -> None:
    """A time without its zone is many moments."""
    with pytest.raises(InvalidArgument):
        iso.parse("it", value)


@pytest.mark.parametrize("at_us", [iso.END_US + 1, 2**53 * 1000, -(2**60)])
def test_beyond_the_year_9999_there_is_no_text(at_us: int) -> None:
    """A refusal, not an overflow."""
    with pytest.raises(InvalidArgument):
        iso.text(at_us)
