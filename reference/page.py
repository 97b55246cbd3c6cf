"""docs/refbus.md: the library and the command lines, generated from signatures, docstrings and reply types.

python -m reference.page docs/refbus.md
"""

from __future__ import annotations

import argparse
import dataclasses
import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, ForwardRef, get_args, get_type_hints, is_typeddict

from refbus import comms
from refbus.cli import parser
from refbus.cli.common import EXIT_CODES
from refbus.comms.bus import CommsBus
from refbus.comms.store import Store as CommsStore
from refbus.kernel import errors
from refbus.relay import config
from refbus.relay.bus import RelayBus
from refbus.relay.mailbox import Mailbox
from refbus.timeline.bus import TimelineBus
from refbus.timeline.store import Store as TimelineStore
from refbus.timeline.worker import Worker
from refbus.topics.bus import TopicsBus
from refbus.worker import WorkerBus
from refbus.worker.heartbeat import Heartbeat
from refbus.worker.loop import Loop
from refbus.worker.store import Store as WorkerStore
from refbus.worker.tail import Tail

COMMS = (
    comms.initialize_communication_system,
    comms.MessageEnvelope,
    comms.Heartbeat,
    comms.CircuitBreaker,
    comms.TokenBucket,
)
# A system, the module of its bus, the bus, the class that tells its options, and the other classes of the library.
LIBRARY = (
    ("worker", "refbus.worker", WorkerBus, WorkerStore, (Loop, Heartbeat, Tail)),
    ("comms", "refbus.comms", CommsBus, CommsStore, COMMS),
    ("timeline", "refbus.timeline.bus", TimelineBus, TimelineStore, (Worker,)),
    ("relay", "refbus.relay.bus", RelayBus, RelayBus, (Mailbox,)),
    ("topics", "refbus.topics.bus", TopicsBus, TopicsBus, ()),
)


def page() -> str:
    """The whole page."""
    lines = ["<!-- Generated: python -m reference.page docs/refbus.md -->", "# refbus: library and command lines", ""]
    for entry in LIBRARY:
        lines += _library(*entry)
        if entry[0] == "relay":
            lines += _settings()
    return "\n".join([*lines, *_errors(), "## Command lines", "", *_commands(parser())])


# -- the library


def _library(system: str, module: str, bus: Any, options: type, helpers: tuple[Any, ...]) -> Iterator[str]:
    known = {id(value): name for name, value in vars(import_module(module)).items()}
    names = {kind: known.get(id(kind), kind.__name__) for kind in (bus, *helpers)}
    lines = [f"from {module if id(kind) in known else kind.__module__} import {name}" for kind, name in names.items()]
    yield from (f"## The library of `{system}`", "", "```python", *lines, "```", "")
    yield from _entry(f"{bus.__name__}{_signature(options)}", bus)
    replies: dict[str, Any] = {}
    for method, function in methods(bus).items():
        yield from _entry(f"{method}{_signature(function)}", function)
        replies |= _typed_dicts(get_type_hints(inspect.unwrap(function))["return"])
    for helper in helpers:
        if is_typeddict(helper):
            yield from _entry(
                f"{names[helper]}: {', '.join(f'{field}: {kind}' for field, kind in _fields(helper))}", helper
            )
            continue
        yield from _entry(f"{helper.__name__}{_signature(helper)}", helper)
        for name, function in inspect.getmembers(helper, inspect.isfunction):
            if not name.startswith("_"):
                yield from _entry(f"{helper.__name__}.{name}{_signature(function)}", function)
    yield from (f"### Replies of `{system}`", "", "| type | field | value |", "|---|---|---|")
    for name, reply in sorted(replies.items()):
        for field, kind in _fields(reply):
            yield f"| {name} | `{field}` | `{kind}` |".replace(" | None", " \\| None")
    yield ""


def _settings() -> Iterator[str]:
    """Each setting of relay's config.json with its default, and what its line in the source says of it."""
    yield from (
        "### Settings of `relay`",
        "",
        inspect.getdoc(config) or "",
        "",
        "| setting | default | |",
        "|---|---|---|",
    )
    says = dict(re.findall(r"^    (\w+): .+?(?:  # (.*))?$", inspect.getsource(config.Config), re.MULTILINE))
    for name, default in dataclasses.asdict(config.Config()).items():
        yield f"| `{name}` | `{json.dumps(default)}` | {says[name]} |"
    yield ""


def methods(bus: type) -> dict[str, Callable[..., Any]]:
    """The public methods of a bus, in their order."""
    return {
        name: function
        for name, function in vars(bus).items()
        if inspect.isfunction(function) and not name.startswith("_") and name != "close"
    }


def _entry(head: str, documented: Any) -> tuple[str, ...]:
    return (f"### `{head}`", "", inspect.getdoc(documented) or "", "")


class _Source(str):
    """An annotation, shown as it is written."""

    __slots__ = ()
    __repr__ = str.__str__


def _signature(function: Callable[..., Any]) -> str:
    """As it is called: without self."""
    signature = inspect.signature(function)
    parameters = [
        parameter.replace(annotation=_Source(parameter.annotation))
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    reply = signature.empty if isinstance(function, type) else _Source(signature.return_annotation)
    shown = str(signature.replace(parameters=parameters, return_annotation=reply))
    return re.sub(r"<(?:function|object) .*? at 0x[0-9a-f]+>", "…", shown)


def _typed_dicts(kind: Any) -> dict[str, Any]:
    """The reply types in an annotation, those in their fields included."""
    if not is_typeddict(kind):
        return {name: reply_type for part in get_args(kind) for name, reply_type in _typed_dicts(part).items()}
    return {kind.__name__: kind} | {
        name: reply_type for part in get_type_hints(kind).values() for name, reply_type in _typed_dicts(part).items()
    }


def _fields(reply: Any) -> Iterator[tuple[str, str]]:
    for name, kind in reply.__annotations__.items():
        yield name, kind.__forward_arg__ if isinstance(kind, ForwardRef) else str(kind)


def _errors() -> Iterator[str]:
    """The codes. `definite` on the class holds unless an error says otherwise."""
    yield from ("## Errors", "", inspect.getdoc(errors.BusError) or "", "")
    yield from ("| class | code | definite | |", "|---|---|---|---|")
    for _, error in inspect.getmembers(errors, inspect.isclass):
        if issubclass(error, errors.BusError) and error is not errors.BusError:
            yield f"| {error.__name__} | `{error.code}` | {str(error.definite).lower()} | {inspect.getdoc(error)} |"
    yield ""


# -- the command lines


def _commands(top: argparse.ArgumentParser) -> Iterator[str]:
    """A parser's arguments, then its commands. Not argparse's own help: its layout changes with Python."""
    yield from (f"### `{top.prog}`", "", *([top.description, ""] if top.description else []))
    commands = [action for action in top._actions if isinstance(action, argparse._SubParsersAction)]
    arguments = [a for a in top._actions if a not in commands and not isinstance(a, argparse._HelpAction)]
    for argument in arguments:
        must = " (required)" if argument.required and argument.option_strings else ""
        if argument.help == argparse.SUPPRESS:  # the system's, which stand above
            continue
        yield f"- `{_invocation(argument)}`{must}" + (f": {argument.help}" if argument.help else "")
    if arguments:
        yield ""
    if top.epilog and (top.epilog != EXIT_CODES or " " not in top.prog):  # the same of every command
        yield from ("```text", top.epilog.rstrip(), "```", "")
    for action in commands:
        for command in action.choices.values():
            yield from _commands(command)


def _invocation(argument: argparse.Action) -> str:
    """`--limit LIMIT`, or the name of a positional argument."""
    choices = "{" + ",".join(map(str, argument.choices)) + "}" if argument.choices else None
    value = str(argument.metavar or choices or argument.dest.upper())
    if not argument.option_strings:
        return f"[{value}]" if argument.nargs == "?" else f"{value} …" if argument.nargs == "+" else value
    names = ", ".join(argument.option_strings)
    return names if argument.nargs == 0 else f"{names} {value}"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(page(), encoding="utf-8")
