"""`busproof audit PATH…`: verify recorded histories, with Spark or in Python; and the state of a bus, by itself."""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from busproof.contract.history import HistoryError
from busproof.lock import Taken, alone
from busproof.oddities.examine import Findings
from busproof.oddities.jetstream import Unreachable
from busproof.oracle.checks import Verdict, overall
from busproof.words import kit_failed, say
from busspark import telling
from busspark.compact import Run, is_compact, runs_of, systems_of
from busspark.errors import EngineError
from busspark.follow import follow
from busspark.sources import IS_URI, as_streams, histories
from busspark.states import state_of
from busspark.validate import validate

EXIT_CODES = {"valid": 0, "invalid": 1, "unknown": 2}
Judged = dict[Run, list[Verdict]]


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 valid, 1 invalid, 2 unknown, not a history, or an engine that could not judge it."""
    args = _parser().parse_args(argv)
    try:
        with contextlib.ExitStack() as stack:
            for file in {file for file in (args.out, args.violations) if file}:
                stack.enter_context(alone(file.parent, file.name))
            return _judge(args)
    except (HistoryError, EngineError, Taken, Unreachable, OSError) as error:
        _say(f"busproof: {error}")
    except MemoryError:
        _say("busproof: this history is too big for the memory of the Python engine; --engine spark needs less")
    except ImportError:
        raise  # an extra that is not there, which the command line names
    except Exception as error:
        _say(f"busproof: {kit_failed(error)}")
    return EXIT_CODES["unknown"]


def _judge(args: argparse.Namespace) -> int:
    if args.validate:
        return validate(histories(args.paths))
    if args.follow:
        return _follow(args)
    states = {path: state for path in args.paths if (state := _state(path))}
    args.paths, args.states = [path for path in args.paths if path not in states], list(states.values())
    codes = [_tell_state(state) for state in args.states]
    if args.paths and _is_far(args):
        codes.append(_audit(args, list(_seen_from_afar(args.paths))))
    elif args.paths:
        with as_streams(args.paths) as streams:
            codes.append(_audit(args, streams))
    elif args.out:
        telling.write(args.out, [], "invalid" if 1 in codes else "valid", {}, args.states)
    return next(code for code in (1, 2, 0) if code in codes)


def _is_far(args: argparse.Namespace) -> bool:
    """Is it elsewhere, or do workers judge it who need not see the temporary files of this process?"""
    is_remote = bool(args.master) and not args.master.startswith("local")
    has_workers = is_remote and args.engine in ("auto", "spark")
    is_compacted = len(args.paths) == 1 and is_compact(Path(args.paths[0]))
    return any(IS_URI in path for path in args.paths) or (has_workers and not is_compacted)


def _seen_from_afar(paths: list[str]) -> Iterator[str]:
    """The places, as the workers of a cluster name them: Spark itself reads histories line by line."""
    for path in paths:
        if IS_URI in path or is_compact(Path(path)):
            yield path
        else:
            yield from (file.absolute().as_uri() for file in histories([path]))


def _follow(args: argparse.Namespace) -> int:
    if len(args.paths) != 1 or args.engine not in ("auto", "python"):
        raise EngineError("--follow takes one history, and the Python engine")
    verdicts = follow(Path(args.paths[0]))
    for judged in verdicts:
        telling.tell_verdict(judged)
    verdict = overall(verdicts)
    print(f"{verdict.upper()}  {args.paths[0]}{telling.not_judged(verdicts)}")
    return EXIT_CODES[verdict]


def _state(path: str) -> Findings | None:
    """The findings on a state; compact streams and histories are none."""
    return None if IS_URI not in path and is_compact(Path(path)) else state_of(path)


def _tell_state(state: Findings) -> int:
    code = state.tell()
    print(f"{'INVALID' if code else 'VALID'} as a state  {state.place}")
    print("It was judged without a history: that nothing was lost, doubled or out of order only one tells.")
    return code


_PATHS = "histories, folders of them, compact streams, or what a bus left: its database, folder, export or server"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="busproof audit", description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH", help=_PATHS)
    parser.add_argument("--engine", choices=("auto", "spark", "python", "both"), default="auto")
    parser.add_argument("--master", metavar="URL", help="Spark's master; without it, this machine")
    parser.add_argument("--conf", action="append", default=[], metavar="KEY=VALUE", help="a setting of Spark")
    parser.add_argument("--follow", action="store_true", help="a history that is being written, until its last line")
    parser.add_argument(
        "--validate", action="store_true", help="only say whether the files are histories, line by line"
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="also write the verdicts as JSON")
    parser.add_argument("--violations", type=Path, metavar="FILE", help="also write all violations as Parquet")
    return parser


def _audit(args: argparse.Namespace, streams: str | list[str]) -> int:
    by_engine: list[Judged] = []
    engine = args.engine if args.engine != "auto" else _fit_engine(args, streams)
    if engine in ("python", "both"):
        by_engine.append(_in_python(streams))
    if engine in ("spark", "both"):
        by_engine.append(_in_spark(args, streams))
    judged = by_engine[0]
    has_events = telling.tell(judged, streams if isinstance(streams, str) else "")
    if len(by_engine) == 2:
        if by_engine[0] != by_engine[1]:
            print("The engines DISAGREE: a fault of busproof. Please report it with this history.")
            return 2
        print("Spark and Python agree: the same verdicts, the same witnesses.")
    verdicts = [judgement for some in judged.values() for judgement in some]
    verdict = overall(verdicts)
    if args.out:
        telling.write(args.out, args.paths, verdict, judged, args.states)
    if args.violations:
        telling.write_violations(args.violations, judged)
    print(f"{verdict.upper()}  {' '.join(args.paths)}{telling.not_judged(verdicts)}")
    if verdict == "invalid" and has_events:
        print("Next: look at the events above in their history; the plan of a run stands in its first line.")
    return EXIT_CODES[verdict]


def _fit_engine(args: argparse.Namespace, streams: str | list[str]) -> str:
    """Spark where a URI, a master or a setting says so; else Python, the cheaper one on one machine at any size."""
    if args.master or args.conf or isinstance(streams, list):
        return "spark"
    _say(f"python: {_events(streams):,} events (Spark with --engine spark, or for a URI or --master)")
    return "python"


def _events(streams: str) -> int:
    folder = Path(streams)
    return sum(about.lines for system in systems_of(folder) for about in runs_of(folder, system).values())


def _in_python(streams: str | list[str]) -> Judged:
    from busspark.twin import judge

    if isinstance(streams, list):
        raise EngineError("the Python engine reads files of this machine; --engine spark reads this")
    started = time.monotonic()
    judged = dict(sorted(judge(Path(streams))))
    _say(f"python: all checks in {time.monotonic() - started:.1f} s")
    return judged


def _in_spark(args: argparse.Namespace, streams: str | list[str]) -> Judged:
    from busspark.judge import judge
    from busspark.session import EVENTS_OF_A_SHORT_ONE, spark_session, stopped, told_in_a_sentence

    started = time.monotonic()
    _say("spark: starting a JVM, which takes some seconds")
    conf = {key: value for key, _, value in (pair.partition("=") for pair in args.conf)}
    is_short = not args.master and isinstance(streams, str) and _events(streams) < EVENTS_OF_A_SHORT_ONE
    session = spark_session(master=args.master or "", conf=conf, is_short=is_short)
    with told_in_a_sentence(), stopped(session) as spark:
        judged = dict(sorted(judge(spark, streams, _say).items()))
        _say(f"spark: all checks in {time.monotonic() - started:.1f} s, start included")
    return judged


def _say(text: str) -> None:
    say(text, sys.stderr)
