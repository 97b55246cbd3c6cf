"""`busproof`: the command line.

Exit codes of every command that judges: 0 valid, 1 invalid, 2 unknown. Whatever goes wrong on our side, from a command
line that makes no sense to a fault of busproof itself, is 2 and one line; BUSPROOF_DEBUG=1 shows where.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from busproof import __version__
from busproof.adapters.base import DoorError
from busproof.adapters.doors import SCHEMES, BusSpecError
from busproof.words import reason, say

if TYPE_CHECKING:
    from busproof.fleet import Fleet
    from busproof.protocol import HelloReply
    from busproof.report.lines import Report

_BUSES = "\n".join(f"  {name + ':' + scheme.takes:<20} {scheme.says}" for name, scheme in SCHEMES.items())
EPILOG = f"""\
buses:
{_BUSES}
  (none)               the reference implementation

a first check of your own bus:
  busproof init worker python my-adapter      write an adapter to fill in
  busproof doctor --bus 'exec:python my-adapter/adapter.py'
  busproof check worker --bus 'exec:python my-adapter/adapter.py'
"""


class _Systems:
    """The names of all systems; their models take a while to load, and most command lines name none."""

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __iter__(self) -> Iterator[str]:
        from busproof.protocol import CONTRACTS

        return iter(sorted(CONTRACTS))


_SYSTEM: dict[str, Any] = {"choices": _Systems(), "metavar": "SYSTEM"}
JOBS_MAX = 256


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(list(sys.argv[1:] if argv is None else argv))
        finally:
            if sys.stdout is not None:
                sys.stdout.flush()
    except KeyboardInterrupt:
        print("busproof: interrupted; nothing is decided", file=sys.stderr)
        return 2
    except Exception as error:
        return _failed(error)


def _failed(error: Exception) -> int:
    """Our own failure is no verdict: one line, and 2. That `head` stops reading what we print is no failure."""
    if isinstance(error, OSError) and sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            has_no_reader = isinstance(error, BrokenPipeError) and _has_no_reader(sys.stdout.fileno())
            # What is left in the buffer has nowhere to go, and must not fail a second time at the very end.
            if has_no_reader or not _is_flushed():
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            if has_no_reader:
                return 128 + signal.SIGPIPE
    if os.environ.get("BUSPROOF_DEBUG"):
        traceback.print_exception(error)
    if isinstance(error, (OSError, DoorError, BusSpecError)):
        say(f"busproof: {reason(error)}", sys.stderr)
    else:
        what = f"{type(error).__name__}: {reason(error)}"
        say(f"busproof: a fault of busproof, nothing is decided: {what} (BUSPROOF_DEBUG=1 shows where)", sys.stderr)
    return 2


def _has_no_reader(end: int) -> bool:
    poll = select.poll()
    poll.register(end, 0)
    return any(said & select.POLLERR for _, said in poll.poll(0))


def _is_flushed() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _run(argv: list[str]) -> int:
    # Four commands belong to other parts: their own parsers say what they take.
    if argv and argv[0] in _ELSEWHERE:
        return _run_elsewhere(argv[0], argv[1:])
    args = _parser().parse_args(argv)
    command: Callable[[argparse.Namespace], int] = args.command
    return command(args)


# command → module, extra to install
_ELSEWHERE = {
    "explore": ("busproof.explore.command", ""),
    "chaos": ("buschaos.cli", "chaos"),
    "audit": ("busspark.cli", "spark"),
    "demo": ("busproof.demo", ""),
}


_OURS = ("busproof", "buschaos", "busspark", "refbus")


def _run_elsewhere(command: str, argv: list[str]) -> int:
    module, extra = _ELSEWHERE[command]
    try:
        return int(import_module(module).main(argv))
    except ImportError as error:
        if not extra or (error.name or "").partition(".")[0] in ("", *_OURS):
            raise
        say(f"busproof {command} needs more packages ({error.name}): pip install 'busproof[{extra}]'", sys.stderr)
        return 2


def _jobs(text: str) -> str:
    if text == "auto" or (text.isdecimal() and 1 <= int(text) <= JOBS_MAX):
        return text
    raise argparse.ArgumentTypeError(f"{text!a} is neither auto nor a number of processes from 1 to {JOBS_MAX}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="busproof",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Judge a message bus for coding agents: which promise breaks, and how to reproduce it.",
    )
    parser.add_argument("--version", action="version", version=f"busproof {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", title="commands")

    def add(name: str, run: Callable[[argparse.Namespace], int], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name, help=text, description=text, epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        sub.set_defaults(command=run)
        return sub

    check = add("check", _check, "judge a bus by every requirement that it declares")
    check.add_argument("system", **_SYSTEM, help="%(choices)s")
    check.add_argument("--bus", default="", metavar="SPEC", help="the bus (default: the reference)")
    check.add_argument("--profile", choices=("core", "full"), help="demand these nouns, declared or not")
    check.add_argument("--only", action="append", default=[], metavar="NAME", help="a check, a noun or a row id")
    check.add_argument(
        "--mixed-with",
        metavar="SPEC",
        help="also on one store with this bus: `reference`, `none` or a "
        "bus (default: the kit's own participant, where the bus declares sqlite)",
    )
    check.add_argument("--known", metavar="FILE", help="TOML list of known failures: id, reason, url, expires")
    check.add_argument(
        "--out", type=Path, default=Path("busproof-out"), help="folder for reports (default busproof-out)"
    )
    check.add_argument("--seed", type=int, help="seed of the workload and of the machines")
    check.add_argument("--nightly", action="store_true", help="10,000 examples instead of a few")
    check.add_argument(
        "-j", "--jobs", type=_jobs, default="auto", help="processes (default: as many as cores, at most 4)"
    )
    for name, (_, extra) in _ELSEWHERE.items():
        text = {
            "explore": "search for a difference from the model of its system, and shrink what is found",
            "chaos": "kill its processes, fill its disk, then check what is left",
            "audit": "verify a recorded history, with Spark or in Python",
            "demo": "everything in about a minute, on the reference",
        }[name]
        commands.add_parser(name, help=text + (f" (extra {extra})" if extra else ""), add_help=False)
    doctor = add("doctor", _doctor, "tell faults of an adapter from faults of its bus; or look at an odd database")
    doctor.add_argument("--bus", required=True, metavar="SPEC")
    doctor.add_argument("--system", **_SYSTEM, help="default: what the bus says it is; of a file, what its tables say")
    init = add("init", _init, "write an adapter to fill in")
    init.add_argument("system", **_SYSTEM, help="%(choices)s")
    init.add_argument("language", choices=("python", "node"))
    init.add_argument("folder", nargs="?", type=Path, default=Path("busproof-adapter"))
    replay = add("replay", _replay, "send a recorded script again and show the answers")
    replay.add_argument("report", type=Path, help="report.jsonl of a check")
    replay.add_argument("row", help="id of a row that failed in it")
    replay.add_argument("--bus", default=None, metavar="SPEC", help="another bus than the report's")
    verify = add("verify-report", _verify, "recompute a report's counts, verdict and hash")
    verify.add_argument("report", type=Path)
    trace = add("traceability", _traceability, "write the traceability page of a system from the report of a run")
    trace.add_argument("report", type=Path)
    trace.add_argument("--out", type=Path, required=True)
    schema = add("schema", _schema, "print the JSON Schemas of the protocol, or write its page")
    schema.add_argument("system", nargs="?", default="worker", **_SYSTEM, help="%(choices)s")
    schema.add_argument("--markdown", type=Path, metavar="FILE", help="write docs/protocol.md")
    listing = add("list", _list, "list the requirements of a system and what checks them")
    listing.add_argument("system", **_SYSTEM, help="%(choices)s")
    return parser


def _check(args: argparse.Namespace) -> int:
    """Start pytest on the kit's own suite, apart from the user's conftest and settings."""
    from busproof.report import lines, terminal

    out: Path = args.out.resolve()
    problem = _unplayable(args)
    if problem:
        say(f"busproof: {problem}", sys.stderr)
        return 2
    shutil.rmtree(out / "parts", ignore_errors=True)
    (out / "report.jsonl").unlink(missing_ok=True)
    (out / "parts").mkdir(parents=True, exist_ok=True)
    jobs = str(min(os.cpu_count() or 1, 4)) if args.jobs == "auto" else args.jobs
    options = [
        "-c",
        os.devnull,
        f"--rootdir={out}",
        "-p",
        "no:cacheprovider",
        "-q",
        "--tb=no",
        "-r",
        "N",
        "--no-header",
        "--capture=sys",  # so that a machine can tell how far it is; the bus's own words go to a pipe
        "-n",
        "0" if args.only and len(args.only) == 1 and "." in args.only[0] else jobs,
        "--dist",
        "worksteal",
        "--pyargs",
        "busproof.pytest_suite",
        "--busproof-out",
        str(out),
        "--busproof-system",
        args.system,
        "--busproof-bus",
        args.bus,
        "--busproof-mixed-with",
        _partner(args),
        "--busproof-profile",
        args.profile or "",
        "--busproof-known",
        args.known or "",
        *(f"--busproof-only={name}" for name in args.only),
        *(["--busproof-nightly"] if args.nightly else []),
        *([f"--busproof-seed={args.seed}"] if args.seed is not None else []),
    ]
    bus = args.bus or "the reference"
    say(f"busproof {__version__}: checking {bus} as a {args.system} bus, {jobs} processes", sys.stderr)
    # The user's bus may be a module of the folder that they stand in.
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([os.getcwd(), os.environ.get("PYTHONPATH", "")])}
    done = subprocess.run([sys.executable, "-m", "pytest", *options], env=environment, check=False)
    try:
        report = lines.load(out / "report.jsonl")
    except lines.ReportError as error:
        why = f"the run ended without a report (pytest exit {done.returncode})"
        say(f"busproof: {why}: {reason(error)}", sys.stderr)
        return 2
    terminal.render(report, report_path=str(out / "report.html"))
    return int(report.footer["exit_code"])


def _unplayable(args: argparse.Namespace) -> str:
    """Why the command line cannot lead to a run; empty if it can."""
    from busproof import known
    from busproof.catalogue import catalogue
    from busproof.fleet import Fleet, reference

    if args.bus.startswith("sqlite:"):
        return f"an existing file is looked at by:  busproof doctor --bus {args.bus} --system {args.system}"
    rows = catalogue(args.system).values()
    names = {"history", "corpus", *(r.id for r in rows), *(r.noun for r in rows), *(r.check for r in rows if r.check)}
    unknown = [name for name in args.only if name not in names]
    if unknown:
        return f"--only {unknown[0]}: no such check, noun or row; `busproof list {args.system}` shows them all"
    try:
        if args.known:
            known.load(Path(args.known))
    except ValueError as error:
        return reason(error)
    try:
        hello = _first_answers(Fleet([args.bus or reference(args.system)], system=args.system))
    except (OSError, BusSpecError) as error:
        return reason(error)
    except Exception as error:  # of the user's own module, too
        what = reason(error) if isinstance(error, DoorError) else f"{type(error).__name__}: {reason(error)}"
        if not args.bus:
            return f"the reference does not start: {what}"
        return f"{what}\nWhat is wrong with the adapter:  busproof doctor --bus '{args.bus}' --system {args.system}"
    if args.system not in hello.systems:
        return f"the bus says that it is {hello.systems!a}, not {args.system}"
    args.features = hello.features
    return ""


def _first_answers(fleet: Fleet) -> HelloReply:
    """What the bus declares, if it can open and leave a store: of one that cannot, no row says anything."""
    try:
        with tempfile.TemporaryDirectory(prefix="busproof-") as store:
            fleet.give_back(fleet.door(0, Path(store), {}), retired=False)
    finally:
        fleet.close()
    return fleet.hello


def _partner(args: argparse.Namespace) -> str:
    """Who shares the store in the mixed fleet; empty for none."""
    if args.mixed_with is not None:
        return "" if args.mixed_with == "none" else str(args.mixed_with)
    is_sqlite = not args.bus or "sqlite" in getattr(args, "features", [])
    return "sqlite:" if is_sqlite else ""


def _doctor(args: argparse.Namespace) -> int:
    from busproof import doctor

    return doctor.examine(args.bus, args.system)


def _init(args: argparse.Namespace) -> int:
    from busproof import init

    return init.write(args.system, args.language, args.folder)


def _replay(args: argparse.Namespace) -> int:
    from busproof import replay

    return replay.replay(args.report, args.row, args.bus)


def _read(path: Path) -> Report | None:
    """The report, or None and a word about what is wrong with it."""
    from busproof.report import lines

    try:
        return lines.load(path)
    except lines.ReportError as error:
        say(f"busproof: {reason(error)}", sys.stderr)
        return None


def _verify(args: argparse.Namespace) -> int:
    report = _read(args.report)
    if report is None:
        return 2
    print(f"{args.report}: as written; {report.verdict}, {report.footer['counts']}")
    return int(report.footer["exit_code"])


def _traceability(args: argparse.Namespace) -> int:
    from busproof.report import traceability

    report = _read(args.report)
    if report is None:
        return 2
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(traceability.page(report), encoding="utf-8")
    print(f"wrote {args.out}")
    return 0


def _schema(args: argparse.Namespace) -> int:
    from busproof import protocol_page

    if args.markdown:
        args.markdown.write_text(protocol_page.page(), encoding="utf-8")
        print(f"wrote {args.markdown}")
    else:
        print(json.dumps(protocol_page.schemas(args.system), indent=2))
    return 0


def _list(args: argparse.Namespace) -> int:
    from busproof.catalogue import catalogue

    for row in catalogue(args.system).values():
        print(f"{row.id:<20} {row.level:<8} {row.check or 'excluded':<32} {row.text}")
    return 0
