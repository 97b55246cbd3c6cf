"""The kernel's rules, for all values: they are pure, so nothing needs a database."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refbus.kernel import jsontext
from refbus.kernel.errors import Backpressure, InvalidArgument, PayloadTooLarge
from refbus.kernel.rules import cursor, lease, limit, presence, retry

times = st.integers(0, 2**53)
seqs = st.integers(0, 2**63 - 1)
agents = st.sampled_from(["alice", "bob"])
tokens = st.one_of(st.none(), st.integers(1, 5))
claims = st.builds(lease.Claim, agents, times, tokens)

strings = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=20,
)


@given(claims, times)
def test_a_claim_can_be_taken_exactly_when_it_is_expired(claim: lease.Claim, now_ms: int) -> None:
    """lease_until == now is expired (W9)."""
    assert lease.may_take(claim, now_ms) == (claim.lease_until_ms <= now_ms)
    assert lease.may_take(claim, now_ms) != lease.is_live(claim, now_ms)


def test_a_free_task_can_be_taken() -> None:
    """No claim, no obstacle."""
    assert lease.may_take(None, 0)


@given(claims, agents, tokens)
def test_only_the_holder_with_its_latest_token_keeps_a_claim(claim: lease.Claim, agent: str, token: int | None) -> None:
    """At any time: an expired claim that nobody retook is still its holder's."""
    may = lease.may_keep(claim, agent, token)
    assert may == (agent == claim.claimed_by and (token is None or token == claim.token))
    assert not lease.may_keep(None, agent, token)


@given(st.lists(st.none(), max_size=20))
def test_tokens_rise_over_grants(grants: list[None]) -> None:
    """The first is 1, each next one is larger."""
    latest: int | None = None
    for _ in grants:
        token = lease.next_token(latest)
        assert token > (latest or 0)
        latest = token


@given(seqs, seqs, seqs)
def test_a_cursor_moves_forward_and_never_beyond_the_log(current: int, asked: int, newest: int) -> None:
    """Backwards is a no-op, beyond is refused (W5)."""
    if asked > newest:
        with pytest.raises(InvalidArgument):
            cursor.advance(current, asked, newest)
    else:
        assert cursor.advance(current, asked, newest) == max(current, asked)


@given(st.lists(seqs))
def test_what_may_be_archived_is_below_every_cursor(cursors: list[int]) -> None:
    """And without any cursor nothing is."""
    below = cursor.archivable_below(cursors)
    assert all(below <= each for each in cursors)
    assert below in (cursors or [0])


@given(st.integers(-(2**53), 2**53))
def test_every_age_has_one_state_and_it_only_worsens(age_ms: int) -> None:
    """30 s WARN, 100 s STALE, 300 s DEAD."""
    order = ["ALIVE", "WARN", "STALE", "DEAD"]
    assert order.index(presence.state(age_ms)) <= order.index(presence.state(age_ms + 1))


@pytest.mark.parametrize(
    ("age_ms", "state"),
    [
        (-5, "ALIVE"),
        (0, "ALIVE"),
        (29_999, "ALIVE"),
        (30_000, "WARN"),
        (99_999, "WARN"),
        (100_000, "STALE"),
        (299_999, "STALE"),
        (300_000, "DEAD"),
        (10**12, "DEAD"),
    ],
)
def test_thresholds_are_exact(age_ms: int, state: str) -> None:
    """The first millisecond of a state belongs to it."""
    assert presence.state(age_ms) == state


@given(st.lists(st.booleans(), max_size=30))
def test_the_pause_between_polls_stays_between_200_ms_and_2_s(polls: list[bool]) -> None:
    """And is short again after every message."""
    interval_ms = retry.POLL_ACTIVE_MS
    for has_messages in polls:
        interval_ms = retry.next_poll_ms(interval_ms, has_messages)
        assert 200 <= interval_ms <= 2000
        assert not has_messages or interval_ms == 200


@given(st.integers(1, 100), st.floats(0, 1, exclude_max=True))
def test_attempts_at_a_lock_end(attempt: int, jitter: float) -> None:
    """The pause doubles, spread by jitter, until there is none any more."""
    pause_ms = retry.lock_backoff_ms(attempt, jitter)
    if attempt >= retry.LOCK_ATTEMPTS_MAX:
        assert pause_ms is None
    else:
        assert pause_ms is not None
        assert 0.5 <= pause_ms / (50 * 2 ** (attempt - 1)) <= 1.5  # a jitter next to 1 is rounded up


@given(st.integers(0, 100), st.one_of(st.none(), st.integers(1, 100)))
def test_a_message_dies_of_too_many_deliveries_only_where_a_bound_is_set(n: int, bound: int | None) -> None:
    """Off by default (W11)."""
    assert retry.is_dead(n, bound) == (bound is not None and n >= bound)


@given(json_values)
def test_every_json_value_survives_its_text(value: Any) -> None:
    """Byte for byte what json.dumps writes, so that the hash of a blob is the seed's (W2)."""
    text = jsontext.encode(value)
    assert text == json.dumps(value)
    assert jsontext.decode(text) == value
    assert jsontext.decode(f" {text}\n") == value


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, [-math.inf], "\ud800", {"\udfff": 1}, {1, 2}, b"x", object(), {(1, 2): 3}]
)
def test_what_is_no_json_value_has_no_text(value: object) -> None:
    """NaN, Infinity, half surrogates, Python's own types."""
    with pytest.raises(ValueError):
        jsontext.encode(value)


@pytest.mark.parametrize(
    "text",
    ["", " ", "NaN", "[Infinity]", "-Infinity", "1e999", "[1", "1,2", '{"a":1}x', "'a'", "[" * 100_000, "1" * 5000],
)
def test_what_is_no_json_text_has_no_value(text: str) -> None:
    """However it is broken, the error is one and the same."""
    with pytest.raises(ValueError):
        jsontext.decode(text)


def test_a_circle_has_no_text() -> None:
    """It would never end."""
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(ValueError):
        jsontext.encode(circle)


def test_nesting_has_a_bound_both_ways_and_strings_do_not_count() -> None:
    """256 levels pass, 257 do not; brackets in strings are no levels."""
    deep: Any = 0
    for _ in range(256):
        deep = [deep]
    assert jsontext.decode(jsontext.encode(deep)) == deep
    with pytest.raises(ValueError, match="deeper"):
        jsontext.encode([deep])
    with pytest.raises(ValueError, match="deeper"):
        jsontext.decode("[" * 257 + "]" * 257)
    carried = f'{{"payload": {jsontext.encode(deep)}}}'
    assert jsontext.decode(carried, jsontext.AROUND_MAX) == {"payload": deep}
    with pytest.raises(ValueError, match="deeper"):
        jsontext.decode(carried)
    brackets = '\\"[{' * 400
    assert jsontext.decode(jsontext.encode([brackets])) == [brackets]
    wide = [[] for _ in range(1000)]
    assert jsontext.decode(jsontext.encode(wide)) == wide


def test_a_pair_of_surrogates_is_a_character() -> None:
    """Only halves are refused."""
    assert jsontext.decode(jsontext.encode("😀")) == "😀"


@given(st.dictionaries(st.text(max_size=3), st.integers(), max_size=4))
def test_the_canonical_text_does_not_know_the_order_of_members(value: dict[str, int]) -> None:
    """Two languages write the same object in different orders."""
    assert jsontext.canonical(value) == jsontext.canonical(dict(reversed(value.items())))


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"]), min_size=1, max_size=50))
def test_text_of_printable_characters_passes(value: str) -> None:
    """In every script."""
    assert limit.text("it", value) == value


def test_harmless_invisible_characters_pass() -> None:
    """A zero-width joiner holds families of emoji together."""
    assert limit.text("it", "👩‍👩‍👧") == "👩‍👩‍👧"


@pytest.mark.parametrize(
    "value", ["", "x" * 1025, "a\0b", "a\nb", "\x7f", "\x85", "\ud800", "a\udc80", None, 1, True, b"x", ["x"], {}]
)
def test_text_refuses_the_rest(value: object) -> None:
    """Empty, long, control characters, half surrogates, other types."""
    with pytest.raises(InvalidArgument):
        limit.text("it", value)


@pytest.mark.parametrize("value", ["../x", "a/b", "..", ".", "a..b", "a\\b", "ä" * 101, "\0"])
def test_names_do_not_lead_out_of_a_folder(value: str) -> None:
    """And fit into a file name."""
    with pytest.raises(InvalidArgument):
        limit.name("it", value)


def test_ordinary_names_pass() -> None:
    """The seed's own, and other alphabets'."""
    for value in ("worker-auth", "skills-abc", "Zoë 2", "ä" * 100, ".hidden", "a.b"):
        assert limit.name("it", value) == value


@given(st.one_of(st.booleans(), st.floats(), st.text(), st.none(), st.integers(max_value=-1), st.integers(2**63)))
def test_integer_refuses_everything_but_int64(value: object) -> None:
    """True is no number, 2**63 does not fit."""
    with pytest.raises(InvalidArgument):
        limit.integer("it", value)


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "1", None, 2**63, 10**400])
def test_number_refuses_what_is_not_finite(value: object) -> None:
    """Or not a number at all."""
    with pytest.raises(InvalidArgument):
        limit.number("it", value)


def test_number_takes_whole_and_broken_ones() -> None:
    """A progress of 1 is 1.0."""
    assert limit.number("it", 1) == 1.0
    assert limit.number("it", -0.5) == -0.5


def test_payloads_are_inline_up_to_4096_bytes_and_have_an_upper_bound() -> None:
    """W4: bytes of the JSON text, quotes included."""
    assert limit.is_inline(limit.payload("x" * 4094))
    assert not limit.is_inline(limit.payload("x" * 4095))
    with pytest.raises(PayloadTooLarge):
        limit.payload("x" * limit.PAYLOAD_BYTES_MAX)
    with pytest.raises(InvalidArgument):
        limit.payload(math.nan)


@given(st.integers(0, 50), st.integers(0, 50), st.integers(1, 50))
def test_room_is_what_the_bound_leaves(unread: int, more: int, unread_max: int) -> None:
    """Up to the bound and not beyond."""
    if unread + more > unread_max:
        with pytest.raises(Backpressure):
            limit.room("bob", unread, more, unread_max)
    else:
        limit.room("bob", unread, more, unread_max)
