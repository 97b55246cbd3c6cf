"""A short session, line by line, as it really goes over the wire: the reference is started, and overheard."""

from __future__ import annotations

import contextlib
import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any

from busproof.bus.base import Refused
from busproof.bus.child import Child
from busproof.bus.doors import open_door
from busproof.bus.fleet import reference
from busproof.contract import CONTRACTS

CALLS_MAX = 7
LINE_CHARS_MAX = 1_500
NOW_MS = 1_768_053_600_000
# Values that differ in each run, as a reader should see them.
_OWN = (
    (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "5f0c9a52-3f0e-4f2b-9f3e-0d6a2b1c7e55"),
    (r"\b[0-9a-f]{64}\b", "9f86d081884c7d65…"),
    (r'(topic_id(?:": "|=))[0-9a-f]+', r"\g<1>15beec58fb"),
    (r'("created_at": )[\d.]+', r"\g<1>1768053600.123"),
)


class Tape:
    """The words of either side."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def spawn(self, argv: Sequence[str], /, *, env: Mapping[str, str] | None = None) -> Child:
        """A process that is overheard."""
        tape = self

        class Overheard(Child):
            def write_line(self, line: bytes, timeout_s: float = 30.0) -> None:
                tape.lines.append(f"→ {line.decode()}")
                super().write_line(line, timeout_s)

            def read_line(self, waiting_for: str, timeout_s: float = 30.0) -> bytes:
                line = super().read_line(waiting_for, timeout_s)
                tape.lines.append(f"← {line.decode().rstrip()}")
                return line

        return Overheard(argv, env=env)


def of(system: str) -> list[str]:
    """Requests (→) and answers (←) of a first session on a new store."""
    contract, tape = CONTRACTS[system], Tape()
    with tempfile.TemporaryDirectory() as store, contextlib.closing(open_door(reference(system), tape.spawn)) as door:
        door.get_ready(system)
        door.call("open", {"store": store, "options": {}})
        if contract.server is not None:
            door.call("tools.list", {})
        if contract.scheme == "exec":
            door.call("clock.set", {"now_ms": NOW_MS})
        core = [name for name in contract.trials if contract.methods[name].feature is None]
        made: dict[str, Any] = {}  # a later call is about things that an earlier one made
        for name in core[:CALLS_MAX]:
            params = {key: made.get(key, value) for key, value in contract.trials[name].items()}
            with contextlib.suppress(Refused):
                reply = door.call(name, params)
                made |= {key: value for key, value in reply.items() if key.endswith("_id")}
        with contextlib.suppress(Refused):
            door.call("no_such_method", {})
        door.call("close", {})
        lines = [_with_few_tools(line) for line in tape.lines]
        return [_told(line, store) for line in lines if len(line) < LINE_CHARS_MAX]


def _with_few_tools(line: str) -> str:
    """A list of tools with one of them whole, but for the schema of its output, and the names of the others."""
    if '"inputSchema"' not in line:
        return line
    answer = json.loads(line.removeprefix("← "))
    tools = answer["result"]["tools"]
    shown = min((t for t in tools if t["inputSchema"]["required"]), key=lambda t: len(str(t["inputSchema"])))
    others = [f'{{"name": "{tool["name"]}", …}}' for tool in tools if tool is not shown]
    whole = json.dumps({**shown, "outputSchema": "SCHEMA"}).replace('"SCHEMA"', "{…}")
    answer["result"]["tools"] = "TOOLS"
    return "← " + json.dumps(answer).replace('"TOOLS"', f"[{', '.join([whole, *others])}]")


def _told(line: str, store: str) -> str:
    line = line.replace(store, "/path/to/store")
    for pattern, as_told in _OWN:
        line = re.sub(pattern, as_told, line)
    return line
