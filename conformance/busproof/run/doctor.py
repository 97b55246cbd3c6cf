"""`busproof doctor`: is it the adapter, or is it the bus? And what is odd about a store's files (`oddities`)?

The adapter is examined from the outside in: does it start, does it answer, does it keep to the protocol, does it
keep its word of hello. The first fault that explains the rest ends the examination, with its remedy.
"""

from __future__ import annotations

import json
import shlex
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from busproof.bus import faketime
from busproof.bus.base import HOW_LONG, Door, DoorError, Lost, Refused
from busproof.bus.child import Household
from busproof.bus.doors import open_door
from busproof.bus.mcp import McpDoor
from busproof.bus.stdio import StdioDoor
from busproof.contract import CONTRACTS, METHOD_NOT_FOUND, Contract, HelloReply
from busproof.oddities import jetstream, library
from busproof.oddities.examine import examine as examine_store
from busproof.oddities.examine import examine_folder, in_server
from busproof.run import mapped, unlike
from busproof.run.fault import Fault
from busproof.words import faults, one_line, say

SLOW_MS = 500
HELLO_S = 60  # a bus may have much to import
NOW_MS = 1_768_053_600_000
# By scheme: what stands between the kit and the bus, and where it declares. An mcp: or files: bus has nothing there.
_MAPPING = dict.fromkeys(("exec", "py", "nats"), "The adapter") | {"toml": "The file"}
_PROMISES = dict.fromkeys(("exec", "py", "nats"), "the answer to hello") | {"toml": "[promises]"}


def examine(spec: str, system: str | None = None) -> int:
    """Print the findings. Exit 0: the adapter is sound; 1: a fault was found; 2: there is nothing to examine."""
    if spec.startswith("sqlite:") and spec != "sqlite:":
        return examine_store(Path(spec.removeprefix("sqlite:")).expanduser(), system)
    if spec.startswith("files:") and (folder := Path(spec.removeprefix("files:")).expanduser()).is_dir():
        return examine_folder(folder)
    if (server := jetstream.server_of(spec)) is not None:
        return _examine_server(*server)
    household = Household()
    try:
        if (words := unlike.topics(spec, system, household)) is not None:
            say(words)
            return 2
        system = system or _system_of(spec, household)
        for finding in _examine_adapter(spec, CONTRACTS[system], household):
            say(f"  ok     {one_line(finding)}")
    except Fault as fault:
        say(f"  FAULT  {one_line(fault)}\n         remedy: {one_line(fault.remedy)}")
        say(
            f"{_MAPPING[_scheme(spec)]} is at fault, or the bus where it is called; the bus has not been judged."
            if _scheme(spec) in _MAPPING
            else "The bus is at fault before a check can judge it."
        )
        return 1
    finally:
        for command in household.end():
            say(f"  note   it left a process running, which was ended: {command[:200]!a}")
    check = f"busproof check {system} --bus {shlex.quote(spec)}"
    if _scheme(spec) not in _MAPPING:
        say(f"The bus can be judged:  {check}")
        return 0
    say(f"{_MAPPING[_scheme(spec)]} keeps to the protocol, and the bus can be judged:  {check}")
    say(
        "A row that fails then is a fault of the bus, or a promise that the bus does not make (take it out of"
        f" {_PROMISES[_scheme(spec)]}), or a call that does not mean what the contract says."
    )
    return 0


def _examine_server(url: str, creds: str | None) -> int:
    try:
        return in_server(url, creds).tell()
    except jetstream.Unreachable as error:
        say(f"there is nothing to look at: {one_line(error)}")
        return 2


def _scheme(spec: str) -> str:
    return spec.removeprefix("faketime:").partition(":")[0]


def _system_of(spec: str, household: Household) -> str:
    """The system that the bus says it is, asked for each in turn; the first fault, if it says none."""
    if _scheme(spec) == "mcp":
        return "topics"
    faults = []
    for system in CONTRACTS:
        door = _open_door(spec, household)
        try:
            systems = _hello(door, system).systems
            return next((name for name in systems if name in CONTRACTS), system)
        except Fault as fault:
            faults.append(fault)
        finally:
            door.close()
    raise faults[0]


def _open_door(spec: str, household: Household) -> Door:
    try:
        return open_door(spec, household.spawn)
    except Exception as error:  # of the user's own module, too
        raise Fault(
            f"it does not start: {error}",
            "mend the file, or run the command by hand; a relative path starts where you stand",
        ) from error


def _examine_adapter(spec: str, contract: Contract, household: Household) -> Iterator[str]:
    door = _open_door(spec, household)
    with tempfile.TemporaryDirectory(prefix="busproof-") as folder:
        stores = [Path(folder, name) for name in ("first", "second", "third", "letters")]
        for store in stores:
            store.mkdir()
        first, second, third, letters = stores
        try:
            hello = _hello(door, contract.system)
            yield f"hello: {hello.name} {hello.version}, nouns {', '.join(hello.nouns) or 'none'}, clock {hello.clock}"
            yield from _declares(hello, contract)
            if left_out := [name for name in contract.features if name not in hello.features]:
                yield f"not declared: {', '.join(left_out)}; rows that need it are not applicable"
            yield from _manners(door)
            if _scheme(spec) == "toml":
                yield from mapped.examine(spec, letters, hello, household)
            of_a_new_store = _backwards(door, first, hello, contract)
            yield "open: a store folder is accepted"
            _call(door, "open", {"store": str(second), "options": {}}, contract)
            yield from _keeps_its_word(door, hello, contract)
            _has_its_database(second, hello, contract)
            _call(door, "close", {}, contract)
            yield "close: the store is left"
            _leaves_nothing_behind(of_a_new_store, _backwards(door, third, hello, contract))
            yield "open again: another store in the same process is a new one"
            for warning in library.warnings(path for path in sorted(Path(folder).rglob("*")) if path.is_file()):
                say(f"  note   {one_line(warning)}")
        finally:
            door.close()


def _hello(door: Door, system: str) -> HelloReply:
    try:
        reply = door.call("hello", {"protocol": ["1"], "system": system}, timeout_s=HELLO_S)
    except Refused as error:
        raise Fault(
            f"hello was refused: {error}", "hello must answer for protocol 1; see docs/protocol.md#hello"
        ) from error
    except Lost as error:
        text = str(error)
        if "not JSON" in text:
            remedy = "stdout belongs to the protocol: print to stderr instead"
        elif "id" in text and "request" in text:
            remedy = "answer with the same id as the request"
        elif "no answer" in text:
            remedy = "flush stdout after every line; for a bus that is slow to start, BUSPROOF_PATIENCE=10 waits longer"
        else:
            remedy = f"it wrote to stderr: {door.stderr[-300:] or 'nothing'}"
        raise Fault(f"hello was not answered: {error}", remedy) from error
    except DoorError as error:
        raise Fault(str(error), "see docs/valid.md, What valid needs") from error
    try:
        return CONTRACTS[system].completed(HelloReply.of(reply))
    except ValidationError as error:
        wrong = faults(error, 4)
        raise Fault(f"hello's answer lacks something: {wrong}", "see docs/protocol.md#hello for its fields") from error


def _declares(hello: HelloReply, contract: Contract) -> Iterator[str]:
    system = contract.system
    if system not in hello.systems:
        raise Fault(
            f"hello says that it is {', '.join(hello.systems)}, not {system}",
            f"add --system {(hello.systems or [system])[0]}, or name {system} among hello's systems",
        )
    unknown = [feature for feature in hello.features if feature not in contract.features]
    if unknown:
        raise Fault(f"hello declares unknown features {unknown}", f"features are {', '.join(contract.features)}")
    if kept := [feature for feature in hello.lacks if feature not in contract.usual or feature in hello.features]:
        usual = ", ".join(sorted(contract.usual)) or "none"
        raise Fault(f"hello.lacks names {kept}", f"it may name usual features that are not declared: {usual}")
    if not hello.nouns:
        raise Fault(
            "hello declares no noun, so nothing can be judged",
            f"declare {', '.join(contract.profiles['core'])} when they are filled in",
        )
    yield "hello: what is declared is known to the protocol"


def _manners(door: Door) -> Iterator[str]:
    try:
        door.call("doctor.no_such_method", {}, timeout_s=10)
        raise Fault("an unknown method was accepted", "answer it with error code -32601")
    except Refused as error:
        if error.rpc != METHOD_NOT_FOUND:
            raise Fault(
                f"an unknown method was answered with {error.rpc}", "answer it with error code -32601"
            ) from error
    except Lost as error:
        raise Fault(f"it died of an unknown method: {error}", "answer it with error code -32601") from error
    yield "an unknown method is -32601"
    if isinstance(door, StdioDoor):
        door.send_line(b"{this is no JSON")
        try:
            line = door.receive_line("a line that is no JSON", 5)
            good = "error" in json.loads(line)
        except (Lost, ValueError):
            good = False
        if not good:
            raise Fault(
                "a line that is no JSON is not answered with an error", "answer it with error code -32700 and id null"
            )
        yield "a line that is no JSON is answered with an error"


def _has_its_database(store: Path, hello: HelloReply, contract: Contract) -> None:
    if "sqlite" in hello.features and not (store / contract.store).exists():
        raise Fault(
            f"hello declares sqlite, and after every call there is no {contract.store} in the store",
            f"declare sqlite only with the tables of docs/protocol/{contract.system}.md in that file",
        )


def _backwards(door: Door, store: Path, hello: HelloReply, contract: Contract) -> dict[str, Any]:
    """Every declared method on a new store, those first that only read: its answer, or the code of its refusal."""
    _call(door, "open", {"store": str(store), "options": {}}, contract)
    if hello.clock == "manual":
        _call(door, "clock.set", {"now_ms": NOW_MS}, contract)
    answers: dict[str, Any] = {}
    for method, params in reversed(_declared(hello, contract)):
        try:
            answers[method] = door.call(method, dict(params), timeout_s=20)
        except Refused as error:
            answers[method] = {"refused": error.code}
        except DoorError as error:
            raise Fault(f"{method} was not answered: {error}", f"see {contract.page_of(method)}") from error
    _call(door, "close", {}, contract)
    return answers


def _leaves_nothing_behind(before: dict[str, Any], after: dict[str, Any]) -> None:
    """The kit opens many stores in one process."""
    for method, answer in before.items():
        if _shape(after[method]) != _shape(answer):
            raise Fault(
                f"{method} on a new store answered {json.dumps(answer)[:150]}, and on another new one, opened later in"
                f" the same process, {json.dumps(after[method])[:150]}: it still looks at a store that was left",
                "open must leave the store before it, with all that was kept of it in memory",
            )


def _declared(hello: HelloReply, contract: Contract) -> list[tuple[str, Mapping[str, Any]]]:
    """The trials of the methods that the bus says it has."""
    declared = {"", *hello.nouns, *hello.features}
    of = contract.methods
    return [
        (name, params)
        for name, params in contract.trials.items()
        if {of[name].noun or "", of[name].feature or ""} <= declared
    ]


def _shape(value: Any) -> Any:
    """The parts that are the same for any ids, names and times: truths, nulls, and how many there are."""
    match value:
        case dict():
            return {name: _shape(inner) for name, inner in value.items()}
        case list():
            return [_shape(inner) for inner in value]
        case bool() | None:
            return value
    return type(value).__name__


def _keeps_its_word(door: Door, hello: HelloReply, contract: Contract) -> Iterator[str]:
    """Every declared method is there; the core answers in the right shape, quickly."""
    if hello.clock == "manual":
        _call(door, "clock.set", {"now_ms": NOW_MS}, contract)
        yield "clock.set: the clock can be set"
    elif isinstance(door, (StdioDoor, McpDoor)):
        yield f"clock wall: rows of time could not run; check --clock faketime sets it from outside ({_faketime()})"
    slow = []
    for method, params in _declared(hello, contract):
        started = time.monotonic()
        _call(door, method, params, contract)
        if (took_ms := (time.monotonic() - started) * 1000) > SLOW_MS:
            slow.append(f"{method} took {took_ms:.0f} ms")
    yield "every declared method answers in its shape" + (f"; slow: {', '.join(slow)}; {HOW_LONG}" if slow else "")


def _faketime() -> str:
    try:
        return f"with {faketime.library()}"
    except DoorError as error:
        return str(error)


def _call(door: Door, method: str, params: Mapping[str, Any], contract: Contract) -> dict[str, Any]:
    page = f"see {contract.page_of(method)}"
    try:
        reply = door.call(method, dict(params), timeout_s=20)
    except Refused as error:
        why = "is declared and not there" if error.rpc == METHOD_NOT_FOUND else f"was refused: {error}"
        raise Fault(f"{method} {why}", f"sent {json.dumps(params)}; {page}") from error
    except DoorError as error:
        raise Fault(f"{method} was not answered: {error}", page) from error
    try:
        contract.methods[method].reply.of(reply)
    except ValidationError as error:
        wrong = faults(error, 4)
        raise Fault(f"{method}'s answer has another shape: {wrong}; it was {json.dumps(reply)[:200]}", page) from error
    return reply
