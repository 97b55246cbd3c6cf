"""`busproof audit --validate PATH…`: are these files histories, line by line? Nothing is said of the bus.

A line that is not as docs/history.md says is named, with the member that is missing or wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError

from busproof.contract import Contract
from busproof.contract.history import MALFORMED, STATE_OPS, Broken, Event, Places, fill, left_out, scan
from busproof.oracle.checks.calls import Call, calls
from busproof.oracle.checks.extract.source import Source
from busproof.oracle.checks.integrity import Integrity
from busproof.systems import SYSTEMS
from busproof.words import faults, one_line, say

SHOWN = 20  # of a file


def validate(paths: Iterable[Path]) -> int:
    """Print what is wrong with each file. Exit 0 if nothing is, else 2: no verdict could be had."""
    code = 0
    for path in paths:
        odd = list(odd_lines(path))
        for line in odd[:SHOWN]:
            say(f"{path}: {one_line(line)}")
        if len(odd) > SHOWN:
            say(f"{path}: and {len(odd) - SHOWN} more")
        if not odd:
            say(f"{path}: every line is as docs/history.md says")
        code = 2 if odd else code
    return code


def odd_lines(path: Path) -> Iterator[str]:
    """Each line that is no event, or that lacks something; then what is wrong with the file as a whole."""
    first = next(scan(path), None)
    if first is None:
        yield "the file is empty"
        return
    system = SYSTEMS.get(first.system) if isinstance(first, Event) else None
    if isinstance(first, Event) and system is None:
        yield f"line 1: there is no system {first.system!a}; there are {', '.join(SYSTEMS)}"
        return
    if isinstance(first, Event) and first.type != "header":
        yield f"line 1: it is of type {first.type}, and the first line is a header"
    whole, broken = Integrity(), list[Broken]()
    events = whole.watch(_kept(scan(path), broken))
    if system is None:
        for _ in events:
            pass
    else:
        yield from _odd_calls(events, system.contract, system.facts)
    yield from (f"line {line.line}: {line.why}" for line in broken)
    if whole.damage and not broken:
        yield whole.damage
    elif not whole.is_whole:
        yield f"line {whole.lines}: the file ends without a footer"


def _kept(lines: Iterable[Event | Broken], broken: list[Broken]) -> Iterator[Event | Broken]:
    for line in lines:
        if isinstance(line, Broken):
            broken.append(line)
        yield line


def _odd_calls(events: Iterable[Event], contract: Contract, source: Source) -> Iterator[str]:
    """What an answered call, or a row of a state, lacks."""
    columns = left_out(contract)
    for call in calls(_filled(events, columns)):
        if isinstance(call, Event):
            yield from _odd_row(call, source)
        elif isinstance(call, Call) and call.outcome == "ok" and call.op not in STATE_OPS:
            yield from _odd_call(call, contract)


def _filled(events: Iterable[Event], columns: dict[tuple[str, str], Places]) -> Iterator[Event]:
    for event in events:
        fill(event, columns.get((event.type, event.op or ""), {}))
        yield event


def _odd_call(call: Call, contract: Contract) -> Iterator[str]:
    method = contract.methods.get(call.op)
    if method is None or call.ended is None or call.ended.code == MALFORMED:
        return
    if not contract.callers and not call.agent and method.noun:
        yield f"line {call.begin + 1}: {call.op}: agent is missing"
    for event, model in ((call.begun, method.params), (call.ended, method.reply)):
        try:
            model.model_validate({} if event.value is None else event.value)
        except ValidationError as error:
            yield f"line {event.index + 1}: {call.op}, {event.type}: {faults(error)}"


def _odd_row(event: Event, source: Source) -> Iterator[str]:
    for fact in source.of_state(event.key or "", event.value, event.index):
        missing = [name for name in source.required(type(fact)) if getattr(fact, name) is None]
        if missing:
            yield f"line {event.index + 1}: a row of {event.key}: {', '.join(missing)} is missing"
