"""Some script of the corpus says all that the protocol lets a caller say: each parameter, given, left out, null, wrong.

A hole is found by construction: a parameter that comes to a contract fails here until scripts say it, too.
"""

from __future__ import annotations

import types
import typing
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from busproof.contract import CONTRACTS
from busproof.oracle.models.worker_state import Options
from busproof.play.explore import corpus
from busproof.play.explore.script import Step
from busproof.systems import SYSTEMS

# Where a script cannot, or need not, say it; and why.
LONG = "its default is a wait of half a minute, and nobody answers: longer than the corpus waits for any answer"
NO_PATH = "no sentence says what a copy of the ledger under a path that is none should be"
# Its specification asks nothing of a bus about a value of another type, and null is how an adapter says "not given".
PROMISES_NO_TYPES = ("mailbox",)
EXCEPTIONS: dict[str, dict[str, str]] = {
    "relay": {f"{name}.path wrong": NO_PATH for name in ("backup", "restore")},
    "comms": {"request.timeout_seconds left out": LONG},
    "timeline": {f"{name}.timeout_ms left out": LONG for name in ("call_service", "delegate", "run_agent")},
}


def parts(annotation: Any) -> tuple[Any, ...]:
    """The members of a union, without their annotations."""
    if typing.get_origin(annotation) is typing.Annotated:
        return parts(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        return tuple(part for member in typing.get_args(annotation) for part in parts(member))
    return (annotation,)


def wanted(model: type[BaseModel], at: str) -> Iterator[str]:
    """All that can be said of a model's members: `publish.message.to left out`."""
    for name, field in model.model_fields.items():
        place, kinds = f"{at}.{field.alias or name}", parts(field.annotation)
        yield f"{place} given"
        if Any not in kinds:
            yield f"{place} wrong"
        if not field.is_required():
            yield f"{place} left out"
        if type(None) in kinds:
            yield f"{place} null"
        for kind in kinds:
            if typing.get_origin(kind) is typing.Literal:
                yield from (f"{place} {member!r}" for member in typing.get_args(kind))
            if kind is bool:
                yield from (f"{place} {value}" for value in (True, False))
            inner = typing.get_args(kind)[0] if typing.get_origin(kind) is list else kind
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from wanted(inner, place)


def fits(kind: Any, value: Any) -> bool:
    """Roughly: is it a value of this type?"""
    if kind is Any:
        return True
    if typing.get_origin(kind) is typing.Literal:
        return value in typing.get_args(kind)
    shape = typing.get_origin(kind) or kind
    if isinstance(shape, type) and issubclass(shape, BaseModel):
        shape = dict
    if type(value) is dict and ("$" in value or "$text" in value or "$many" in value):
        return True  # the bus's choice, or long
    return type(value) is shape or (shape is float and type(value) is int)


def sayings(model: type[BaseModel], params: Any, at: str) -> Iterator[str]:
    """The members of a model that a call says, and how."""
    if type(params) is not dict:
        return
    for name, field in model.model_fields.items():
        place, kinds = f"{at}.{field.alias or name}", parts(field.annotation)
        if (field.alias or name) not in params:
            yield f"{place} left out"
            continue
        value = params[field.alias or name]
        is_right = any(fits(kind, value) for kind in kinds if kind is not type(None))
        yield f"{place} null" if value is None else f"{place} given" if is_right else f"{place} wrong"
        yield from (f"{place} {value!r}" for _ in [0] if isinstance(value, str | bool))
        for kind in kinds:
            inner, values = kind, [value]
            if typing.get_origin(kind) is list and isinstance(value, list):
                inner, values = typing.get_args(kind)[0], value
            elif typing.get_origin(kind) is list and type(value) is dict:
                inner, values = typing.get_args(kind)[0], [value.get("of")]
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                yield from (saying for each in values for saying in sayings(inner, each, place))


def calls(steps: list[Step]) -> Iterator[Step]:
    for step in steps:
        yield from step.calls
        yield step


@pytest.mark.parametrize("system", SYSTEMS)
def test_each_parameter_of_the_protocol_is_said_in_every_way(system: str) -> None:
    specification = SYSTEMS[system].model
    assert specification is not None
    methods = {name: CONTRACTS[system].methods[name].params for name in specification.methods}
    heard: set[str] = set()
    for steps in corpus.scripts(system).values():
        for step in calls(steps):
            if step.method in methods and step.at != "hand":
                heard |= {step.method, *sayings(methods[step.method], step.params, step.method)}
    expected = {saying for name, model in methods.items() for saying in (name, *wanted(model, name))}
    if system in PROMISES_NO_TYPES:
        expected = {saying for saying in expected if not saying.endswith((" wrong", " null"))}
    assert sorted(expected - heard - EXCEPTIONS.get(system, {}).keys()) == []
    assert EXCEPTIONS.get(system, {}).keys() & heard == set(), "an exception that is none any more"


def test_each_option_of_worker_is_opened_with_in_the_corpus() -> None:
    """Those of the model, which are those of the features."""
    opened = {
        (name, str(value))
        for steps in corpus.scripts("worker").values()
        for step in steps
        if step.do == "open"
        for name, value in step.params.get("options", {}).items()
    }
    for name in vars(Options()):
        assert len({value for known, value in opened if known == name}) >= (1 if name == "synchronous" else 3), name
