"""Scripts: programs for a bus as data, one JSON object a line.

    {"do": "store", "folder": "50% of it?"}
    {"do": "open", "at": 0, "options": {"lease_ms": 1000}}
    {"do": "clock", "now_ms": 1000}
    {"do": "pass", "ms": 1000}
    {"do": "call", "at": 0, "method": "publish", "params": {"agent_id": "ann", "message": {"type": "t"}}}
    {"do": "call", "at": 1, "method": "ack", "params": {"agent_id": "bob", "seq": {"$": "3.seq1", "plus": 1}}}
    {"do": "restart", "at": 1, "kill": true}
    {"do": "call", "at": "hand", "method": "tear_export", "params": {}}
    {"do": "race", "calls": [CALL, CALL], "inside": CALL}
    {"do": "wait", "calls": [CALL, CALL]}
    {"do": "many", "at": 0, "method": "publish", "params": {…}, "times": 1000}
    {"do": "many", "calls": [CALL, CALL], "times": 300}

A `store` comes before all, and gives the folder a name. `at` is a process, or "hand": the kit's own, on the files.
`pass` is for times that a bus at the machine's own time must keep, too: there the kit waits so long.
Values that the bus chose are references to the step they were born in (`{"$": "3.seq1"}`), so a script means the same
on every bus, even if lines are left out. A `race` sends its calls off while the hand holds the write lock, does the
calls `inside`, then lets go. Tags give a step's purpose.
"""

from __future__ import annotations

import itertools
import json
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from busproof.oracle.models.spec import Free

LONG = 200
MS_WAITED = ("wait_ms", "timeout_ms")  # parameters that set how long a call waits
SECONDS_WAITED = ("wait_seconds", "timeout_seconds")
ANYWHERE = ("backup", "restore")  # methods that would write to any path of this machine


class Unresolved(Exception):
    """A step refers to a value that was never born in this run."""


@dataclass
class Step:
    """One line of a script. `name` is used by references to it; it stays when other lines go."""

    do: str
    at: int | str = 0
    method: str = ""
    params: dict[str, Any] = field(default_factory=dict)
    name: str = ""
    calls: list[Step] = field(default_factory=list)  # of race and wait, the hand's own last if `inside`
    tags: tuple[str, ...] = ()
    times: int = 1  # of many


def call(at: int | str, method: str, tags: Iterable[str] = (), /, **params: Any) -> Step:
    """A call as a step."""
    return Step("call", at, method, params, tags=tuple(tags))


def changed(free: Any, plus: int = 0, how: str = "") -> dict[str, Any]:
    """A reference to a free value, moved by a number or spoiled (upper, cut, blank, nfd)."""
    reference: dict[str, Any] = {"$": free.name if isinstance(free, Free) else free}
    return reference | ({"plus": plus} if plus else {}) | ({"how": how} if how else {})


_HOW: dict[str, Callable[[str], str]] = {
    "upper": str.upper,
    "cut": lambda text: text[:-1],
    "blank": lambda text: text + " ",
    "nfd": lambda text: unicodedata.normalize("NFD", text),
}


def resolve(value: Any, frees: dict[str, Free]) -> Any:
    """Parameters with values in place of references."""
    if isinstance(value, Free):
        return _value_of(value.name, frees)
    if isinstance(value, dict):
        if "$" in value:
            free = _value_of(value["$"], frees)
            if "plus" in value:
                return free + value["plus"]
            return _HOW[value["how"]](free) if "how" in value else free
        if "$text" in value:
            return "".join(char * times for char, times in value["$text"])
        if "$many" in value:
            return [numbered(resolve(value["of"], frees), n) for n in range(value["$many"])]
        return {key: resolve(member, frees) for key, member in value.items()}
    return [resolve(item, frees) for item in value] if isinstance(value, list) else value


def _value_of(name: str, frees: dict[str, Free]) -> Any:
    free = frees.get(name)
    if free is None or free.value is None:
        raise Unresolved(name)
    return free.value


def copied(value: Any) -> Any:
    """Parameters that can be changed alone. Free values stay: each knows all values that it must differ from."""
    if isinstance(value, dict):
        return {key: copied(member) for key, member in value.items()}
    return [copied(item) for item in value] if isinstance(value, list) else value


def numbered(value: Any, n: int) -> Any:
    """One of many: "#" in its texts is its number."""
    if isinstance(value, dict):
        return {key: numbered(member, n) for key, member in value.items()}
    return value.replace("#", str(n)) if isinstance(value, str) else value


def as_data(value: Any) -> Any:
    """Parameters in the form of a script: free values by name, long runs of one character by their length."""
    if isinstance(value, Free):
        return {"$": value.name}
    if isinstance(value, dict):
        return {key: as_data(member) for key, member in value.items()}
    if isinstance(value, str) and len(value) > LONG:
        runs = [[char, len(list(run))] for char, run in itertools.groupby(value)]
        return {"$text": runs} if len(runs) < LONG else value
    return [as_data(item) for item in value] if isinstance(value, list | tuple) else value


def to_line(step: Step) -> str:
    """A step as its line."""
    return json.dumps(_as_object(step))


def _as_object(step: Step) -> dict[str, Any]:
    line: dict[str, Any] = {"do": step.do}
    if step.name:
        line["name"] = step.name
    if step.do not in ("store", "clock", "pass", "race", "wait") and not step.calls:
        line["at"] = step.at
    if step.method:
        line["method"] = step.method
    if step.do == "call":
        line["params"] = as_data(step.params)
    elif step.params and step.do != "many":
        line |= as_data(step.params)
    if step.calls:
        line["calls"] = [_as_object(c) for c in step.calls]
    if step.do == "many":
        line |= {"times": step.times} if step.calls else {"params": as_data(step.params), "times": step.times}
    if step.tags:
        line["tags"] = list(step.tags)
    return line


def of_object(line: dict[str, Any]) -> Step:
    """The step of a line."""
    known = {"do", "at", "name", "method", "params", "calls", "tags", "times"}
    rest = {key: value for key, value in line.items() if key not in known}
    return Step(
        do=line["do"],
        at=line.get("at", 0),
        method=line.get("method", ""),
        params=line.get("params", rest),
        name=line.get("name", ""),
        calls=[of_object(c) for c in line.get("calls", ())],
        tags=tuple(line.get("tags", ())),
        times=line.get("times", 1),
    )


def load(path: Path) -> list[Step]:
    """The steps of a script's file."""
    return [of_object(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line]


def save(path: Path, steps: Iterable[Step]) -> None:
    """Write a script."""
    path.write_text("".join(to_line(step) + "\n" for step in steps), encoding="utf-8")
