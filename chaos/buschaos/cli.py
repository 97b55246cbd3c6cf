"""`busproof chaos SYSTEM`: kill a bus at the worst moments and see whether it kept its word."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import random
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from buschaos import diskfull, points, report
from buschaos.bus import RunFailed
from buschaos.crashpoints import in_the_middle
from buschaos.holds import CROSSED, CROSSED_OF_SLOW_STARTERS, TWICE_OF_PAIR, TWICE_OF_SLOW_STARTERS
from buschaos.limits import Time
from buschaos.live import Live
from buschaos.nemeses.syscalls import Fail, Others, Short
from buschaos.operations import Operation
from buschaos.plan import CALLS_PER_KILL, CALLS_PER_KILL_SLOW
from buschaos.power import DEATHS, DEATHS_OF_SLOW_STARTERS
from buschaos.run import ERRORS, SHORT, Act, Run, Settings, acts_of, run
from buschaos.schedules import PROGRAMS, replayed
from buschaos.state import Problem
from buschaos.subjects import SUBJECTS
from busproof.bus.base import DoorError
from busproof.bus.fleet import BusSpecError, reference
from busproof.contract.catalogue import catalogue
from busproof.pages.report.lines import EXIT_CODES, Report
from busproof.words import one_line, reason, say

KILLS = 200
KILLS_OF_SLOW_STARTERS = 40
QUICK_S = 30.0
QUICK_KILLS = 8
PROBLEMS_SHOWN = 10
JOBS = min(os.cpu_count() or 1, 4)  # an act keeps about one core busy
_EPILOG = """\
Without a flag that names an act, all acts that the system knows are played (200 kills, 40 of MCP servers); with any of
them, only those. Callers can be told to go where they are an MCP server's (topics).
--quick and --minutes give each act an equal part of the time and draw points by the seed; what is left out is told. An
act that was cut short, by the time, --stop-after or Ctrl-C, may find problems, but never shows that there is none.
Exit code: 0 valid, 1 invalid, 2 unknown (could not run, was cut short, or could not be told).

examples:
  busproof chaos worker                                        the reference, all acts, two to three minutes
  busproof chaos worker --bus 'exec:./my-bus' --quick          something of everything, in half a minute
  busproof chaos worker --bus 'exec:./my-bus' --stop-after 1   until the first problem
  busproof chaos worker --bus 'exec:./my-bus' --kills 100      100 kills at random moments
  busproof chaos worker --bus 'exec:./my-bus' --kills 100 --calls 5000    a history of a million events
  busproof chaos worker --bus 'exec:./my-bus' --points         every write point of every operation
  busproof chaos worker --only 'publish with blob' --at 7:torn:512   one point again
  busproof chaos worker --only save_blob --against 'another blob' --at 3:hold:2
                                                               one schedule again
  busproof chaos worker --power 1000 --option synchronous=FULL --durability power-loss
  busproof chaos worker --power 1000000 --option synchronous=FULL --durability power-loss --seed 1 --resume
                                                               the same, stopped by Ctrl-C and begun again at will
  busproof chaos worker --bus 'exec:./a' --bus 'exec:./b'      a mixed fleet on one store
  busproof chaos topics --bus 'mcp:./my-server' --kills 40     agents that come back by their reclaim tokens
  busproof chaos timeline --bus 'nats:exec:./my-bus' --kills 100
                                                               sessions and their NATS server
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
    made.add_argument("--kills", type=int, metavar="N", help="kill N sessions while agents work side by side")
    made.add_argument(
        "--calls",
        type=int,
        metavar="N",
        help=f"with N calls for each of these kills: a long history ({CALLS_PER_KILL}; MCP: {CALLS_PER_KILL_SLOW})",
    )
    made.add_argument(
        "--points", action="store_true", help="kill every operation before each change it makes, and in each write"
    )
    made.add_argument(
        "--power",
        type=int,
        metavar="N",
        help="cut the power at every step of a session, and look at N distinct disks that it may leave (0: the usual)",
    )
    made.add_argument(
        "--deaths",
        type=int,
        metavar="N",
        help="before the power goes, kill each operation before N of its syncs and make the same call again "
        f"({DEATHS}; MCP: {DEATHS_OF_SLOW_STARTERS})",
    )
    made.add_argument(
        "--resume", action="store_true", help="power cuts go on where a run with this --out and --seed was stopped"
    )
    made.add_argument(
        "--durability", choices=("process-crash", "power-loss"), help="judge power cuts at this level, not the declared"
    )
    made.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="open the stores of power cuts with this option (synchronous=FULL); again for more",
    )
    made.add_argument(
        "--holds", action="store_true", help="hold a process at each change and lock it makes, while a peer works"
    )
    made.add_argument(
        "--twice",
        type=int,
        metavar="N",
        help=f"places of a pair of calls at which both are held ({TWICE_OF_PAIR}; MCP: {TWICE_OF_SLOW_STARTERS})",
    )
    made.add_argument(
        "--crossed",
        type=int,
        metavar="N",
        help=f"hold N operations against any others, which nobody named ({CROSSED}; MCP: {CROSSED_OF_SLOW_STARTERS})",
    )
    made.add_argument(
        "--drawn",
        type=int,
        metavar="N",
        help=f"play N drawn programs in which any call is held while any others come (of --holds: {PROGRAMS})",
    )
    made.add_argument("--script", type=Path, metavar="FILE", help="play the script of such a program again, alone")
    made.add_argument("--against", metavar="PEER", help="hold against this peer's call alone")
    made.add_argument(
        "--waits", action="store_true", help="hold a reader that waits in each of its looks, until a message has come"
    )
    made.add_argument(
        "--disk-full", action="store_true", help="fill the disk to every level; inject errors and short writes"
    )
    made.add_argument(
        "--damage",
        type=int,
        metavar="N",
        help="flip N bits in each kind of file (0: the usual), and take files from under a live process",
    )
    made.add_argument(
        "--gone", action="store_true", help="cancel a sync, close its connection, or kill both, at each change it makes"
    )
    made.add_argument(
        "--disk", type=Path, metavar="DIR", help="a small mounted file system to fill, where namespaces are forbidden"
    )
    made.add_argument(
        "--errors", type=_errors, metavar="NAME,…", help="other errors than ENOSPC,EIO,EMFILE,EROFS,short: EDQUOT,EINTR"
    )
    made.add_argument("--sticky", action="store_true", help="an error stays until the call is over")
    made.add_argument("--only", action="append", metavar="OPERATION", help="this operation alone; again for more")
    made.add_argument("--at", type=points.parse, metavar="N:FAULT", help=f"one point: {points.EXAMPLES}")
    made.add_argument("--quick", action="store_true", help=f"{QUICK_S:g} s in all, and what that leaves out")
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
        "--out", type=Path, default=Path("busproof-out/chaos"), help="folder for history, plan and evidence"
    )
    return made


def main(argv: Sequence[str] | None = None) -> int:
    """Run, report, and return the exit code."""
    args = parser().parse_args(argv)
    importlib.import_module("multiprocess")  # raises here, not in the middle of a run
    if args.script is not None:
        return replayed(args.bus or [reference(args.system)], args.system, args.script)
    counted = (args.kills, args.power, args.damage)
    asked = (args.points, args.holds, args.drawn is not None, args.waits, args.disk_full, args.gone)
    everything = set(counted) == {None} and not any(asked)
    subject = SUBJECTS[args.system]
    acts = acts_of(args.system, args.bus or []) if everything else frozenset()
    kills = KILLS_OF_SLOW_STARTERS if subject.is_slow_to_start else KILLS
    if args.at is not None:
        is_hold = isinstance(args.at, points.Place) or isinstance(args.at.verdict, Others)
        is_error = isinstance(args.at, points.Point) and isinstance(args.at.verdict, Fail | Short)
        waits = {operation.name for operation, _ in subject.repertoire.waits}
        args.waits = is_hold and bool(waits & set(args.only or ()))
        everything, acts, args.holds = False, frozenset(), is_hold and not args.waits
        args.points, args.disk_full = not is_hold and not is_error, is_error  # each in the act that has its rows
    seconds = QUICK_S if args.quick else None if args.minutes is None else 60 * args.minutes
    settings = Settings(
        operations=args.only and _named(args.only, args.system),
        at=args.at,
        specs=args.bus or [reference(args.system)],
        out=args.out,
        system=args.system,
        seed=random.SystemRandom().randrange(10**6) if args.seed is None else args.seed,
        kills=(QUICK_KILLS if args.quick else kills) if "chaos.random_kills" in acts else args.kills,
        calls=args.calls,
        points=args.points or "chaos.kill_points" in acts,
        power=0 if "chaos.power_loss" in acts else args.power,
        deaths=args.deaths,
        resumes=args.resume,
        durability=args.durability,
        options=dict(option.split("=", 1) for option in args.option),
        holds=args.holds or "chaos.holds" in acts,
        waits=args.waits or "chaos.waits" in acts,
        twice=args.twice,
        crossed=args.crossed,
        against=args.against,
        drawn=_drawn(args, is_whole=args.holds or "chaos.holds" in acts),
        disk_full=args.disk_full or "chaos.disk_full" in acts,
        damage=0 if "chaos.damage" in acts else args.damage,
        gone=args.gone or "chaos.gone_callers" in acts,
        disk_folder=args.disk,
        torn=in_the_middle if args.quick else None,
        levels=diskfull.LEVELS_FEW if args.quick else None,
        wants=diskfull.WANTS_FEW if args.quick else None,
        errors=ERRORS if args.errors is None else tuple(getattr(errno, name) for name in args.errors if name != SHORT),
        shorts=args.errors is None or SHORT in args.errors,
        sticky=(args.sticky,),
        time=Time(seconds),
        lanes=args.jobs,
    )
    try:
        with Live(settings.time, args.stop_after) as live:
            result = run(settings, live)
    except (RunFailed, BusSpecError, DoorError) as error:
        say(f"could not run: {reason(error)}", sys.stderr)
        return EXIT_CODES["unknown"]
    if result.is_interrupted:
        say("busproof: interrupted; this is what was known by then", sys.stderr)
    for act in result.acts:
        if args.quick and act.name == "chaos.random_kills":
            act.left_out["of the usual kills"] = kills - (settings.kills or 0)
    told = report.write(result, settings)
    _tell(result, told, settings)
    return int(told.footer["exit_code"])


def _drawn(args: argparse.Namespace, *, is_whole: bool) -> int:
    """As many programs as are asked for; the usual number where all of the act is."""
    if args.drawn is not None:
        return int(args.drawn)
    return PROGRAMS if is_whole and not (args.only or args.against or args.at) else 0


def _errors(text: str) -> list[str]:
    known = [*(errno.errorcode[number] for number in points.CAN), SHORT]
    names = text.split(",")
    if unknown := [name for name in names if name not in known]:
        raise argparse.ArgumentTypeError(f"{unknown[0]} is none of {', '.join(known)}")
    return names


def _named(names: Sequence[str], system: str) -> tuple[Operation, ...]:
    of = SUBJECTS[system].repertoire
    known = {operation.name: operation for operation in (*of.operations, *(reader for reader, _ in of.waits))}
    if unknown := [name for name in names if name not in known]:
        say(f"there is no operation {unknown[0]!r}: {', '.join(known)}", sys.stderr)
        raise SystemExit(EXIT_CODES["unknown"])
    return tuple(known[name] for name in names)


def _tell(result: Run, told: Report, settings: Settings) -> None:
    rows = catalogue(settings.system)
    for act in result.acts:
        counted = ", ".join(f"{count:,} {what}" for what, count in act.counts.items()) or "nothing done"
        counted += f", in {act.seconds:,.0f} s"
        say(f"\n{act.name}: {one_line(act.could_not_run or counted)}")
        for note in act.notes:
            say(f"  {one_line(note)}")
        _tell_problems(act)
        if act.cut_short:
            say(f"  ? cut short: {one_line(act.cut_short)}")
        for text in act.undecided:
            say(f"  ? {one_line(text)}")
        for row in told.rows:
            if row["check"] == act.name:
                say(f"  {row['outcome']:14} {row['requirement']:18} {rows[row['requirement']].text}")
        say(f"  again: {report.again(settings, act.name)}")
    who = one_line(f"{result.hello.name} {result.hello.version}")
    say(f"\n{told.verdict.upper()}  {who} as a {settings.system} bus under chaos{report.in_part(settings)}")
    undecided = sum(row["outcome"] == "inconclusive" for row in told.rows)
    if undecided and settings.time.is_limited:
        unlimited = report.unhurried(settings)
        say(f"{undecided} of {len(told.rows)} rows were not decided in this time. Without a limit: {unlimited}")
    say(f"Report: {settings.out / 'report.html'}")
    if result.history is not None:
        say(f"History: {result.history}\nNext: busproof audit {shlex.quote(str(result.history))}")


def _tell_problems(act: Act) -> None:
    """Tell a problem once, even if it shows at many points or with other numbers."""
    alike: dict[tuple[str, str], list[tuple[Problem, Path]]] = {}
    for problem, history in act.problems:
        alike.setdefault(problem.kind, []).append((problem, history))
    for found in list(alike.values())[:PROBLEMS_SHOWN]:
        problem, history = min(found, key=lambda one: one[0].is_by_luck)  # one that shows again
        say(f"  {'~' if problem.is_dialect else '✗'} {problem.noun}: {one_line(problem.why)}")
        if len(found) > 1 or problem.point:
            times = [f"{len(found)} times, this one first"] if len(found) > 1 else []
            say(f"    {': '.join([*times, problem.point]) if problem.point else times[0]}")
        say(f"    evidence: {history}")
    if len(alike) > PROBLEMS_SHOWN:
        say(f"  … and {len(alike) - PROBLEMS_SHOWN} more kinds")


if __name__ == "__main__":
    sys.exit(main())
