"""Verdicts in prose, with the events of their first witnesses, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from busproof.contract.history import Event, merged, scan
from busproof.oddities.examine import Findings
from busproof.oracle.checks import Verdict, Witness
from busproof.oracle.checks.facts import About
from busproof.words import one_line, say
from busspark.compact import runs_of
from busspark.twin import Run

SHOWN = 3  # witnesses of a check
RUNS_SHOWN = 20
WRITTEN = 100  # of a kind
_TEXTS = ("system", "run", "check", "kind", "why")
VIOLATIONS = pa.schema(
    [*((name, pa.string()) for name in _TEXTS), ("a", pa.int64()), ("b", pa.int64()), ("events", pa.list_(pa.int64()))]
)


def tell(judged: dict[Run, list[Verdict]], folder: str) -> bool:
    """Print everything worth a line; True if events were shown."""
    found = False
    bad = [run for run, verdicts in judged.items() if any(one.verdict == "invalid" for one in verdicts)]
    told = bad or list(judged)
    for system, run in told[:RUNS_SHOWN]:
        if len(judged) > 1:
            say(f"run {one_line(run)} of {system}")
        verdicts = judged[system, run]
        wanted = {index for one in verdicts for witness in one.witnesses[:SHOWN] for index in witness.events}
        events = _events(runs_of(Path(folder), system)[run], wanted) if wanted and folder else {}
        found = found or bool(events)
        for one in verdicts:
            _tell_one(one, events)
    if len(judged) > 1:
        print(f"{len(judged)} runs, {len(bad)} of them invalid" + (", the first are above" if bad else ""))
    return found


def tell_verdict(one: Verdict) -> None:
    """Print a verdict in one line."""
    reason = f": {one.reason}" if one.reason else ""
    say(f"{one.verdict:<8} {one.check:<18} {one.counted} operations{one_line(reason)}")


def not_judged(verdicts: list[Verdict]) -> str:
    """The checks of which no history had anything to look at: no verdict speaks of them."""
    looked = {one.check for one in verdicts if one.counted}
    names = dict.fromkeys(one.check for one in verdicts if one.check not in looked)
    return f" (not judged: {', '.join(names)})" if names else ""


def _tell_one(one: Verdict, events: dict[int, Event]) -> None:
    tell_verdict(one)
    for witness in one.witnesses[:SHOWN]:
        _tell_witness(witness, events)
    if len(one.witnesses) > SHOWN:
        counts = Counter(witness.kind for witness in one.witnesses)
        print("    in all " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common()))


def tell_new(found: list[tuple[str, Witness]], about: About) -> None:
    """Print the findings of checks since they were last asked, each kind's first few with their events."""
    shown = list(_first([witness for _, witness in found], SHOWN))
    events = _events(about, {index for witness in shown for index in witness.events}) if shown else {}
    for witness in shown:
        _tell_witness(witness, events)
    if len(found) > len(shown):
        print(f"    and {len(found) - len(shown)} more", flush=True)


def _tell_witness(witness: Witness, events: dict[int, Event]) -> None:
    say(f"    {witness.kind}: {one_line(witness.why)}")
    for index in witness.events:
        say(f"      {_line(index, events.get(index))}")


def _events(about: About, wanted: set[int]) -> dict[int, Event]:
    """The wanted events, out of the files that the run was taken from, if they are still there."""
    parts = [Path(part) for part in json.loads(about.source or "[]")]
    if not parts or not all(part.exists() for part in parts):
        return {}
    streams = [(line for line in scan(part) if isinstance(line, Event)) for part in parts]
    events = streams[0] if len(streams) == 1 else merged(streams)
    found: dict[int, Event] = {}
    for event in events:
        if event.index in wanted:
            found[event.index] = event
            if len(found) == len(wanted):
                break
    return found


def _line(index: int, event: Event | None) -> str:
    if event is None:
        return f"event {index}"
    value = json.dumps(event.value)
    who = event.agent or f"process {event.process}"
    return one_line(f"event {index}: {who} {event.op} {event.type} {value[:200]}")


def _first(witnesses: list[Witness], most: int = WRITTEN) -> Iterator[Witness]:
    """Some of each kind: a broken bus has millions."""
    seen: Counter[str] = Counter()
    for witness in witnesses:
        seen[witness.kind] += 1
        if seen[witness.kind] <= most:
            yield witness


def write(path: Path, paths: list[str], verdict: str, judged: dict[Run, list[Verdict]], states: list[Findings]) -> None:
    """Write as JSON every verdict and count, the first witnesses of each kind, and the oddities of states."""
    runs = [
        {
            "system": system,
            "run": run,
            "checks": [
                {
                    "check": v.check,
                    "verdict": v.verdict,
                    "counted": v.counted,
                    "reason": v.reason,
                    "violations": Counter(w.kind for w in v.witnesses),
                    "witnesses": [{"kind": w.kind, "why": w.why, "events": w.events} for w in _first(v.witnesses)],
                }
                for v in verdicts
            ],
        }
        for (system, run), verdicts in judged.items()
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    odd = [{"place": str(one.place), "said": one.said, "odd": one.odd, "notes": one.notes} for one in states]
    told = {"paths": paths, "verdict": verdict, "runs": runs, "states": odd}
    path.write_text(json.dumps(told, indent=2) + "\n", encoding="utf-8")


def write_violations(path: Path, judged: dict[Run, list[Verdict]]) -> None:
    """All of them as rows of Parquet, one row group per check: a fleet's are for a query, not for eyes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, VIOLATIONS, compression="zstd") as into:
        for (system, run), verdicts in judged.items():
            for one in verdicts:
                rows = [(system, run, one.check, w.kind, w.why, w.a, w.b, w.events) for w in one.witnesses]
                if rows:
                    columns = dict(zip(VIOLATIONS.names, zip(*rows, strict=True), strict=True))
                    into.write_table(pa.table(columns, VIOLATIONS))
