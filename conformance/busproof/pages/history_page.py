"""docs/history.md, and the JSON Schema of a line: generated from the struct, the contracts and the templates."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from typing import Any

import msgspec

from busproof import evidence
from busproof.contract import CONTRACTS
from busproof.contract.history import Event, left_out

LOGGERS = {"Python": "logger.py", "Node": "logger.mjs", "Perl": "logger.pl"}
_MEANS = {
    "index": "the number of the line, from 0, in each file",
    "run": "the name of the run; every run has a name of its own",
    "system": f"one of {', '.join(CONTRACTS)}",
    "process": "a number of the caller: a process has one call open at a time. -1 for what nobody called",
    "type": "see below",
    "op": "the method: every event of a call, and every row of a state, names it",
    "agent": "the agent that calls",
    "wall_ms": "the time of day, in ms since 1970",
    "mono_ns": "a clock that never goes back, in ns. Files of one run and one host are merged by it",
    "value": "of an invoke its parameters, of an ok the answer, of a fail or info the error",
    "host": "of the header: the name of the host whose clock `mono_ns` is, in a run of several hosts",
    "key": "of a state: the list that the row is of. Else the message, task or worker that the call is about",
    "code": "of a fail or info: the bus's code of the error",
    "bus_ms": "the time that the bus was told, if its clock was set; left out if the bus goes by the time of day",
}
_MUST = ("index", "run", "system", "process", "type", "op", "agent", "wall_ms", "mono_ns", "value")
_TEXT = """<!-- Generated: python -m busproof.pages.history_page -->
# The format of a history

This page is for a person who wants to hand a log of their own bus to `busproof audit`. A history is what the callers
of a bus asked for and what they were answered, in the order in which that happened. The bus writes nothing into it.

A history is a file of JSON Lines, `.jsonl`, which may be packed (`.jsonl.gz`, `.jsonl.zst`). A run may be several
files that were recorded side by side; a process calls in one of the files only.

    busproof init worker logger-python .       writes a logger to copy; also logger-node and logger-perl
    busproof audit --validate history.jsonl    names each line that is not as this page says, and what it lacks
    busproof audit history.jsonl               judges the bus

`busproof schema --history` prints a JSON Schema of one line.

## Columns

A line needs these columns. `op` and `agent` may be null where the line is about no call.

@MUST@

These columns are there when they apply.

@MORE@

Every other column repeats what stands in `value`, and may be left out:

@PLACES@

A member that no column of this page names is left alone.

## Types

- `header` is the first line. Its value is an object, which may be empty. With `options`, an object of the options
  that every session was opened with, the lengths of leases are judged, too.
- `invoke` is a call as it is sent. It is written *before* the bus can see the call.
- `ok` is the answer to the open call of this process, written *after* the answer came.
- `fail` ends a call that certainly did not happen: the bus refused it.
- `info` ends a call of which nobody knows whether it happened: a time-out, a lost connection, a kill. The call may
  still happen later, so the process number is not used again. If in doubt, write `info`, never `fail`.
- `state` is one row of the bus's final state (below).
- `footer` is the last line: `{"events": lines before it, "states": lines of type state before it}`. A file without a
  footer was cut, and its verdict cannot be VALID.

The members of `value` are those of the adapter protocol: [the methods of each system](protocol.md). A call that the
protocol does not know may stand in a history, and nothing judges it.

## The final state

A loss, a doubling and a message of nobody are judged by the final state, so read the store when everybody has
stopped, and write it as a call of `dump`: an `invoke`, an `ok` whose value is `{"rows": {"messages": 2}}` with the
number of rows of each list, and right after it a line of type `state` for each row, whose `key` is the name of the
list and whose `value` is the row. The lists and their columns are the tables of [the wire](protocol.md) of the
system. Without a final state, the audit judges what readers were shown.

## Several hosts

The lines of each host stand in files of their own, whose headers name the `host`. Files without one are of one host.
Clocks of two hosts are never compared: one may have been booted hours before the other. A message is shown after its
sending began, so messages that go both ways, directly or by way of a third host, tell how the clocks stand, within the
shortest time that a message took each way, and 100 µs more for each second of the run, since clocks drift. The audit
tells what it has found:

    clocks ahead of that of a: b 10,800.000050 s ± 0.000140 s (calls that are nearer count as overlapping)

Of two calls that overlap, any order is right; so what nobody can order is never a fault of the bus. The time of day by
which a lease ends is known no better than the hosts agree on it. If no messages went both ways, or if no position of
the clocks explains the messages (a clock jumped), the verdict is UNKNOWN.

## What the audit makes of a bad file

A line that is missing, doubled, cut or out of order, rows that a state counts and that do not come, a second header,
a packed file that ends too early, and a message that was shown before its sending began (files of several hosts that
do not say so) are faults of the file: the verdict is UNKNOWN, with the line. None of those is told as a fault of the
bus.

## Loggers

Each of these programs writes a history of two calls.
"""


def schema() -> dict[str, Any]:
    """The JSON Schema of one line."""
    _, components = msgspec.json.schema_components([Event])
    event: dict[str, Any] = components["Event"]
    for name, means in _MEANS.items():
        event["properties"][name]["description"] = means
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **event}


def text() -> str:
    """The page."""
    more = [name for name in _MEANS if name not in _MUST]
    page = _TEXT.replace("@MUST@", _table(_MUST)).replace("@MORE@", _table(more)).replace("@PLACES@", _places())
    return page + "".join(f"\n{name}:\n\n```\n{logger(file)}```\n" for name, file in LOGGERS.items())


def logger(file: str) -> str:
    """A template."""
    return resources.files("busproof").joinpath("templates", f"{file}.txt").read_text(encoding="utf-8")


def _table(columns: Iterable[str]) -> str:
    return "\n".join(["| column | meaning |", "|---|---|", *(f"| `{name}` | {_MEANS[name]} |" for name in columns)])


def _places() -> str:
    """Where the value of a column stands."""
    lines = ["| system | method | column | place in `value` |", "|---|---|---|---|"]
    for system, contract in CONTRACTS.items():
        for (type_, op), names in left_out(contract).items():
            places = contract.columns.get(op, {})
            of_columns = [(name, _place(places[name], type_)) for name in names if name in places]
            lines += [f"| `{system}` | `{op}`, {type_} | `{name}` | `{place}` |" for name, place in of_columns]
    return "\n".join(lines)


def _place(paths: Iterable[str], type_: str) -> str:
    start = {"invoke": "params.", "ok": "reply."}[type_]
    return "`, `".join(path.removeprefix(start) for path in paths if path.startswith(start))


if __name__ == "__main__":
    (evidence.FOLDER.parents[1] / "docs" / "history.md").write_text(text(), encoding="utf-8")
