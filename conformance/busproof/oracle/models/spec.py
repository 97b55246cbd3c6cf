"""The parts of an executable specification: the model of a system says the whole answer to every call.

A model is pure and in memory: operation × state × time → a whole reply, or a refusal with its code, and the next
state. A value of the bus's choice (an id, a number above the last one) is a `Free`: it is bound to the first value
seen in its place, and must be that value ever after, in every reply and every dump. Where a seed is silent and the
project chose (RESOLVED), the model asks for its `choice`: another bus's choice is recognised, and followed from then
on. Each branch names its rows of the catalogue, so a bus that differs is told which sentence it broke.
"""

from __future__ import annotations

import bisect
import itertools
import json
import math
import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NoReturn, TypeVar

from busproof.contract import CONTRACTS
from busproof.contract.bounds import INT_MAX, Bound
from busproof.words import as_json

Secret = TypeVar("Secret")

UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
NAME_BYTES_MAX, TEXT_CHARS_MAX = "name_bytes_max", "text_chars_max"
CARRIED = ("payload", "content", "query")  # texts of another kind than names: their limits are others
MEMBERS_SHOWN = 3  # missing or extra ones of a list
ANY_CODE = ""  # a refusal whose code the catalogue leaves open
NO_CODE = "UNSTRUCTURED"  # a door's code for a refusal that has none


class Free:
    """A value of the bus's choice. `name` says where it was born (step and kind), so that scripts can refer to it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.value: Any = None

    def fits(self, value: Any) -> bool:
        """May a bus choose this?"""
        return value is not None

    def takes(self, value: Any) -> bool:
        """Is it the value, or may it become it? Binds."""
        if self.value is None and self.fits(value):
            self.value = value
        return type(value) is type(self.value) and bool(value == self.value)

    def __repr__(self) -> str:
        return f"<{type(self).__name__.lower()} of the bus's choice>" if self.value is None else repr(self.value)

    def __str__(self) -> str:  # for a reader; the other one tells states apart, and often
        return repr(self) if self.value is None else as_json(self.value)


class FreshId(Free):
    """A random UUID, version 4."""

    def fits(self, value: Any) -> bool:
        """A UUID in its usual form."""
        return type(value) is str and UUID4.fullmatch(value) is not None


class Above(Free):
    """A whole number above another one, which may be free itself."""

    def __init__(self, name: str, low: Free | int) -> None:
        super().__init__(name)
        self.low = low

    def fits(self, value: Any) -> bool:
        """Higher, and still a 64-bit number."""
        low = plain(self.low)
        return type(value) is int and (-math.inf if low is None else low) < value <= INT_MAX

    def takes(self, value: Any) -> bool:
        """As any. Once bound, it lets go of the one below: a state is copied often, and not with a chain of all."""
        is_it = super().takes(value)
        if self.value is not None:
            self.low = self.value
        return is_it


def plain(value: Any) -> Any:
    """The value that a free value was bound to; any other value itself."""
    return value.value if isinstance(value, Free) else value


class Undecided(Exception):
    """What the bus must do is not known: two times on the machine's clock are too near, or nobody told a number yet."""


def undecided_if(condition: bool) -> None:
    """Raise Undecided where the model cannot know what the bus must do."""
    if condition:
        raise Undecided


def those_above(rows: Sequence[Any], position: float, readers: Container[str | None]) -> list[Any]:
    """The rows to these readers whose number is above the position, of rows in the order of their numbers.

    A number that nobody told yet lies above the one before it, and below those that came later.

    Raises:
        Undecided: that leaves a row open.
    """
    own = [row for row in rows if row.to_agent in readers]  # few: a log may be long, and is asked for each message
    numbers = [row.seq if type(row.seq) is int else row.seq.value for row in own]
    untold = numbers.index(None) if None in numbers else len(own)
    above = own[bisect.bisect_right(numbers, position, hi=untold) : untold]
    if untold == len(own) or _floor(rows, own[untold]) >= position:
        return above + own[untold:]
    for row, number in zip(own[untold:], numbers[untold:], strict=True):
        if number is None and _floor(rows, row) < position:
            undecided_if(all(later.number > position + 1 for later in rows[rows.index(row) + 1 :]))
        elif number is None or number > position:
            above.append(row)
    return above


def _floor(rows: Sequence[Any], untold: Any) -> float:
    """The highest number that is known to lie below one that nobody told yet."""
    for row in reversed(rows[: rows.index(untold)]):
        if (number := plain(row.seq)) is not None:
            return float(number)
    seq = untold.seq
    while plain(seq) is None:
        seq = seq.low
    return float(plain(seq))


class Moment(int):
    """A time on a clock that nobody set: the bus read it in a call, at this millisecond at the earliest.

    It may be any millisecond up to `latest`. Two times are compared if they surely differ; else Undecided is raised.
    """

    latest: int

    def __new__(cls, earliest: int, latest: int) -> Moment:
        """From one millisecond to another."""
        moment = super().__new__(cls, earliest)
        moment.latest = latest
        return moment

    def __reduce__(self) -> tuple[type[Moment], tuple[int, int]]:  # for copies of a state
        return Moment, (int(self), self.latest)

    def may_be(self, seen: Any) -> bool:
        """Is it one of these milliseconds?"""
        return type(seen) is int and int(self) <= seen <= self.latest

    def __add__(self, ms: int) -> Moment:
        return Moment(int(self) + ms, self.latest + ms)

    def __sub__(self, other: int) -> Moment:
        return Moment(int(self) - _latest(other), self.latest - int(other))

    def __lt__(self, other: int) -> bool:
        if self.latest >= int(other) and int(self) < _latest(other):
            raise Undecided
        return self.latest < int(other)

    def __le__(self, other: int) -> bool:
        if self.latest > int(other) and int(self) <= _latest(other):
            raise Undecided
        return self.latest <= int(other)

    def __gt__(self, other: int) -> bool:
        return not self <= other

    def __ge__(self, other: int) -> bool:
        return not self < other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int) or self.latest < int(other) or int(self) > _latest(other):
            return False
        if (int(self), self.latest) == (int(other), _latest(other)):
            return True
        raise Undecided

    def __hash__(self) -> int:
        return hash((int(self), self.latest))

    def __repr__(self) -> str:
        return f"<{int(self)} to {self.latest}>"


def _latest(time_ms: int) -> int:
    return time_ms.latest if isinstance(time_ms, Moment) else time_ms


@dataclass(frozen=True)
class Cited:
    """A part of an answer that is a row's own sentence."""

    value: Any
    rows: tuple[str, ...]

    def __repr__(self) -> str:
        return as_json(self.value)


@dataclass(frozen=True)
class Told:
    """A part that a bus need not tell: absent, null, or this."""

    value: Any

    def __repr__(self) -> str:
        return as_json(self.value)


@dataclass(frozen=True)
class Json:
    """A JSON value as any language may write it: numbers by value, and true is not 1."""

    value: Any
    are_doubles: bool = False

    def __repr__(self) -> str:
        return as_json(self.value)


@dataclass(frozen=True)
class AnyOrder:
    """A list whose order is free: the same members, by this key."""

    value: list[dict[str, Any]]
    key: tuple[str, ...]

    def __str__(self) -> str:
        return as_json(self.value)


@dataclass(frozen=True)
class Fits:
    """Anything that a test accepts, in words."""

    words: str
    test: Callable[[Any], bool]

    def __repr__(self) -> str:
        return f"<{self.words}>"


class Part:
    """A part of an answer with a comparison of its own."""

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """The first difference, None if there is none."""
        raise NotImplementedError

    def held(self, actual: Any, rows: set[str]) -> None:
        """Add the rows of its own parts, all of which an actual answer matches."""

    def __repr__(self) -> str:
        return f"<{(type(self).__doc__ or '').splitlines()[0]}>"


@dataclass(frozen=True)
class All(Part):
    """A part that must match each of these: the first that it does not match decides whose sentence is broken."""

    parts: tuple[Any, ...]

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        """The difference of the first that differs."""
        differences = (differs(part, actual, path, rows) for part in self.parts)
        return next((difference for difference in differences if difference), None)

    def held(self, actual: Any, rows: set[str]) -> None:
        """Those of each."""
        for part in self.parts:
            held(part, actual, rows)

    def __repr__(self) -> str:
        return as_json(self.parts[-1])


_PLAIN = frozenset({str, int, bool, type(None)})


_HAVE_PARTS = (Part, Told, AnyOrder, dict, list)


@dataclass(frozen=True)
class Difference:
    """A place where an answer is not the model's."""

    path: str
    expected: str
    actual: str
    rows: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.path}: {self.expected} expected, not {self.actual}"


def differs(expected: Any, actual: Any, path: str = "reply", rows: tuple[str, ...] = ()) -> Difference | None:
    """The first difference, None if there is none. Binds free values. Members that the model lacks are ignored."""
    while type(expected) is Cited:
        expected, rows = expected.value, expected.rows
    if not isinstance(expected, _HAVE_PARTS):
        return None if _is_same(expected, actual) else Difference(path, _told(expected), _told(actual), rows)
    if isinstance(expected, Part):
        return expected.differs(actual, path, rows)
    if isinstance(expected, Told):
        return None if actual is None else differs(expected.value, actual, path, rows)
    if isinstance(expected, AnyOrder):
        try:
            actual = sorted(actual, key=lambda row: [row[key] for key in expected.key])
            wanted = sorted(expected.value, key=lambda row: [plain(row[key]) for key in expected.key])
        except (KeyError, TypeError):
            return Difference(path, _told(expected.value), _told(actual), rows)
        return differs(wanted, actual, path, rows)
    if isinstance(expected, dict) and isinstance(actual, dict):
        return _first_of(((key, value, actual.get(key)) for key, value in expected.items()), path, ".%s", rows)
    if isinstance(expected, list) and isinstance(actual, list):
        if len(expected) != len(actual):
            return _of_another_length(expected, actual, path, rows)
        return _first_of(zip(itertools.count(), expected, actual), path, "[%d]", rows)
    return Difference(path, _told(expected), _told(actual), rows)


def held(expected: Any, actual: Any, rows: set[str]) -> None:
    """Add the rows of the parts that an answer shows, and that are right. An empty list, or no value, shows nothing."""
    while type(expected) is Cited:
        if actual is not None and actual != []:
            rows.update(expected.rows)
        expected = expected.value
    if type(expected) is dict:
        if isinstance(actual, dict):
            for key, part in expected.items():
                if type(part) not in _PLAIN:
                    held(part, actual.get(key), rows)
    elif type(expected) is list:
        if isinstance(actual, list):
            for part, other in zip(expected, actual, strict=False):
                held(part, other, rows)
    elif isinstance(expected, Part):
        expected.held(actual, rows)
    elif isinstance(expected, Told | AnyOrder):
        held(expected.value, actual, rows)


def _of_another_length(expected: list[Any], actual: list[Any], path: str, rows: tuple[str, ...]) -> Difference:
    """Name the missing or extra members. If more than that is wrong, name both lists."""
    wanted, seen = f"{len(expected)} of them", str(len(actual))
    if (places := _left_over(expected, actual, _may_be)) is not None:
        return Difference(
            path,
            f"{wanted}, with {_members(expected, places)}",
            f"{seen} without {'it' if len(places) == 1 else 'them'}",
            rows,
        )
    if (places := _left_over(actual, expected, lambda member, other: _may_be(other, member))) is not None:
        return Difference(path, wanted, f"{seen}, with {_members(actual, places)} too", rows)
    return Difference(path, f"{wanted} {_told(expected)}", f"{seen} {_told(actual)}", rows)


def _left_over(longer: list[Any], shorter: list[Any], is_one: Callable[[Any, Any], bool]) -> list[int] | None:
    """Places in the longer list that the shorter one lacks; None if leaving some out does not make them alike."""
    rest = iter(enumerate(longer))
    left: list[int] = []
    for other in shorter:
        for place, member in rest:
            if is_one(member, other):
                break
            left.append(place)
        else:
            return None
    return left + [place for place, _ in rest]


def _members(of: list[Any], places: list[int]) -> str:
    more = f" and {len(places) - MEMBERS_SHOWN} more" if len(places) > MEMBERS_SHOWN else ""
    return ", ".join(f"[{place}] {_told(of[place])}" for place in places[:MEMBERS_SHOWN]) + more


def _may_be(expected: Any, actual: Any) -> bool:
    """May they be the same? Binds nothing."""
    if isinstance(expected, Cited | Told):
        return (isinstance(expected, Told) and actual is None) or _may_be(expected.value, actual)
    if isinstance(expected, Free) and expected.value is None:
        return expected.fits(actual)
    if isinstance(expected, Part | AnyOrder):
        return True
    if isinstance(expected, dict) and isinstance(actual, dict):
        return all(_may_be(member, actual.get(key)) for key, member in expected.items())
    if isinstance(expected, list) and isinstance(actual, list):
        return len(expected) == len(actual) and all(map(_may_be, expected, actual))
    return _is_same(expected, actual)


def _first_of(pairs: Iterable[tuple[Any, Any, Any]], path: str, place: str, rows: tuple[str, ...]) -> Difference | None:
    """The first difference of the members. Most are plain and the same: these are passed over at once."""
    for key, wanted, other in pairs:
        inner = wanted.value if type(wanted) is Cited else wanted
        if type(inner) in _PLAIN and type(inner) is type(other) and inner == other:
            continue
        if difference := differs(wanted, other, "", rows):
            return replace(difference, path=path + place % key + difference.path)
    return None


def _is_same(expected: Any, actual: Any) -> bool:
    if isinstance(expected, Free):
        return expected.takes(actual)
    if isinstance(expected, Fits):
        return expected.test(actual)
    if isinstance(expected, Moment):
        return expected.may_be(actual)
    if isinstance(expected, Json):
        return same_json(expected.value, actual, are_doubles=expected.are_doubles)
    return type(expected) is type(actual) and bool(expected == actual)


def _told(value: Any) -> str:
    text = as_json(value)
    return text if len(text) <= 600 else f"{text[:400]} … {text[-190:]}"


def is_json_text(text: str) -> bool:
    """Can it be read?"""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def same_json(a: Any, b: Any, *, are_doubles: bool = False) -> bool:
    """Is it the same JSON value? Beside a float, an integer counts as the double that it reads as (JavaScript)."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_json(a[key], b[key], are_doubles=are_doubles) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(same_json(x, y, are_doubles=are_doubles) for x, y in zip(a, b, strict=True))
    if isinstance(a, int | float) and isinstance(b, int | float) and (are_doubles or float in (type(a), type(b))):
        return _double(a) == _double(b)
    return type(a) is type(b) and bool(a == b)


def _double(number: int | float) -> float:
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


class DoesNotApply(Exception):
    """The bus does not declare the subject of the call, so no answer could be wrong."""


class Refuse(Exception):
    """The model refuses a call: definitely, for it changed nothing, unless it says otherwise.

    `also`: the codes that it deserves besides. No seed says which of two true refusals comes first.
    """

    def __init__(self, code: str, *, definite: bool = True, why: str = "", also: tuple[str, ...] = ()) -> None:
        super().__init__(code)
        self.code, self.definite, self.why, self.also = code, definite, why, also


@dataclass(frozen=True)
class Answer:
    """The required end of a call. `refused` is None for a reply, or the code; `rows` are those of the branch."""

    value: Any
    refused: str | None
    rows: tuple[str, ...]
    definite: bool = True
    least_s: float = 0.0  # a promise to wait: no answer may come sooner
    why: str = ""  # of a refusal
    bounds: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict
    )  # a code → the rows that a bus breaks if it refuses with it
    also: tuple[str, ...] = ()  # codes of refusals that are as true as `refused`

    def said(self, method: str) -> str:
        """The method, and the code of the refusal, if it is one."""
        return method if self.refused is None else f"{method}:{self.refused}"

    def differs(self, seen: Any) -> Difference | None:
        """Compare the actual end with it: a reply, or a `Refusal`."""
        if self.refused is None and not isinstance(seen, Refusal):
            return differs(self.value, seen, "reply", self.rows)
        if self.refused is not None and isinstance(seen, Refusal):
            is_told = seen.definite == self.definite or (seen.code == NO_CODE and NO_CODE in self.also)
            if not is_told:
                return Difference("error", str(self), str(seen), self.bounds.get(seen.code, self.rows))
            if seen.code in (self.refused, *self.also) or (
                self.refused == ANY_CODE and seen.code not in ("INTERNAL", "LOST")
            ):
                return None
        if isinstance(seen, Refusal):
            return Difference("reply", str(self), str(seen), self.bounds.get(seen.code, self.rows))
        return Difference("reply", str(self), _told(seen), self.rows)

    def held(self, seen: Any) -> tuple[str, ...]:
        """The rows that an end without a difference shows to hold: of several true refusals none was seen to."""
        if self.also:
            return ()
        if self.refused is not None:
            return self.rows
        shown = set[str]()
        held(self.value, seen, shown)
        return (*self.rows, *shown)

    def __str__(self) -> str:
        if self.refused is None:
            return _told(self.value)
        why = f" ({self.why})" if self.why else ""
        if not self.definite:
            return f"an indefinite refusal {self.refused}{why}"
        codes = " or ".join((self.refused or "", *self.also))
        return (f"a definite refusal {codes}" if self.refused else "a definite refusal with a code of its own") + why


@dataclass(frozen=True)
class Refusal:
    """The end of a call that the bus refused or did not answer (code LOST)."""

    code: str
    definite: bool
    message: str = ""

    def __str__(self) -> str:
        return f"{'' if self.definite else 'indefinite '}refusal {self.code}: {self.message:.300}"


_OF_THE_CALL = frozenset(
    {
        "last_rows",
        "_rows",
        "_bounds",
        "_step",
        "_births",
        "least_s",
        "luck",
        "asked",
        "at",
        "now_ms",
        "consulted",
        "frees",
        "secrets",
        "confided",
    }
)


def is_long(params: Mapping[str, Any], limits: Mapping[str, int]) -> bool:
    """Is one of its names or other short texts so long that a bus may take it for too long? By the declared limits."""
    members = (params, *(value for value in params.values() if isinstance(value, dict)))
    texts = [text for two in members for key, text in two.items() if isinstance(text, str) and key not in CARRIED]
    least_bytes, least_chars = (limits.get(name, math.inf) / 2 for name in (NAME_BYTES_MAX, TEXT_CHARS_MAX))
    return any(len(text.encode("utf-8", "replace")) > least_bytes or len(text) > least_chars for text in texts)


class Model:
    """The state of one store, and the effect of each call on it. A method of the protocol is a method of the subclass.

    `features` are nouns and features that the bus declares; `dialects` the choices it was found to make, by name.
    """

    SYSTEM = ""
    ALWAYS: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # code → rows that it breaks on a good call
    ISOLATED: tuple[str, ...] = ()  # rows that promise calls at once the results of calls in turn
    EXACT: tuple[str, ...] = ()  # the row that says that a declared limit is exact
    WRITES: tuple[str, ...] = ()  # methods after which the database is surely there
    STORED: tuple[str, ...] = ()  # the row that says where it is
    KEEPS_SECRETS = ""  # prefix of the store's files that may hold them
    FOLLOWED: frozenset[str] = frozenset()  # not real choices: each breaks a MUST, but is followed
    EITHER: frozenset[str] = frozenset()  # choices that no answer tells completely: see `either`
    EVERYTHING: frozenset[str] = frozenset()  # nouns, features and limits; where all are declared, every call applies

    def __init__(self, features: frozenset[str], limits: dict[str, int], dialects: dict[str, str]) -> None:
        self.features, self.limits, self.dialects = features, limits, dialects
        self.consulted: dict[str, tuple[str, ...]] = {}
        self.frees: dict[str, Free] = {}
        self.secrets: list[tuple[Any, str]] = []  # a text, or a free value, and the row that makes it secret
        self.confided: set[tuple[int | str, Any]] = set()  # (process, secret): the process may be told
        self.last_rows: tuple[str, ...] = ()
        self._rows: list[str] = []
        self._bounds: dict[str, tuple[str, ...]] = {}
        self._step, self._births = "", 0
        self.least_s = 0.0
        self.luck: tuple[bool, ...] = ()  # the answers of `either` in this call
        self.asked = 0
        self.at: int | str = 0
        self.now_ms = 0

    def of_noun(self, noun: str, value: Any) -> Any:
        """A part of a state: if the bus does not declare the noun that it belongs to, nobody promises what it holds."""
        return value if noun in self.features else Fits("anything", lambda _: True)

    def call(self, step: str, at: int | str, method: str, params: dict[str, Any], now_ms: int) -> Answer:
        """One call by one session, whole; `open` too. `at` is the process, or "hand" for the kit itself."""
        *_, answer = self.steps(step, at, method, params, now_ms)
        assert answer is not None
        return answer

    def steps(
        self, step: str, at: int | str, method: str, params: dict[str, Any], now_ms: int
    ) -> Iterator[Answer | None]:
        """The same, with a None wherever another call may come in between. The last is the answer."""
        self._rows, self._bounds, self._births, self.least_s = [], dict(self.ALWAYS), 0, 0.0
        self._step, self.at, self.now_ms = step, at, now_ms
        value = None
        try:
            function = getattr(self, method.replace(".", "_"))
            value = function(**self.checked(method, params))
            while isinstance(value, Iterator):
                try:
                    next(value)
                except StopIteration as end:
                    value = end.value
                else:
                    rows, bounds, births = self._rows, self._bounds, self._births
                    yield None
                    self._rows, self._bounds, self._births, self.least_s = rows, bounds, births, 0.0
                    self._step, self.at, self.now_ms = step, at, now_ms
        except Refuse as refusal:
            broken = tuple(dict.fromkeys(self._rows))
            refused = refusal.code, broken, refusal.definite, self.least_s, refusal.why
            also = (*refusal.also, *self.also_said({refusal.code, *refusal.also}))
            yield Answer(None, *refused, bounds=self._bounds, also=also)
            return
        cited = tuple(dict.fromkeys(self._rows))
        if self.EXACT and is_long(params, self.limits):  # perhaps it was taken for too long
            self._bounds.setdefault("INVALID_ARGUMENT", (*self.EXACT, *cited))
        yield Answer(value, None, cited, least_s=self.least_s, bounds=self._bounds)

    def checked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """Parameters as the method takes them; refuses missing and unknown ones."""
        return params

    def fitted(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A call of a script as this bus can be asked for it; raises DoesNotApply if it cannot."""
        return params

    def options_declared(self, options: dict[str, Any]) -> dict[str, Any]:
        """The options of `open` that the bus declares."""
        return options

    def wants_look(self) -> str | None:
        """The call to make next, to learn a choice of the bus that no reply has told: dump, or one of the hand's."""
        return None

    def confide(self, secret: Secret) -> Secret:
        """From now on the caller knows it."""
        self.confided.add((self.at, getattr(secret, "name", secret)))
        return secret

    def leak(self, at: int | str, seen: str, own_text: str = "") -> Difference | None:
        """A secret that this process is shown, though nobody confided it to it and it did not say it itself."""
        for secret, row in self.secrets:  # of each answer, and there may be hundreds: most are not in it
            text = secret.value if isinstance(secret, Free) else secret
            if not text or text not in seen:
                continue
            if text not in own_text and (at, getattr(secret, "name", secret)) not in self.confided:
                return Difference("secret", "nothing of another's", f"{text} in {seen:.300}", (row,))
        return None

    def unsaid(self, method: str, seen: Any, text: str) -> Difference | None:
        """A thing that this reply must also tell in words, and does not."""
        return None

    def in_words(self) -> str:
        """The state, for a reader of a failure."""
        return ""

    def fingerprint(self) -> str:
        """The same text for states that no later answer can tell apart."""
        return repr(sorted((name, value) for name, value in vars(self).items() if name not in _OF_THE_CALL))

    # -- for branches

    def row(self, *rows: str) -> None:
        """This branch is these rows."""
        self._rows += rows

    def bound(self, code: str, *rows: str) -> None:
        """A bus that refuses this call with the code breaks these rows, and not all of the branch's."""
        self._bounds[code] = (*self._bounds.get(code, ()), *rows)

    def may_refuse(self, what: str, *rows: str, reference_refuses: bool = False) -> None:
        """A bound that no sentence sets: a bus may take it or refuse it, and no row says which (docs/spec)."""
        options = ("is refused", "is taken") if reference_refuses else ("is taken", "is refused")
        if self.choice(what, *options) == "is refused":
            self.refuse("INVALID_ARGUMENT", *rows, why=what)

    def keep(self, field: str, value: Any, bound: Bound | None = None) -> Any:
        """The value; one beyond the field's bound in the contract is refused, one where a bus is free may be."""
        bound = bound or CONTRACTS[self.SYSTEM].bound_of[field]
        if not bound.may_take(value):
            self.refuse(bound.code, bound.row_for(value), why=f"{field} is {bound}, not {value!a:.80}")
        if side := bound.side(value):
            self.may_refuse(f"{field} {side}", bound.row, reference_refuses=side.split()[0] in bound.refuses)
        return value

    def refuse(self, code: str, *rows: str, why: str = "") -> NoReturn:
        """End the call, with nothing changed. `why`, for people, where the code and the rows do not say it."""
        self._rows += rows
        self._bounds = dict(self.ALWAYS)
        raise Refuse(code, why=why)

    def all_of(self, *checks: Callable[[], Any]) -> list[Any]:
        """The results of all checks, which change nothing. If several refuse, each refusal is a true answer."""
        values, refusals = list[Any](), dict[str, Refuse]()
        for check in checks:
            rows = list(self._rows)
            try:
                values.append(check())
            except Refuse as refusal:
                if refusals.keys() >= {refusal.code, *refusal.also}:
                    self._rows = rows  # the first one's are enough
                refusals = {
                    **refusals,
                    **{code: refusal for code in (refusal.code, *refusal.also) if code not in refusals},
                }
        if refusals:
            code, *also = refusals
            first = refusals[code]
            raise Refuse(code, definite=first.definite, why=first.why, also=tuple(also))
        return values

    def choice(self, name: str, *options: str) -> str:
        """The bus's choice where the seed is silent; the first option is the reference's. `name` is the row's id."""
        self.consulted[name] = options
        return self.dialects.get(name, options[0])

    def also_said(self, codes: set[str]) -> tuple[str, ...]:
        """The codes that this bus may use instead of a refusal with one of these."""
        return ()

    def may_ask_either(self) -> bool:
        """Has a call more than one outcome that must be followed?"""
        return not self.EITHER.isdisjoint(self.dialects)

    def either(self) -> bool:
        """A fact that no answer told, and that only a bus of another choice knows: both values are tried.

        Only under a choice of `EITHER`.
        """
        assert self.may_ask_either(), "a choice that asks stands in EITHER"
        self.asked += 1
        return self.asked <= len(self.luck) and self.luck[self.asked - 1]

    def born(self, make: Callable[..., Free], kind: str, *args: Any) -> Any:
        """A new free value, named after this call."""
        self._births += 1
        free = make(f"{self._step}.{kind}{self._births}", *args)
        self.frees[free.name] = free
        return free
