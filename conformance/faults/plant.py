"""How a fault of the reference is declared, and how its patches change the reference.

    @fault("worker.lease.05")
    def leases_never_expire():
        \"\"\"A dead holder keeps its task for ever.\"\"\"
        patch(lease, may_take=lambda claim, now_ms: claim is None)

The docstring is the sentence, the arguments are rows that must not pass. A class is a fault whose bus is that class. A
function patches the reference, and may return the class of the bus. The kit reads declarations without running them,
so every argument is a literal:

    control="log.fields"     an item that the bus passes, so it is alive; default: the constant CONTROL of the file
    item="corpus"            the item that kills it, if that is not its rows' own; corpus:NAME, one script
    chaos={"kills": 8}       as much of a chaos run as kills it, if `check` does not
    dies_of="no answer"      words of a crash or a time-out, if that is the fault, and not an accident
    door="nats:"             the prefix of its --bus, if it is no fault of a file
    test="tests/…::test_…"   the test of the reference that finds it, where no door of a bus reaches
    author="trial 31"        who wrote it, if that was not this project

A declaration without rows is a choice: it breaks nothing, and its bus is VALID.
"""

from __future__ import annotations

import builtins
import dis
import inspect
import pkgutil
import sys
import textwrap
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any, TypeVar

_Planted = TypeVar("_Planted", bound=Callable[..., Any])


class StaleFaultError(Exception):
    """The reference no longer has what a fault replaces: without this error the fault would be no fault, or half."""


def fault(*rows: str, **how: object) -> Callable[[_Planted], _Planted]:
    """Declares a fault; see the head of this file. Declarations are read from the source, so nothing is kept here."""
    del rows, how
    return lambda planted: planted


def patch(target: Any, **values: Any) -> None:
    """Set attributes that a module or class has, in itself or by inheritance."""
    for name, value in values.items():
        if not hasattr(target, name):
            raise StaleFaultError(f"{target} has no {name}")
        setattr(target, name, value)


def wrap(target: Any, **wrappers: Callable[..., Any]) -> None:
    """Put functions in the place of others; each is given the whole one first, and then the arguments."""
    for name, wrapper in wrappers.items():
        whole = getattr(target, name)
        patch(target, **{name: lambda *args, _put=wrapper, _whole=whole, **how: _put(_whole, *args, **how)})


def in_two_steps(
    bus: Any, call: str, noun: Any, write: str, is_late: Callable[..., bool] = lambda *args, **how: True
) -> Any:
    """A bus whose call commits, and then makes the writes of a noun in a transaction of its own."""
    late: list[Any] = []
    now = getattr(noun, write)

    def keep(whole: Any, its_noun: Any, tx: Any, *args: Any, **how: Any) -> None:
        if is_late(*args, **how):
            late.append((its_noun, args, how))
        else:
            whole(its_noun, tx, *args, **how)

    def called(self: Any, *args: Any, **how: Any) -> Any:
        reply = getattr(bus, call)(self, *args, **how)
        with self.store.transaction() as tx:
            while late:
                its_noun, its_args, its_how = late.pop(0)
                now(its_noun, tx, *its_args, **its_how)
        return reply

    wrap(noun, **{write: keep})
    return type("InTwoSteps", (bus,), {call: called})


def rewrite(function: FunctionType, *texts: str) -> None:
    """Compile a function or method anew, with texts of its source replaced: WAS, BECOMES, and so on in pairs."""
    source = textwrap.dedent(_replaced(inspect.getsource(function), texts, function.__qualname__))
    made: dict[str, Any] = {}
    exec(compile(source, f"<fault in {function.__qualname__}>", "exec"), function.__globals__, made)
    if unknown := _globals_of(made[function.__name__].__code__) - {*function.__globals__, *vars(builtins)}:
        raise StaleFaultError(f"{function.__qualname__} knows no {', '.join(sorted(unknown))}")
    owner, _, name = function.__qualname__.rpartition(".")
    home = pkgutil.resolve_name(f"{function.__module__}:{owner}") if owner else sys.modules[function.__module__]
    patch(home, **{name: made[function.__name__]})


def _globals_of(code: CodeType) -> set[str]:
    """The global names that a function and all functions in it read: a local that was renamed becomes one."""
    own = {step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL"}
    return own.union(*(_globals_of(inner) for inner in code.co_consts if isinstance(inner, CodeType)))


def reword(module: Any, name: str, *texts: str) -> None:
    """Replace texts in a constant, a statement of SQL as a rule; NAME.FIELD is the field of a named tuple."""
    name, _, field = name.partition(".")
    value = getattr(module, name)
    text = _replaced(getattr(value, field) if field else value, texts, name)
    patch(module, **{name: value._replace(**{field: text}) if field else text})


def _replaced(text: str, texts: tuple[str, ...], place: str) -> str:
    for was, becomes in zip(texts[::2], texts[1::2], strict=True):
        if was not in text:
            raise StaleFaultError(f"{place} does not contain {was!r}")
        text = text.replace(was, becomes)
    return text
