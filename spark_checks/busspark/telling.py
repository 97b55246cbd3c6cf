"""Verdicts in prose, with the events of their first witnesses, and as JSON."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from busproof.contract.history import Event, scan
from busproof.oddities.examine import Findings
from busproof.oracle.checks import Verdict, Witness
from busproof.oracle.checks.facts import About
from busproof.words import one_line, say
from busspark.compact import Run, runs_of
from busspark.hosts import compared, side_by_side

SHOWN = 3  # witnesses of a check
RUNS_SHOWN = 20
WRITTEN = 100  # of a kind
_TEXTS = ("system", "run", "check", "kind", "why")
VIOLATIONS = pa.schema(
    [*((name, pa.string()) for name in _TEXTS), ("a", pa.int64()), ("b", pa.int64()), ("events", pa.list_(pa.int64()))]
)


def tell(judged: dict[Run, list[Verdict]], folder: str) -> bool:
    """Print everything worth a line; True if events were shown."""
    has_events = False
    bad = [run for run, verdicts in judged.items() if any(verdict.verdict == "invalid" for verdict in verdicts)]
    runs = bad or list(judged)
    for system, run in runs[:RUNS_SHOWN]:
        if len(judged) > 1:
            say(f"run {one_line(run)} of {system}")
        verdicts = judged[system, run]
        wanted = {index for verdict in verdicts for witness in verdict.witnesses[:SHOWN] for index in witness.events}
        events = _events(runs_of(Path(folder), system)[run], wanted) if wanted and folder else {}
        has_events = has_events or bool(events)
        for verdict in verdicts:
            _tell_one(verdict, events)
    if len(judged) > 1:
        print(f"{len(judged)} runs, {len(bad)} of them invalid" + (", the first are above" if bad else ""))
    return has_events


def tell_verdict(verdict: Verdict) -> None:
    """Print a verdict in one line."""
    reason = f": {verdict.reason}" if verdict.reason else ""
    say(f"{verdict.verdict:<8} {verdict.check:<18} {verdict.counted} operations{one_line(reason)}")


def not_judged(verdicts: list[Verdict]) -> str:
    """The checks of which no history had anything to look at: no verdict speaks of them."""
    looked = {verdict.check for verdict in verdicts if verdict.counted}
    names = dict.fromkeys(verdict.check for verdict in verdicts if verdict.check not in looked)
    return f" (not judged: {', '.join(names)})" if names else ""


def _tell_one(verdict: Verdict, events: dict[int, Event]) -> None:
    tell_verdict(verdict)
    for witness in verdict.witnesses[:SHOWN]:
        _tell_witness(witness, events)
    if len(verdict.witnesses) > SHOWN:
        counts = Counter(witness.kind for witness in verdict.witnesses)
        print("    in all " + ", ".join(f"{count} {kind}" for kind, count in counts.most_common()))


def tell_new(new: list[tuple[str, Witness]], about: About) -> None:
    """Print the findings of checks since they were last asked, each kind's first few with their events."""
    shown = list(_first([witness for _, witness in new], SHOWN))
    events = _events(about, {index for witness in shown for index in witness.events}) if shown else {}
    for witness in shown:
        _tell_witness(witness, events)
    if len(new) > len(shown):
        print(f"    and {len(new) - len(shown)} more", flush=True)


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
    by_index: dict[int, Event] = {}
    for event in side_by_side(streams, compared(parts)):
        if event.index in wanted:
            by_index[event.index] = event
            if len(by_index) == len(wanted):
                break
    return by_index


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
    odd = [{"place": str(s.place), "said": s.said, "odd": s.odd, "notes": s.notes} for s in states]
    report = {"paths": paths, "verdict": verdict, "runs": runs, "states": odd}
    path.write_text(json.dumps(report, indent=2) + "\n", encoding="utf-8")


def write_violations(path: Path, judged: dict[Run, list[Verdict]]) -> None:
    """All of them as rows of Parquet, one row group per check: a fleet's are for a query, not for eyes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, VIOLATIONS, compression="zstd") as into:
        for (system, run), verdicts in judged.items():
            for verdict in verdicts:
                rows = [(system, run, verdict.check, w.kind, w.why, w.a, w.b, w.events) for w in verdict.witnesses]
                if rows:
                    columns = dict(zip(VIOLATIONS.names, zip(*rows, strict=True), strict=True))
                    into.write_table(pa.table(columns, VIOLATIONS))
