"""`busproof check`: the kit's suite under pytest, apart from the user's own settings, and the verdict for people."""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import random
import re
import shlex
import shutil
import sys
import time
from pathlib import Path

import pytest

from busproof import __version__
from busproof.bus.base import DoorError
from busproof.bus.doors import BusSpecError
from busproof.bus.fleet import Fleet, reference, warm_for
from busproof.bus.forked import COMMAND
from busproof.bus.scratch import scratch
from busproof.bus.warm import Warm
from busproof.contract import CONTRACTS, HelloReply
from busproof.contract.catalogue import CORPUS, catalogue
from busproof.pages.report import lines, terminal
from busproof.pages.report.live import Live
from busproof.play.explore import corpus
from busproof.run import ended, known
from busproof.run.pytest_run import WARM, Run
from busproof.run.runner import cited
from busproof.systems import SYSTEMS
from busproof.words import reason, say

LOOK_S = 0.25
INTERRUPTED_S = 30.0  # pytest ends its workers and writes the known results
SLOW_S = 2.0  # the user of a bus that takes so long to open is told so
# The imports of each of pytest's processes, which take a second: they are forked from one that has them.
WORKERS = ("busproof.run.pytest_run", "busproof.play.explore.values", "pytest", "xdist.plugin", "xdist.remote")
_UNITS = {"s": 1, "m": 60, "h": 3600}


def budget(text: str) -> float:
    """Seconds of `90s`, `10m`, `1.5h`."""
    said = re.fullmatch(r"(\d+(?:\.\d+)?)([smh])", text)
    if not said:
        raise argparse.ArgumentTypeError(f"{text!a} is no time such as 90s, 10m or 1.5h")
    return float(said[1]) * _UNITS[said[2]]


def check(args: argparse.Namespace) -> int:
    """Judge a bus. The exit code is that of its report, or 2 without one."""
    out: Path = args.out.resolve()
    if args.clock and not args.bus.startswith(f"{args.clock}:"):
        args.bus = f"{args.clock}:{args.bus}"  # as it stands in replays, and as other commands take it
    problem = _unplayable(args)
    if problem:
        say(f"busproof: {problem}", sys.stderr)
        return 2
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
        if told := _by_all_scripts(args):
            say(told, sys.stderr)
    is_cut = _run_pytest(args, out)
    try:
        report = lines.load(out / "report.jsonl")
    except lines.ReportError as error:
        if is_cut:
            raise KeyboardInterrupt from error
        say(f"busproof: the run ended without a report ({out / 'pytest.log'} says more): {reason(error)}", sys.stderr)
        return 2
    if is_cut:
        say("busproof: interrupted; this is what was decided by then", sys.stderr)
    if args.json:
        print(json.dumps({"report": str(out / "report.jsonl"), **report.footer}))
    else:
        terminal.render(report, report_path=str(out / "report.html"), brief=args.quiet)
    return int(report.footer["exit_code"])


def _by_all_scripts(args: argparse.Namespace) -> str:
    """Why a row alone takes as long as the corpus: any of its scripts may break it."""
    asked = sorted({*args.only} & cited(args.system))
    if not asked:
        return ""
    every = f"all {len(corpus.names(args.system))} scripts of the corpus decide"
    return f"{every} {', '.join(asked)}; --only {CORPUS}:SCRIPT plays one, as the replay of a failure does"


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
    )


def _run_pytest(args: argparse.Namespace, out: Path) -> bool:
    """Run the suite and show how far it is. True if the user cut it short."""
    run = _run(args, out)
    with contextlib.ExitStack() as stack:
        workers = stack.enter_context(Warm(WORKERS)).path if _jobs(args, run) else ""
        # Forked while there is but one thread: pytest need not import these modules again.
        process = multiprocessing.get_context("fork").Process(target=_pytest, args=(_options(args, run, workers), out))
        if "reference" in (args.bus or "reference", args.mixed_with):
            os.environ[WARM] = stack.enter_context(warm_for([args.system])).path  # for every process of pytest's
            stack.callback(os.environ.pop, WARM)
        process.start()
        return _watched(process, run, args)


def _watched(process: multiprocessing.context.ForkProcess, run: Run, args: argparse.Namespace) -> bool:
    names = [f"{label}-{item}" for label, item in run.items()]
    with Live(run.out / "parts", names, quiet=args.quiet or args.json) as live:
        try:
            while process.is_alive():
                process.join(LOOK_S)
                live.look()
        except KeyboardInterrupt as end:  # pytest got it as well, and writes its report
            if isinstance(end, ended.Terminated):
                process.terminate()
            process.join(INTERRUPTED_S)
            process.kill()
            process.join()
            return True
    return False


def _pytest(options: list[str], out: Path) -> None:
    """In a process of its own: its output goes to OUT/pytest.log."""
    ended.with_the_parent()
    log = (out / "pytest.log").open("w", encoding="utf-8", errors="backslashreplace")
    for number in (1, 2):
        os.dup2(log.fileno(), number)
    sys.stdout = sys.stderr = log
    # The user's bus may be a module in the current folder.
    os.environ["PYTHONPATH"] = os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])
    sys.path.insert(0, os.getcwd())
    pytest.main(options)


def _jobs(args: argparse.Namespace, run: Run) -> int:
    """Several per core, for they wait for their buses most of the time; no more than there are items.

    0 (none beside pytest's own) for one item, and for one check. A row is decided by the whole corpus, too.
    """
    items, rows = len(run.items()), catalogue(args.system)
    if items < 2 or (len(args.only) == 1 and "." in args.only[0] and args.only[0] not in rows):
        return 0
    jobs = SYSTEMS[args.system].processes_a_core * (os.cpu_count() or 1)
    return min(min(jobs, 8) if args.jobs == "auto" else int(args.jobs), items)


def _options(args: argparse.Namespace, run: Run, workers: str) -> list[str]:
    """The options of pytest. `workers`: the address of the warm process that starts its processes; "": none."""
    out, jobs = run.out, _jobs(args, run)
    return [
        *("-c", os.devnull, f"--rootdir={out}", "-p", "no:cacheprovider"),
        # The plugin of unraisable exceptions collects garbage five times at the end of each process, for nothing. And
        # that of faulthandler waits for ever where check runs inside a test with a faulthandler_timeout: the thread
        # that watches over that test is not in the fork.
        *("-p", "no:unraisableexception", "-p", "no:faulthandler"),
        *("-q", "--tb=short", "-r", "N", "--no-header", "-W", "ignore::pytest.PytestAssertRewriteWarning"),
        *(("--tx", f"{jobs}*popen//python={shlex.join([*COMMAND, workers])}") if workers else ()),
        *("--dist", "load" if workers else "no", "--maxschedchunk", "1"),
        *("--pyargs", "busproof.run.pytest_suite"),
        *("--busproof-out", str(out)),
        *("--busproof-system", args.system),
        *("--busproof-bus", args.bus),
        *("--busproof-mixed-with", _partner(args)),
        *("--busproof-profile", args.profile or ""),
        *("--busproof-known", args.known or ""),
        *(f"--busproof-only={name}" for name in args.only),
        *(["--busproof-nightly"] if args.nightly else []),
        f"--busproof-seed={args.seed}",
        *([f"--busproof-ends-at={time.time() + args.budget}"] if args.budget is not None else []),
    ]


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
    args.features = hello.features
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
    is_sqlite = not args.bus or "sqlite" in getattr(args, "features", [])
    return "sqlite:" if is_sqlite and CONTRACTS[args.system].participant else ""
