"""`python conformance/measure/valid.py`: docs/valid.md, the worth of a verdict, from the data beside it.

Coverage comes from docs/corpus, the kill matrix from docs/mutants, the mutation score from docs/mutation, blind trials
from docs/blind/trial-N.jsonl (a line for each fault: `fault`, `system`, `trial`, `caught_by`, null if nothing did,
`judged`).
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import page

from busproof.contract.catalogue import catalogue

DOCS = Path(__file__).parents[2] / "docs"
SYSTEMS = ("worker", "comms", "relay", "timeline", "topics")

HEAD = """# What VALID means, and what it does not

Written by `python conformance/measure/valid.py` from the data that the links lead to.

`busproof check` says VALID when no MUST of the system's catalogue failed on the bus, of all that the bus declares. It
has then done four things: played every script of the [corpus](corpus) and held each whole answer against the
[executable model](../conformance/busproof/models) of the system; searched for a difference with random programs and
any values; played scenarios, which need a file, a lock or a second process; and recorded a concurrent workload, whose
history the checks read. VALID is not a proof. What it is worth is how many faulty buses it refuses, so that is
measured, in four ways.
"""

MEANS = """
- *Branches, edges, pairs*: of the model, reached by the corpus. A branch that no script takes could not be wrong in a
  way that shows. All branches are not all combinations: a fault that needs two conditions at once can hide where each
  is met alone. *Meetings* count a method, its outcome and two conditions that held; *recalls* a call, one of another
  process that changed what it does, and the same call again. How many of both there can be is not known.
- *Broken buses*: ours, one deliberate fault each, written with the row in mind. They show that a row can fail. They say
  nothing about faults that nobody thought of.
- *Mutants of a tool*: faults that nobody chose, in code and in SQL, [one by one](mutation/README.md), with each
  survivor. One that breaks only what the specification leaves open is counted as caught: it is reported as a dialect.
- *Blind trials*: faults that a person or a model wrote from the seeds and the reference, without a look at the kit.

## What VALID needs

Every MUST of what the bus declares has to be decided: a row that could not run makes the verdict UNKNOWN.

- **A clock that the kit can set.** Leases, liveness, TTLs and back-off are judged at the exact millisecond, and the
  search of `worker` and `comms` plays hours in seconds. An adapter that answers `clock.set` says `clock: manual`. For a
  program that cannot be told the time, `busproof check worker --clock faketime --bus 'exec:CMD…'` sets it from outside,
  by libfaketime, each session for itself (`pip install 'busproof[faketime]'`, Linux). That reaches every program that
  asks its C library for the time (tried with Python, Node, Perl and C). A static binary and a Go program ask the kernel
  themselves; each bus is tried out before the first row, and refused instead of blamed. A server behind a socket keeps
  its own time: only the adapter and what it starts are under this clock. The monotonic clock and the times of files
  stay real. The time stands still between two calls, so a bus that waits *by the time of day* waits for ever.
- **Answers that the model can follow.** Where the specification leaves a choice, any is followed, told as a dialect.
- **The files, for some rows.** Rows that damage or read the store's files need the feature `sqlite`; without it they
  are not applicable, and VALID does without them.
- **Nothing else.** What needs a kill, a full disk or a second machine is not part of `check`.

## What VALID does not say

- **Nothing about what is not declared.** A bus that declares no search is not asked to search; the report counts rows
  that were not applicable.
- **Nothing about crashes.** Kills, full disks and power cuts are `busproof chaos`, another run: what each does is in
  [chaos](chaos.md). A bus can be VALID here and lose messages there.
- **Not every schedule.** Check-then-act is raced by holding the write lock, where a bus has that lock in an SQLite
  file. A race that may go in more than 300 orders is not judged, and counted. Random schedules come from the workload.
- **Not every size.** The corpus goes to 2,500 messages, 300 agents, 1,100 expired ones and 1,100 topics; not further.
- **Nothing about speed.** No bound on time is an upper one. What must wait is held to a lower bound.
- **A dialect is no failure.** Where a seed is silent, another choice than the reference's is reported and followed.
- **No malice.** A bus that recognises the kit can pass. Secrets of one agent are searched for in everything that
  another one is shown; that finds a leak, not a bus that hides one.
"""

REACHED = ("branches", "edges", "pairs", "meetings", "recalls")


def text() -> str:
    """The page."""
    head = ("", *SYSTEMS)
    lines = [HEAD, "| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    columns = [_figures(system) for system in SYSTEMS]
    for name in columns[0]:
        lines.append(f"| {name} | " + " | ".join(column[name] for column in columns) + " |")
    kernel = page.figures("kernel")
    if kernel["judged"]:
        lines += ["", f"Mutants of the reference's kernel, which all systems share: {_score(kernel)}."]
    return "\n".join(lines) + "\n" + MEANS


def _figures(system: str) -> dict[str, str]:
    rows = catalogue(system).values()
    musts = sum(row.level == "MUST" and row.check is not None for row in rows)
    told = {
        "rows, checked of all": f"{sum(row.check is not None for row in rows)} of {len(rows)}, {musts} of them MUST",
        **{f"{one} of the model": _covered(system, one) for one in REACHED},
        "broken buses killed, and rows that kill": _matrix(system),
        "mutants of a tool caught": _score(page.figures(system)),
        "of those in SQL": _score(page.figures(system, is_sql=True)),
        "blind trials caught": _blind(system),
    }
    return {name: one or "not measured yet" for name, one in told.items()}


def _covered(system: str, what: str) -> str:
    path = DOCS / "corpus" / f"{system}.md"
    found = re.search(rf"(?m)^- {what}: (.*)$", path.read_text(encoding="utf-8")) if path.exists() else None
    return f"[{found[1]}](corpus/{system}.md)" if found else ""


def _matrix(system: str) -> str:
    lines = read(DOCS / "mutants" / f"{system}.jsonl")
    killed = sum(line["chaos"] or set(line["named"]) <= line["killed_by"].keys() for line in lines)
    kills = {row for line in lines for row in (line["named"] if line["chaos"] else line["killed_by"])}
    checked = {row.id for row in catalogue(system).values() if row.check}
    cell = f"{killed} of {len(lines)}; {len(kills & checked)} of {len(checked)}"
    return f"[{cell}](mutants/{system}.md)" if lines else ""


def _score(got: dict[str, int]) -> str:
    counted = got["caught"] + got["chaos"] + got["open"]
    if not counted:
        return ""
    return (
        f"{got['caught']} of {counted} ({100 * got['caught'] / counted:.1f} %), {got['equivalent']} more are equivalent"
    )


def _blind(system: str) -> str:
    trials: dict[str, list[bool]] = {}
    unjudged: Counter[str] = Counter()
    for path in sorted((DOCS / "blind").glob("trial-*.jsonl")):
        for line in read(path):
            if line.get("system") == system:
                name = str(line.get("trial", path.stem))
                trials.setdefault(name, []).append(bool(line.get("caught_by")))
                unjudged[name] += not line.get("judged", True)
    return "; ".join(
        f"{sum(caught)} of {len(caught)} (trial {name}{f', {unjudged[name]} not judged' if unjudged[name] else ''})"
        for name, caught in trials.items()
    )


def read(path: Path) -> list[dict[str, Any]]:
    """The objects of a JSON Lines file; none if there is no file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


if __name__ == "__main__":
    (DOCS / "valid.md").write_text(text(), encoding="utf-8")
