"""The algebra of keys, subjects, filters and consumer names, over names that were chosen to break it.

pr: 150 cases a property; BUSPROOF_EXAMPLES=100000 is the long form.
"""

from __future__ import annotations

import dataclasses
import math
import os
import random
import unicodedata
from collections.abc import Callable
from fnmatch import fnmatchcase
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refbus.kernel.errors import InvalidArgument
from refbus.timeline import filters, keys, token
from refbus.timeline.keys import DIMENSIONS, KINDS, NAMES, Key

EXAMPLES = int(os.environ.get("BUSPROOF_EXAMPLES", "150"))
BATCH = 50  # cases from each seed that Hypothesis draws: its own part of one case takes ten times the rest

Dice = random.Random

# Names that mean something on the wire, to a shell, a path, SQL, or a reader; and names that nearly are others.
HOSTILE = ["a", "a.b", "a_b", "a%2Eb", "%", "%25", "*", ">", "a.>", "a.*", "a b", " a", "a\t", "\n", "\0", "", "é", "é"]
HOSTILE += ["req", "invoke", "vlinder", "+", "=", "==", "a+b", "@", "sha256+", "ſ", "K", "K", "‮a", "🦋", "١", "1", "01"]
PIECES = [name for name in HOSTILE if name]


def a_name(dice: Dice) -> str:
    """A hostile one, two of them in one, or any characters at all."""
    what = dice.random()
    if what < 0.4:
        return dice.choice(PIECES)
    if what < 0.6:
        return dice.choice(PIECES) + dice.choice(PIECES)
    planes = dice.choice([(0x20, 0x7F), (1, 0x250), (1, 0xD800), (0xE000, 0x110000)])
    name = "".join(chr(dice.randrange(*planes)) for _ in range(dice.randint(1, 50)))
    return name.encode()[: token.NAME_BYTES_MAX].decode(errors="ignore")


def a_value(dice: Dice, dimension: str) -> Any:
    """Of a dimension."""
    if dimension != "sequence":
        return a_name(dice)
    return dice.randint(0, 12) if dice.random() < 0.7 else dice.randint(0, token.SEQUENCE_MAX)


def a_key(dice: Dice) -> Any:
    """Of any kind."""
    kind: Any = dice.choice(list(NAMES))
    return kind(**{name: a_value(dice, name) for name in DIMENSIONS[kind]})


def a_neighbour(dice: Dice, key: Any) -> Any:
    """The same key but for one dimension, which is often nearly the same."""
    dimension = dice.choice(DIMENSIONS[type(key)])
    value = getattr(key, dimension)
    if isinstance(value, str) and dice.random() < 0.7:
        forms = [unicodedata.normalize(form, value) for form in ("NFC", "NFD", "NFKC", "NFKD")]
        near = [value.swapcase(), value.casefold(), value + dice.choice(" .*>%\0"), value[:-1], value.strip(), *forms]
        near = [name for name in near if name and len(name.encode()) <= token.NAME_BYTES_MAX]
        return dataclasses.replace(key, **{dimension: dice.choice(near)})
    return dataclasses.replace(key, **{dimension: a_value(dice, dimension)})


def a_nonce(dice: Dice) -> str | None:
    """Or none."""
    return None if dice.random() < 0.5 else a_name(dice)


def many(*makers: Callable[[Dice], Any]) -> Callable[[Callable[..., None]], Any]:
    """Run the test on so many cases, each with values from the makers."""

    def decorated(test: Callable[..., None]) -> Any:
        @settings(max_examples=math.ceil(EXAMPLES / BATCH), deadline=None, suppress_health_check=list(HealthCheck))
        @given(st.integers(0, 2**64 - 1))
        def asked(seed: int) -> None:
            dice = Dice(seed)
            for _ in range(BATCH):
                test(*(make(dice) for make in makers))

        asked.__name__, asked.__doc__ = test.__name__, test.__doc__
        return asked

    return decorated


def partly(dice: Dice, key: Key) -> filters.Filter:
    """A filter that means the key: any of its dimensions left free."""
    wanted = {name: value for name, value in keys.as_dict(key).items() if name == "type" or dice.random() < 0.5}
    return filters.from_dict(wanted, a_nonce(dice))


def itself(dice: Dice) -> Dice:
    """For values that depend on the rest of a case."""
    return dice


def is_matched(pattern: str, subject: str) -> bool:
    """NATS' own rule, said again: `*` is one token, `>` is one or more at the end."""
    wanted, tokens = pattern.split("."), subject.split(".")
    if wanted[-1] == ">":
        wanted, tokens = wanted[:-1], tokens[: len(wanted) - 1] if len(tokens) >= len(wanted) else ["no"]
    return len(wanted) == len(tokens) and all(w in ("*", f) for w, f in zip(wanted, tokens, strict=True))


@many(a_key)
def test_subject_to_key_to_subject_is_the_identity(key: Key) -> None:
    """Both ways, for every type and every name."""
    subject = keys.subject(key)
    assert keys.parse(subject) == key
    assert keys.subject(keys.parse(subject)) == subject
    assert keys.from_dict(keys.as_dict(key)) == key


@many(a_key)
def test_a_subject_is_one_that_nats_takes(key: Key) -> None:
    """ASCII, no blank, no wildcard, as many tokens as the seed's table has, within a control line."""
    subject = keys.subject(key)
    parts = subject.split(".")
    assert subject.isascii() and subject.isprintable() and not set(" *>") & set(subject)
    assert parts[0] == "vlinder" and len(parts) == 2 + len(DIMENSIONS[type(key)]) and all(parts)
    assert len(subject) < 4096 - 200


@many(a_key, itself)
def test_changing_any_dimension_changes_key_subject_and_consumer(key: Key, dice: Dice) -> None:
    """And every one of them tells."""
    other = a_neighbour(dice, key)
    if keys.as_dict(other) == keys.as_dict(key):
        return
    assert other != key
    assert keys.subject(other) != keys.subject(key)
    assert filters.exactly(other).consumer != filters.exactly(key).consumer


@many(a_key, a_key)
def test_keys_are_equal_exactly_where_type_and_dimensions_are(first_key: Key, other: Key) -> None:
    """A complete and a delegation with the same fields are two keys."""
    alike = type(first_key) is type(other) and keys.as_dict(first_key) == keys.as_dict(other)
    assert (first_key == other) is alike
    assert (keys.subject(first_key) == keys.subject(other)) is alike


@many(a_key, a_key, itself)
def test_no_subject_is_matched_by_a_filter_meant_for_another(key: Key, other: Key, dice: Dice) -> None:
    """The filter, its subject under NATS' rule and its glob under SQLite's say the same of every key."""
    wanted = partly(dice, key)
    assert wanted.matches(key) and is_matched(wanted.subject, keys.subject(key))
    for seen in (key, other):
        subject = keys.subject(seen)
        assert is_matched(wanted.subject, subject) is wanted.matches(seen)
        assert (type(seen) is wanted.kind and fnmatchcase(subject, wanted.glob)) is wanted.matches(seen)


@many(a_key, a_key, itself)
def test_two_filters_share_a_consumer_only_if_they_are_one(key: Key, other: Key, dice: Dice) -> None:
    """Filter and group both tell; a name is one that a server takes."""
    first, second = partly(dice, key), partly(dice, dice.choice([key, other]))
    assert (first.consumer == second.consumer) is (first == second)
    assert len(first.consumer) <= 255 and not set(" .*>/\\\t\n") & set(first.consumer) and first.consumer.isascii()


@many(a_key, a_nonce)
def test_a_reply_key_has_every_dimension_that_the_seed_gives_it(key: Key, nonce: str | None) -> None:
    """Each request has one; replies and forks have none; only a delegation takes a nonce, and needs it."""
    requests = {"invoke": "complete", "request": "response", "delegate": "delegate-reply"}
    reply_type = requests.get(NAMES[type(key)])
    if reply_type is None or (nonce is None) is (reply_type == "delegate-reply"):
        with pytest.raises(InvalidArgument):
            keys.reply_key(key, nonce)
        return
    reply = keys.reply_key(key, nonce)
    assert NAMES[type(reply)] == reply_type
    known = {**keys.as_dict(key), "nonce": nonce, "type": reply_type}
    assert keys.as_dict(reply) == {name: known[name] for name in ("type", *DIMENSIONS[KINDS[reply_type]])}
