"""`busproof chaos SYSTEM`: kill a bus at the worst moments and see whether it kept its word."""

from __future__ import annotations

import argparse
import importlib
import os
import random
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from buschaos import mend, points, report
from buschaos.acts import ACTS, acts_of
from buschaos.acts.base import Findings
from buschaos.bus import RunFailed
from buschaos.finished import seed_of
from buschaos.limits import NOT_BEGUN, Time
from buschaos.live import Live
from buschaos.operations import Operation
from buschaos.run import Run, Settings, known_words, run
from buschaos.schedules import replayed
from buschaos.state import Problem, by_field
from buschaos.subjects import SUBJECTS
from buschaos.subjects.base import Subject
from busproof.bus.base import DoorError
from busproof.bus.fleet import BusSpecError, reference
from busproof.contract.catalogue import catalogue
from busproof.lock import Taken, alone
from busproof.pages.report.lines import EXIT_CODES, Report
from busproof.words import kit_failed, one_line, reason, say

PROBLEMS_SHOWN = 10
JOBS = min(os.cpu_count() or 1, 4)  # an act keeps about one core busy
_EPILOG = """\
Without a flag that names an act, all acts that the system knows are played (200 kills, 40 of MCP servers); with any of
them, only those. Callers can be told to go where they are an MCP server's (topics).
--quick plays a sample of every act, drawn by the seed, to its end: it decides every row, and tells what the full run
adds. --minutes gives each act an equal part of the time. An act that was cut short, by the time, --stop-after or
Ctrl-C, may find problems, but never shows that there is none.
Exit code: 0 valid, 1 invalid, 2 unknown (could not run, was cut short, or could not be told).

examples:
  busproof chaos worker                                        the reference, all acts, two to three minutes
  busproof chaos worker --bus 'exec:./my-bus' --quick          a sample of each act, in half a minute
  busproof chaos worker --bus 'exec:./my-bus' --stop-after 1   until the first problem
  busproof chaos worker --bus 'exec:./my-bus' --kills 100      100 kills at random moments
  busproof chaos worker --bus 'exec:./my-bus' --kills 100 --calls 5000    a history of a million events
  busproof chaos worker --bus 'exec:./my-bus' --points         every write point of every operation
  busproof chaos worker --only 'publish with blob' --at 7:torn:512   one point again
  busproof chaos worker --only save_blob --against 'another blob' --at 3:hold:2
                                                               one schedule again
  busproof chaos worker --power 1000 --option synchronous=FULL --durability power-loss
  busproof chaos worker --minutes 20 --resume                  the acts, and the power cuts, that the last such run left
  busproof chaos worker --bus 'exec:./a' --bus 'exec:./b'      a mixed fleet on one store
  busproof chaos topics --bus 'mcp:./my-server' --kills 40     agents that come back by their reclaim tokens
  busproof chaos timeline --bus 'nats:exec:./my-bus' --kills 100
                                                               sessions and their NATS server; --power cuts its power
  busproof chaos topics --bus 'mcp:./my-server' --gone         an MCP server whose callers cancel and disconnect
"""


def parser() -> argparse.ArgumentParser:
    """The command line."""
    made = argparse.ArgumentParser(
        prog="busproof chaos", description=__doc__, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument("system", choices=sorted(SUBJECTS), help="the system that the bus implements")
    made.add_argument(
        "--bus",
        action="append",
        metavar="exec:CMD…|mcp:CMD…|nats:exec:CMD…",
        help="the bus; again for a mixed fleet; default: the reference",
    )
    for act in ACTS:
        act.arguments(made)
    made.add_argument("--only", action="append", metavar="OPERATION", help="this operation alone; again for more")
    made.add_argument("--at", type=points.parse, metavar="N:FAULT", help=f"one point: {points.EXAMPLES}")
    made.add_argument("--quick", action="store_true", help="a sample of each act, about half a minute")
    made.add_argument("--minutes", type=float, metavar="N", help="begin nothing new after so many minutes")
    made.add_argument("--stop-after", type=int, metavar="N", help="end when N kinds of problems are found")
    made.add_argument(
        "-j",
        "--jobs",
        type=int,
        default=JOBS,
        metavar="N",
        help="acts, or sessions of power cuts, that are played side by side (default: %(default)s)",
    )
    made.add_argument("--seed", type=int, help="draw the same plan again (default: a new one, which is told)")
    made.add_argument(
        "--out",
        type=Path,
        help="folder for history, plan and evidence (default: busproof-out/chaos; of one point, busproof-out/replay)",
    )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run, report, and return the exit code."""
    args = parser().parse_args(argv)
    importlib.import_module("multiprocess")  # raises here, not in the middle of a run
    if args.script is not None:
        return replayed(args.bus or [reference(args.system)], args.system, args.script)
    settings = _settings(args)
    try:
        with alone(settings.shared.out, "chaos"):
            return _run(settings)
    except (RunFailed, BusSpecError, DoorError, Taken) as error:
        say(f"could not run: {reason(error)}", sys.stderr)
    except Exception as error:
        say(f"busproof: {kit_failed(error)}", sys.stderr)
    return EXIT_CODES["unknown"]


def _run(settings: Settings) -> int:
    """Play, report, and tell; the exit code."""
    with Live(settings.shared.time, settings.stop_after) as live:
        result = run(settings, live)
    if result.is_interrupted:
        say("busproof: interrupted; this is what was known by then", sys.stderr)
    written = report.write(result, settings)
    _tell(result, written, settings)
    return int(written.footer["exit_code"])


def _settings(args: argparse.Namespace) -> Settings:
    """All that the command line says, and what follows from it."""
    seconds = None if args.minutes is None else 60 * args.minutes
    return Settings(
        args.bus or [reference(args.system)],
        _out(args),
        args.system,
        _seed(args),
        operations=args.only and _named(args.only, args.system),
        at=args.at,
        time=Time(seconds, is_sample=args.quick),
        lanes=args.jobs,
        stop_after=args.stop_after,
        **_words(args, SUBJECTS[args.system]),
    )


def _out(args: argparse.Namespace) -> Path:
    """A point that is played again leaves the history of the run that found it, which CI keeps for `audit`."""
    out: Path | None = args.out
    return out or Path("busproof-out") / ("chaos" if args.at is None else "replay")


def _seed(args: argparse.Namespace) -> int:
    """The one that is asked for, or that of the run which goes on, or a new one."""
    seed: int | None = seed_of(_out(args)) if args.seed is None and args.resumes else args.seed
    return random.SystemRandom().randrange(10**6) if seed is None else seed


def _words(args: argparse.Namespace, subject: Subject) -> dict[str, Any]:
    """The words of the acts: what the line says goes before what is usual, or usual for a sample."""
    given = {name: value for name, value in vars(args).items() if value is not None}
    if args.at is not None:  # one point, in the act that has its rows
        holds = {act: act.has(args.at, frozenset(args.only or ()), subject) for act in ACTS}
        given |= {act.flag: has for act, has in holds.items() if has is not None}
    is_whole = args.at is None and not any(act.is_named(given) for act in ACTS)
    chosen = acts_of(args.system, args.bus or ()) if is_whole else [act for act in ACTS if act.is_named(given)]
    usual: dict[str, Any] = {}
    for act in chosen:
        usual |= act.usual(subject) if is_whole else {}
        usual |= act.hurried(given, subject) if args.quick else {}
    words = usual | given
    for act in chosen:
        words |= act.unsaid(words, subject)
    return {name: value for name, value in words.items() if name in known_words()}


def _named(names: Sequence[str], system: str) -> tuple[Operation, ...]:
    of = SUBJECTS[system].repertoire
    every = [*of.operations, *(reader for reader, _ in of.waits)]
    known = dict.fromkeys(operation.name for operation in every)
    if unknown := [name for name in names if name not in known]:
        say(f"there is no operation {unknown[0]!r}: {', '.join(known)}", sys.stderr)
        raise SystemExit(EXIT_CODES["unknown"])
    return tuple(operation for operation in every if operation.name in names)  # of one name, a bus has one


def _tell(result: Run, judged: Report, settings: Settings) -> None:
    shared = settings.shared
    rows = catalogue(shared.system)
    for act in result.acts:
        if (act.cut_short or "").startswith(NOT_BEGUN):
            say(f"\n{act.name}: {one_line(act.cut_short)}\n  again: {report.again(settings, act.name)}")
            continue
        counted = ", ".join(f"{count:,} {what}" for what, count in act.counts.items()) or "nothing done"
        counted += f", in {act.seconds:,.0f} s"
        say(f"\n{act.name}: {one_line(act.could_not_run or counted)}")
        for note in act.notes:
            say(f"  {one_line(note)}")
        _tell_problems(act, settings)
        if adds := ", ".join(f"{count:,} {what}" for what, count in act.spared.items() if count > 0):
            say(f"  the full run adds {adds}")
        if act.cut_short:
            say(f"  ? cut short: {one_line(act.cut_short)}")
        for text in act.undecided:
            say(f"  ? {one_line(text)}")
        for row in judged.rows:
            if row["check"] == act.name:
                say(f"  {row['outcome']:14} {row['requirement']:18} {rows[row['requirement']].text}")
        say(f"  again: {report.again(settings, act.name)}")
    who = one_line(f"{result.hello.name} {result.hello.version}")
    say(f"\n{judged.verdict.upper()}  {who} as a {shared.system} bus under chaos{report.in_part(settings)}")
    undecided = sum(row["outcome"] == "inconclusive" for row in judged.rows)
    if undecided and shared.time.is_limited:
        unlimited = report.unhurried(settings)
        say(f"{undecided} of {len(judged.rows)} rows were not decided in this time. Without a limit: {unlimited}")
        say("The same command with --resume plays the acts that are left.")
    if shared.time.is_sample:
        say(f"A sample decides less than all. The full run: {report.unhurried(settings)}")
    say(f"Report: {shared.out / 'report.html'}")
    if result.history is not None:
        say(f"History: {result.history}\nNext: busproof audit {shlex.quote(str(result.history))}")


def _tell_problems(act: Findings, settings: Settings) -> None:
    """Tell a problem once, even if it shows at many points or with other numbers."""
    alike: dict[tuple[str, str], list[tuple[Problem, Path]]] = {}
    for problem, history in act.problems:
        alike.setdefault(problem.kind, []).append((problem, history))
    for group in list(alike.values())[:PROBLEMS_SHOWN]:
        problem, history = min(group, key=lambda pair: pair[0].is_by_luck)  # one that shows again
        why, *fields = by_field(problem.why)
        say(f"  {'~' if problem.is_dialect else '✗'} {problem.noun}: {one_line(why)}")
        for changed in fields:
            say(f"      {one_line(changed)}")
        if len(group) > 1 or problem.point:
            times = [f"{len(group)} times, this one first"] if len(group) > 1 else []
            say(f"    {': '.join([*times, problem.point]) if problem.point else times[0]}")
        if mends := mend.usually(problem, act.name):
            say(f"    usually mended so: {mends}")
        say(f"    replay: {report.replay(settings, problem.again, act.name)}")
        say(f"    evidence: {history}")
    if len(alike) > PROBLEMS_SHOWN:
        say(f"  … and {len(alike) - PROBLEMS_SHOWN} more kinds")


if __name__ == "__main__":
    sys.exit(main())
