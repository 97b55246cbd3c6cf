"""`busproof faults`: list, show, run and judge buses with a planted fault.

    busproof faults list [NAME…]      every fault, with its sentence
    busproof faults show NAME         its declaration
    busproof faults run NAME…         which rows kill it, and whether it is alive; exit 0 if it dies as it says
    busproof faults start NAME [PROGRAM ARGUMENT…]   be the faulty bus, or that program of the reference with the fault
    busproof faults matrix [--new] [NAME…]           judge all of `check`, and keep who kills whom under evidence/
    busproof faults choices [NAME…]   buses that chose otherwise where a seed is silent: no MUST may fail on them
    busproof faults blind DIFF…       a change of the reference, against a commit of the kit

A NAME is SYSTEM.NOUN.NAME, or the parts it begins with: worker.lease names all faults of worker's leases.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from busproof import evidence
from busproof.bus.fleet import warm_for
from busproof.faults.judge import Judgement, judged
from busproof.faults.record import Fault, named
from busproof.systems import SYSTEMS

MATRIX = "kills"  # the kind of records
KEPT_EACH = 20  # faults; a matrix that is broken off goes on where it stopped


def main(argv: Sequence[str]) -> int:
    """Exit 0 if all went as the faults say, 1 if a fault did not, 2 if there is none of that name."""
    if list(argv[:1]) == ["start"] and len(argv) > 1:  # whatever follows belongs to the program
        return _start(argv[1], *argv[2:])
    parser = argparse.ArgumentParser(
        prog="busproof faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run in COMMANDS.items():
        command = commands.add_parser(name)
        command.set_defaults(run=run)
        command.add_argument("name", nargs="+" if name in ("run", "show", "blind") else "*", metavar="NAME")
    commands.choices["matrix"].add_argument("--new", action="store_true", help="only faults without a record")
    commands.choices["blind"].add_argument("--commit", default="HEAD", help="of the kit, which the diffs apply to")
    commands.choices["blind"].add_argument("--system", choices=sorted(SYSTEMS), help="default: the diff's name says it")
    commands.choices["blind"].add_argument("--door", default="", help="nats: to judge timeline on JetStream")
    args = parser.parse_args(list(argv))
    try:
        return int(args.run(args))
    except KeyError as error:
        print(f"busproof faults: no fault is named {error.args[0]!r}", file=sys.stderr)
    except evidence.NoEvidenceError as error:
        print(f"busproof faults: {error}", file=sys.stderr)
    return 2


def _list(args: argparse.Namespace) -> int:
    for fault in named(args.name or list(SYSTEMS)):
        print(f"{fault.id}  [{fault.found_by}]  {fault.sentence}")
    return 0


def _show(args: argparse.Namespace) -> int:
    for fault in named(args.name):
        print(f"# {fault.id}\n{fault.source}\n")
    return 0


def _start(name: str, *program: str) -> int:
    (fault,) = named([name])
    command = fault.command(*program)
    os.execv(command[0], command)


def _run(args: argparse.Namespace) -> int:
    return _all_judged(named(args.name), lambda judgement: print(*_lines(judgement), sep="\n", flush=True))


def _matrix(args: argparse.Namespace) -> int:
    known = evidence.read(MATRIX) if MATRIX in evidence.kinds() else {}
    names = args.name or list(SYSTEMS)
    todo = [f for f in named(names) if f.found_by == "check" and not (args.new and f.id in known)]
    records = {key: value for key, value in known.items() if args.new or args.name}

    def keep(judgement: Judgement) -> None:
        records[judgement.fault.id] = judgement.record()
        print(json.dumps(judgement.record()), flush=True)
        if len(records) % KEPT_EACH == 0:
            evidence.write(MATRIX, records.values())

    ended = _all_judged(todo, keep)
    evidence.write(MATRIX, records.values())
    return ended


def _all_judged(faults: list[Fault], tell: Callable[[Judgement], None]) -> int:
    wrong = 0
    with warm_for(sorted({fault.system for fault in faults})) as warm:
        for fault in faults:
            judgement = judged(fault, warm) if fault.found_by != "choice" else _of_choice(fault)
            tell(judgement)
            wrong += bool(judgement.wrong)
    return int(wrong > 0)


def _lines(judgement: Judgement) -> list[str]:
    fault = judgement.fault
    verdict = (
        "WRONG" if judgement.wrong else "valid, as a choice is" if fault.found_by == "choice" else "dies as it says"
    )
    others = sorted(judgement.killed_by.keys() - {*fault.rows, fault.test})
    lines = [f"{fault.id}: {verdict}", f"  {fault.sentence}"]
    lines += [f"  {row}: {judgement.killed_by[row]}" for row in (*fault.rows, fault.test) if row in judgement.killed_by]
    lines += [f"  not named, and not passed: {', '.join(others)}"] if others else []
    lines += [f"  alive: {judgement.alive}"] if judgement.alive else []
    return lines + [f"  wrong: {words}" for words in judgement.wrong]


def _of_choice(fault: Fault) -> Judgement:
    from busproof.faults.choices import failures

    wrong = [f"{row}: {why}" for row, why in failures([fault]).items()]
    return Judgement(fault, [], wrong=wrong)


def _choices(args: argparse.Namespace) -> int:
    from busproof.faults.choices import are_free

    return _all_judged([f for f in named(args.name or list(SYSTEMS)) if are_free(f)], _tell_choice)


def _tell_choice(judgement: Judgement) -> None:
    print(*_lines(judgement), sep="\n", flush=True)


def _blind(args: argparse.Namespace) -> int:
    from busproof.faults.blind import judged_blind

    missed = 0
    for name in args.name:
        path = Path(name)
        verdict = judged_blind(path, args.commit, args.system or path.stem.partition("-")[0], args.door)
        print(json.dumps({"fault": path.stem, **verdict}), flush=True)
        missed += verdict.get("by") is None
    return int(missed > 0)


COMMANDS = {"list": _list, "show": _show, "run": _run, "matrix": _matrix, "choices": _choices, "blind": _blind}
