"""`busproof check`: the items of a run, played side by side, and the verdict for people."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import shlex
import shutil
import sys
import time
from pathlib import Path

from busproof import __version__, lock
from busproof.bus.base import DoorError
from busproof.bus.doors import BusSpecError
from busproof.bus.fleet import Fleet, reference, warm_for
from busproof.bus.scratch import scratch
from busproof.contract import CONTRACTS, HelloReply
from busproof.contract.catalogue import CORPUS, catalogue
from busproof.pages.report import lines, terminal
from busproof.pages.report.live import Live
from busproof.play.explore import corpus
from busproof.run import known
from busproof.run.items import WARM, Run
from busproof.run.mapped import misfit
from busproof.run.pool import Pool
from busproof.systems import SYSTEMS
from busproof.words import reason, say

LOOK_S = 0.25
LATE_S = 3.0  # after the end of the budget a process that is still at work is ended
INTERRUPTED_S = 30.0  # for the processes of the pool to end their buses
SLOW_S = 2.0  # the user of a bus that takes so long to open is told so
_UNITS = {"s": 1, "m": 60, "h": 3600}


def budget(text: str) -> float:
    """Seconds of `90s`, `10m`, `1.5h`."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if not match:
        raise argparse.ArgumentTypeError(f"{text!a} is no time such as 90s, 10m or 1.5h")
    return float(match[1]) * _UNITS[match[2]]


def check(args: argparse.Namespace) -> int:
    """Judge a bus. The exit code is that of its report, or 2 without one."""
    out: Path = args.out.resolve()
    args.ends_at = time.time() + args.budget if args.budget is not None else None
    if args.clock and not args.bus.startswith(f"{args.clock}:"):
        args.bus = f"{args.clock}:{args.bus}"  # as it stands in replays, and as other commands take it
    problem = _unplayable(args)
    if problem:
        say(f"busproof: {problem}", sys.stderr)
        return 2
    try:
        with lock.alone(out, "check"):
            return _judged(args, out)
    except lock.Taken as taken:
        say(f"busproof: {taken}", sys.stderr)
        return 2


def _judged(args: argparse.Namespace, out: Path) -> int:
    """Run the suite and tell its report. Nobody else writes to the folder meanwhile."""
    shutil.rmtree(out / "parts", ignore_errors=True)
    (out / "report.jsonl").unlink(missing_ok=True)
    (out / "parts").mkdir(parents=True, exist_ok=True)
    if args.seed is None:
        args.seed = random.randrange(2**31)  # told in the header and in every replay
    bus = args.bus or "the reference"
    if not args.quiet:
        jobs = _jobs(args, _run(args, out))
        processes = f"{jobs} processes" if jobs > 1 else "one process"
        say(f"busproof {__version__}: checking {bus} as a {args.system} bus, {processes}", sys.stderr)
        if hint := _by_few_scripts(args):
            say(hint, sys.stderr)
    report, is_cut = _play(args, out)
    if is_cut:
        say("busproof: interrupted; this is what was decided by then", sys.stderr)
    if args.json:
        print(json.dumps({"report": str(out / "report.jsonl"), **report.footer}))
    else:
        terminal.render(report, report_path=str(out / "report.html"), brief=args.quiet)
    return int(report.footer["exit_code"])


def _by_few_scripts(args: argparse.Namespace) -> str:
    """A row alone is asked of a few scripts, and any other script of the corpus may break it, too."""
    asked = sorted({*args.only} & corpus.index(args.system).keys())
    if not asked:
        return ""
    return f"{', '.join(asked)}: by the shortest scripts of the corpus that reach it; --only {CORPUS} plays them all"


def _run(args: argparse.Namespace, out: Path) -> Run:
    """The run that was asked for."""
    return Run(
        out=out,
        system=args.system,
        bus=args.bus,
        mixed_with=_partner(args),
        only=args.only,
        profile=args.profile or "",
        seed=args.seed,
        known_file=args.known or "",
        nightly=args.nightly,
        ends_at=args.ends_at,
        hello=args.hello,
    )


def _play(args: argparse.Namespace, out: Path) -> tuple[lines.Report, bool]:
    """Play all items, show how far the run is, and write its report; and did the user cut it short?"""
    run = _run(args, out)
    names = [f"{label}-{item}" for label, item in run.items()]
    # The user's bus may be a module in the current folder.
    os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    sys.path.insert(0, os.getcwd())
    with contextlib.ExitStack() as stack:
        if "reference" in (args.bus or "reference", args.mixed_with):
            os.environ[WARM] = stack.enter_context(warm_for([args.system])).path  # for every process of the pool
            stack.callback(os.environ.pop, WARM)
        pool = Pool(run, _jobs(args, run), are_waits_apart=args.jobs == "auto")
        is_cut = False
        with Live(run.out / "parts", names, quiet=args.quiet or args.json) as live:
            try:
                while pool.is_alive(LOOK_S) and not _is_late(run):
                    live.look()
            except KeyboardInterrupt:
                is_cut = True
            finally:
                pool.end(within_s=1.0 if _is_late(run) else INTERRUPTED_S)
        return run.finish(), is_cut


def _is_late(run: Run) -> bool:
    """Is the user's time over, and that in which a process ends by itself, too?"""
    return run.ends_at is not None and time.time() > run.ends_at + LATE_S


def _jobs(args: argparse.Namespace, run: Run) -> int:
    """Several per core, for they wait for their buses most of the time; no more than there are items."""
    items = len(run.items())
    jobs = SYSTEMS[args.system].processes_a_core * (os.cpu_count() or 1)
    return min(min(jobs, 8) if args.jobs == "auto" else int(args.jobs), items)


def _unplayable(args: argparse.Namespace) -> str:
    """Why the command line cannot lead to a run; empty if it can."""
    doctor = f"busproof doctor --bus {shlex.quote(args.bus)} --system {args.system}"
    if args.bus.startswith("sqlite:"):
        return f"an existing file is looked at by:  {doctor}"
    rows = catalogue(args.system).values()
    scripts = (f"{CORPUS}:{name}" for name in corpus.names(args.system))
    names = {
        "history",
        CORPUS,
        *scripts,
        *(r.id for r in rows),
        *(r.noun for r in rows),
        *(r.check for r in rows if r.check),
    }
    unknown = [name for name in args.only if name not in names]
    if unknown:
        return f"--only {unknown[0]}: no such check, noun or row; `busproof list {args.system}` shows them all"
    try:
        if args.known:
            known.load(Path(args.known))
    except ValueError as error:
        return reason(error)
    began = time.monotonic()
    try:
        hello = _first_answers(Fleet([args.bus or reference(args.system)], system=args.system))
    except (OSError, BusSpecError) as error:
        return reason(error)
    except Exception as error:  # of the user's own module, too
        what = reason(error) if isinstance(error, DoorError) else f"{type(error).__name__}: {reason(error)}"
        if not args.bus:
            return f"the reference does not start: {what}"
        return f"{what}\nWhat is wrong with the adapter:  {doctor}"
    if args.system not in hello.systems:
        return f"the bus says that it is {hello.systems!a}, not {args.system}"
    args.hello = hello
    if args.bus.startswith("toml:") and (why := misfit(args.bus, hello)):
        return f"{why}\nWhat doctor sees:  {doctor}"
    took_s = time.monotonic() - began
    if took_s > SLOW_S and args.budget is None and args.bus:
        say(
            f"busproof: this bus took {took_s:.0f} s to start and open a store; --budget 10m bounds the run", sys.stderr
        )
    return ""


def _first_answers(fleet: Fleet) -> HelloReply:
    """The bus's declaration, if it can open and leave a store: no row says anything of a bus that cannot."""
    try:
        with scratch() as store:
            fleet.give_back(fleet.door(0, store, {}), retired=False)
    finally:
        fleet.close()
    return fleet.hello


def _partner(args: argparse.Namespace) -> str:
    """The bus that shares the store in the mixed fleet; empty for none."""
    if args.mixed_with is not None:
        return "" if args.mixed_with == "none" else str(args.mixed_with)
    is_sqlite = not args.bus or "sqlite" in args.hello.features
    return "sqlite:" if is_sqlite and CONTRACTS[args.system].participant else ""
