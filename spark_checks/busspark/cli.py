"""`busproof audit HISTORY`: verify a recorded history, with Spark or in Python."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from busproof.checks import Verdict, judge_facts, overall
from busproof.history import Event, HistoryError, scan
from busproof.systems import SYSTEMS
from busproof.systems import run_checks as run_in_python
from busproof.words import one_line, say
from busspark.errors import EngineError

EXIT_CODES = {"valid": 0, "invalid": 1, "unknown": 2}
SHOWN = 3
SHORT_BYTES = 100_000_000


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 valid, 1 invalid, 2 unknown, not a history, or an engine that could not judge it."""
    args = _parser().parse_args(argv)
    history: Path = args.history
    if not history.exists():
        _say(f"busproof: there is no {history}; `busproof chaos worker --out DIR` records one")
        return 2
    try:
        by_engine = _judge(args)
    except (HistoryError, EngineError, OSError) as error:
        _say(f"busproof: {error}")
        return 2
    except MemoryError:
        _say("busproof: this history is too big for the memory of the Python engine; --engine spark needs less")
        return 2
    verdicts = next(iter(by_engine.values()))
    verdict = overall(verdicts)
    _tell(history, verdicts)
    if len(by_engine) == 2:
        one, other = by_engine.values()
        if one != other:
            print("The engines DISAGREE: a fault of busproof. Please report it with this history.")
            return 2
        print("Spark and Python agree: the same verdicts, the same witnesses.")
    if args.out:
        _write(args.out, history, verdict, verdicts)
    print(f"{verdict.upper()}  {history}")
    if verdict == "invalid":
        print(f"Next: look at the events above in {history}; the plan of the run stands in its first line.")
    return EXIT_CODES[verdict]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="busproof audit", description=__doc__)
    parser.add_argument("history", type=Path, help="history.jsonl, or a folder of Parquet streams")
    parser.add_argument("--engine", choices=("spark", "python", "both"), default="spark")
    parser.add_argument("--convert", type=Path, metavar="DIR", help="also write the history as Parquet streams")
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the verdicts as JSON")
    return parser


def _judge(args: argparse.Namespace) -> dict[str, list[Verdict]]:
    by_engine: dict[str, list[Verdict]] = {}
    system = _system(args.history)  # before a JVM is started for nothing
    if args.engine in ("python", "both"):
        started = time.monotonic()
        by_engine["python"] = _in_python(args.history)
        _say(f"python: all checks in {time.monotonic() - started:.1f} s")
    if args.engine in ("spark", "both") or args.convert:
        by_engine["spark"] = _in_spark(args, system)
    return by_engine


def _in_python(history: Path) -> list[Verdict]:
    if history.is_dir():
        from busspark.frames import facts_from_parquet

        return judge_facts(facts_from_parquet(history), SYSTEMS[_system(history)].checks)
    return run_in_python(scan(history))


def _in_spark(args: argparse.Namespace, system: str) -> list[Verdict]:
    from busspark.checks import run_checks
    from busspark.extract import read
    from busspark.session import spark_session, stopped, told_in_a_sentence

    started = time.monotonic()
    _say("spark: starting a JVM, which takes some seconds")
    with told_in_a_sentence(), stopped(spark_session(is_short=_bytes(args.history) < SHORT_BYTES)) as spark:
        frames, damage = read(spark, args.history, system)
        if args.convert and damage:
            _say(f"spark: a damaged history is not converted: {damage}")
        elif args.convert:
            frames.write(args.convert)
            _say(f"spark: wrote {args.convert}")
            frames, damage = read(spark, args.convert, system)
        verdicts = run_checks(frames, damage, lambda name: _say(f"spark: {name} …"))
        _say(f"spark: all checks in {time.monotonic() - started:.1f} s, start included")
    return verdicts


def _system(history: Path) -> str:
    """A folder of streams tells by its name, a history by its first line."""
    if history.is_dir():
        from busspark.frames import system_of

        system = system_of(history)
        if system not in SYSTEMS:
            raise HistoryError(f"{history} is a folder without the Parquet streams of a history")
        return system
    first = next(scan(history), None)
    if not isinstance(first, Event) or first.system not in SYSTEMS:
        raise HistoryError(f"{history} is no history: its first line tells no known system")
    return first.system


def _bytes(history: Path) -> int:
    files = history.rglob("*.parquet") if history.is_dir() else [history]
    # Parquet holds about ten times as much in a byte as JSON Lines.
    return sum(file.stat().st_size for file in files) * (10 if history.is_dir() else 1)


def _tell(history: Path, verdicts: list[Verdict]) -> None:
    wanted = {index for v in verdicts for w in v.witnesses[:SHOWN] for index in w.events}
    events = _events(history, wanted) if wanted and history.is_file() else {}
    for verdict in verdicts:
        reason = f": {verdict.reason}" if verdict.reason else ""
        say(f"{verdict.verdict:<8} {verdict.check:<18} {verdict.counted} operations{one_line(reason)}")
        for witness in verdict.witnesses[:SHOWN]:
            say(f"    {witness.kind}: {one_line(witness.why)}")
            for index in witness.events:
                say(f"      {_line(index, events.get(index))}")
        if len(verdict.witnesses) > SHOWN:
            print(f"    … and {len(verdict.witnesses) - SHOWN} more")


def _events(history: Path, wanted: set[int]) -> dict[int, Event]:
    lines = (line for line in scan(history) if isinstance(line, Event))
    return {event.index: event for event in lines if event.index in wanted}


def _line(index: int, event: Event | None) -> str:
    if event is None:
        return f"event {index}"
    value = json.dumps(event.value)
    who = event.agent or f"process {event.process}"
    return one_line(f"event {index}: {who} {event.op} {event.type} {value[:200]}")


def _write(path: Path, history: Path, verdict: str, verdicts: list[Verdict]) -> None:
    data = {
        "history": str(history),
        "verdict": verdict,
        "checks": [
            {
                "check": v.check,
                "verdict": v.verdict,
                "counted": v.counted,
                "reason": v.reason,
                "witnesses": [{"kind": w.kind, "why": w.why, "events": w.events} for w in v.witnesses],
            }
            for v in verdicts
        ],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(data, indent=2) + "\n", encoding="utf-8")


def _say(text: str) -> None:
    say(text, sys.stderr)
