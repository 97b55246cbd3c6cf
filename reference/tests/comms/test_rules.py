"""The kernel's rules that `comms` stands on, for all values: bucket, breaker, deliveries, times as text."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refbus.kernel import iso
from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import bucket
from refbus.kernel.rules.bucket import Bucket

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
