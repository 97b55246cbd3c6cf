"""Any values: Hypothesis draws the parameters of every method, from the protocol's own models.

A system's generator draws steps that matter in a state, from lists of edges that somebody thought of. Here nobody did.
Some steps of a generator make a state; then calls follow whose texts, numbers and JSON are Hypothesis's, and at most
one parameter of a call is of any type at all. The model says the end of each. The references of a call (an agent,
an id, a token) come from the steps before it as often as from nowhere.
"""

from __future__ import annotations

import math
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any, Literal, get_args, get_origin

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st
from hypothesis.errors import Flaky
from pydantic import BaseModel

from busproof.bus.fleet import BudgetSpent, Fleet
from busproof.contract import CONTRACTS
from busproof.oracle.models.spec import Free
from busproof.play.explore.script import ANYWHERE, MS_WAITED, SECONDS_WAITED, Step, call
from busproof.play.explore.search import Program, playing
from busproof.play.explore.stage import Specification, Stage

STEPS_MAX = 12  # of the generator
CALLS_MAX = 6
SHRINK_S = 20.0
LIVING_MAX = 40  # names and ids of the steps before
LONGEST_NAME = 60  # characters
WAITS = {  # a large number would be no defect: the call would wait as long
    **dict.fromkeys(MS_WAITED, st.sampled_from((0, 0, 1, 20, -1))),
    **dict.fromkeys(SECONDS_WAITED, st.sampled_from((0, 0, -1))),
}

SECRETS = ("reclaim_token",)

_TEXTS = st.sampled_from(("", " ", "0", "null", "\u00e9", "e\u0301")) | st.text(max_size=40)
_NUMBERS = st.integers(-3, 12) | st.integers(0, 2**31) | st.integers(-(2**66), 2**66)
_MEMBERS = st.text(st.characters(exclude_characters="$"), max_size=8)  # "$" begins a reference in a script
_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | _NUMBERS | st.floats(allow_nan=False, allow_infinity=False) | _TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_MEMBERS, inner, max_size=4),
    max_leaves=8,
)


class Differs(Exception):
    """A program ended at a difference; Hypothesis looks for a simpler one."""


class Enough(BaseException):
    """Leaves Hypothesis at once. It shows no example, so it is no error that Hypothesis would look into."""


def programs(fleet: Fleet, specification: Specification, *, seed: int, examples: int) -> list[Program]:
    """So many programs, played. The same seed draws the same ones on buses that answer alike."""
    return _played(fleet, specification, seed, examples, shrink_s=None)


def simplest(
    fleet: Fleet, specification: Specification, *, seed: int, examples: int, shrink_s: float = SHRINK_S
) -> Program | None:
    """The simplest program that Hypothesis finds to end at a difference, None if all are the model's."""
    broken = [p for p in _played(fleet, specification, seed, examples, shrink_s) if p.mismatch is not None]
    return min(broken, key=lambda program: (len(program.steps), len(repr(program.steps))), default=None)


def _played(
    fleet: Fleet, specification: Specification, seed: int, examples: int, shrink_s: float | None
) -> list[Program]:
    played: list[Program] = []
    until = math.inf

    @seeded(seed)
    @settings(
        max_examples=examples,
        database=None,
        deadline=None,
        phases=(Phase.generate,) if shrink_s is None else (Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def any_values(data: st.DataObject) -> None:
        nonlocal until
        if time.monotonic() > until:
            raise Enough
        try:
            program = _program(fleet, specification, data)
        except (Exception, BudgetSpent) as error:  # one of the kit's own, too
            raise Enough from error
        played.append(program)
        if shrink_s is not None and program.mismatch is not None:
            until = min(until, time.monotonic() + shrink_s)
            raise Differs

    try:
        any_values()
    except (Differs, Flaky):  # with a bus that answers differently each time, Hypothesis draws differently, too
        pass
    except Enough as enough:
        if enough.__cause__ is not None:
            raise enough.__cause__ from None
    return played


def _program(fleet: Fleet, specification: Specification, data: st.DataObject) -> Program:
    """One program; its steps are drawn while it is played."""
    program = Program(data.draw(st.integers(0, 2**32), label="state"))
    with Stage(fleet, specification) as stage:
        generator = specification.generator(random.Random(program.seed), stage.features)
        count = data.draw(st.integers(0, STEPS_MAX), label="steps")
        before = chain(generator.start(), (generator.draw(stage.model, stage.now_ms) for _ in range(count)))
        playing(program, stage, chain(before, _calls(stage, program, data)))
    return program


def _calls(stage: Stage, program: Program, data: st.DataObject) -> Iterator[Step]:
    contract = CONTRACTS[stage.specification.system]
    names = [name for name in stage.specification.methods if name not in ANYWHERE]
    methods = [contract.methods[name] for name in names if name in contract.methods]
    for _ in range(data.draw(st.integers(1, CALLS_MAX), label="calls")):
        living = _living(stage, program.steps)
        method = data.draw(st.sampled_from(methods), label="method")
        params = data.draw(_parameters(method.params, living), label="params")
        yield call(data.draw(st.integers(0, 1), label="process"), method.name, **params)


@dataclass(frozen=True)
class Living:
    """The possible references of calls: earlier texts, and values that the bus chose."""

    texts: list[str]
    born: list[Free]
    secrets: list[Free]  # among them, for fields that take one: elsewhere their owner itself would have told them

    @property
    def for_secrets(self) -> Living:
        """The possible references of a field that takes a secret."""
        return replace(self, born=self.secrets)


def _living(stage: Stage, steps: list[Step]) -> Living:
    asks = chain.from_iterable(_texts(step.params) for step in steps if step.do == "call")  # keys of `open` are secrets
    texts = dict.fromkeys(text for text in asks if 0 < len(text) <= LONGEST_NAME)
    born = [free for free in stage.model.frees.values() if free.value is not None]
    secrets = {free.name for free, _ in stage.model.secrets if isinstance(free, Free)}
    return Living(
        list(islice(texts, LIVING_MAX)),
        [free for free in born if free.name not in secrets][:LIVING_MAX],
        [free for free in born if free.name in secrets][:LIVING_MAX],
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _texts(member)


@st.composite
def _parameters(draw: st.DrawFn, model: type[BaseModel], living: Living) -> dict[str, Any]:
    """The parameters of a call: mostly in order; in one of four calls, one of them is anything."""
    params = draw(_object(model, living))
    if params and draw(st.integers(0, 3)) == 3:
        name = draw(st.sampled_from(sorted(params)))
        if name not in WAITS:
            params[name] = draw(_JSON)
    return params


def _object(model: type[BaseModel], living: Living) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: _field(name, field.annotation, living) for name, field in model.model_fields.items()}
    required = {name for name, field in model.model_fields.items() if field.is_required() or name in WAITS}
    return st.fixed_dictionaries(
        {name: value for name, value in fields.items() if name in required},
        optional={name: value for name, value in fields.items() if name not in required},
    )


def _field(name: str, type_: Any, living: Living) -> st.SearchStrategy[Any]:
    if name in WAITS:
        return WAITS[name]
    return _value(type_, living.for_secrets if name in SECRETS else living)


def _value(type_: Any, living: Living) -> st.SearchStrategy[Any]:
    """A value for a field with this annotation."""
    texts = st.sampled_from(living.texts or ["a"]) | _TEXTS
    if type_ is str:
        return st.sampled_from([*living.texts, *living.born] or ["a"]) | texts
    if type_ is int:
        numbers: list[Any] = [*living.born]
        return _NUMBERS | st.sampled_from(numbers or [1])
    if type_ is bool:
        return st.booleans()
    if type_ is float:
        return _NUMBERS | st.floats(allow_nan=False, allow_infinity=False)
    if type_ is None or type_ is type(None):
        return st.none()
    if isinstance(type_, type) and issubclass(type_, BaseModel):
        return _object(type_, living)
    arguments = get_args(type_)
    match get_origin(type_):
        case None:
            return _JSON
        case origin if origin is Literal:
            return st.sampled_from(arguments) | texts
        case origin if origin is list:
            return st.lists(_value(arguments[0], living), max_size=3)
        case origin if origin is dict:
            return st.dictionaries(_MEMBERS, _value(arguments[1], living), max_size=4)
        case _:
            return st.one_of(*(_value(argument, living) for argument in arguments))
