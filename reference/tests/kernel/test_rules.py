"""The kernel's rules, for all values: they are pure, so nothing needs a database."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refbus.kernel import jsontext
from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import limit, retry

strings = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=20,
)


@given(st.integers(1, 100), st.floats(0, 1, exclude_max=True))
def test_attempts_at_a_lock_end(attempt: int, jitter: float) -> None:
    """The pause doubles, spread by jitter, until there is none any more."""
    pause_ms = retry.lock_backoff_ms(attempt, jitter)
    if attempt >= retry.LOCK_ATTEMPTS_MAX:
        assert pause_ms is None
    else:
        assert pause_ms is not None
        assert 0.5 <= pause_ms / (50 * 2 ** (attempt - 1)) <= 1.5  # a jitter next to 1 is rounded up


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
