"""`busproof explore`: search for a difference between a bus and the specification of its system, run.

Exit codes: 0 nothing differed (or only where the seed is silent), 1 a MUST is broken, 2 nothing was decided.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shlex
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from busproof import evidence
from busproof.bus.base import DoorError
from busproof.bus.fleet import BusSpecError, Fleet, reference, warm_for
from busproof.contract.catalogue import catalogue
from busproof.lock import Taken, alone
from busproof.play.explore import corpus, retold
from busproof.play.explore.orders import ORDERS_MAX
from busproof.play.explore.script import Step, load, save
from busproof.play.explore.search import LENGTH, Program, invent, play, search
from busproof.play.explore.shrink import shrink
from busproof.play.explore.stage import Specification
from busproof.systems import SYSTEMS
from busproof.words import as_json, one_line, reason, say, shortened

PROGRESS_S = 5.0


def main(argv: Sequence[str]) -> int:
    """Parse, search, judge."""
    args = _parser().parse_args(list(argv))
    specification = SYSTEMS[args.system].model
    assert specification is not None
    if args.pack or args.unpack:
        return _pack(args)
    with contextlib.ExitStack() as stack:
        try:
            if not (args.coverage or args.gather or args.script):  # a search writes the script of a difference
                stack.enter_context(alone(args.out, "explore"))
            bus = args.bus or stack.enter_context(warm_for([args.system])).spec(reference(args.system))
            fleet = stack.enter_context(contextlib.closing(Fleet([bus], system=args.system)))
        except (BusSpecError, DoorError, Taken, OSError, ImportError, AttributeError) as error:
            say(f"busproof: {reason(error)}", sys.stderr)
            return 2
        try:
            return _explore(fleet, specification, args)
        except KeyboardInterrupt:
            print("busproof: interrupted; nothing is decided", file=sys.stderr)
            return 2


def _pack(args: argparse.Namespace) -> int:
    """Move scripts between files of their own and the packed file of their system."""
    if args.pack:
        print(f"packed: {', '.join(corpus.pack(args.system)) or 'no script, as none is long or numbered'}")
        return 0
    if args.unpack not in corpus.names(args.system):
        say(f"busproof: {args.system} has no script {args.unpack}", sys.stderr)
        return 2
    path = corpus.FOLDER / args.system / f"{args.unpack}.jsonl"
    save(path, corpus.scripts(args.system, only=[args.unpack])[args.unpack])
    print(f"wrote {path}")
    return 0


def _explore(fleet: Fleet, specification: Specification, args: argparse.Namespace) -> int:
    if specification.needs_clock and fleet.hello.clock != "manual":
        needs = "a clock that the kit can set (hello: clock manual; or --bus faketime:exec:CMD…)"
        print(f"busproof: the search needs {needs}", file=sys.stderr)
        return 2
    if args.coverage or args.gather:
        return _coverage(fleet, specification, args)
    if args.index:
        return _index(fleet, specification)
    if args.values:
        return _any_values(fleet, specification, args)
    return _replay(fleet, specification, args) if args.script else _search(fleet, specification, args)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="busproof explore",
        description="Play random programs on a bus and hold every whole answer against the model of its system.",
    )
    parser.add_argument("system", choices=sorted(name for name, system in SYSTEMS.items() if system.model is not None))
    parser.add_argument("--bus", default="", metavar="SPEC", help="the bus (default: the reference)")
    length = parser.add_mutually_exclusive_group()
    length.add_argument("--minutes", type=float, default=1.0, help="how long (default 1)")
    length.add_argument("--calls", type=int, help="how many calls instead")
    length.add_argument(
        "--values", type=int, metavar="N", help="instead, N programs whose values Hypothesis draws, of any kind"
    )
    parser.add_argument("--retold", action="store_true", help="programs that tell the scripts of the corpus anew")
    parser.add_argument("--seed", type=int, default=1, help="the first program's; the next has the next (default 1)")
    parser.add_argument("--out", type=Path, default=Path("busproof-out"), help="folder for the script of a difference")
    parser.add_argument("--script", metavar="FILE", help="play this script instead; a NAME is one of the corpus")
    parser.add_argument("--answers", action="store_true", help="of --script: show each call and its answer")
    parser.add_argument(
        "--gather", type=Path, metavar="DIR", help="write a small set of programs that reaches all that was reached"
    )
    parser.add_argument("--at-most", type=int, metavar="N", help="of --gather: write no more programs")
    parser.add_argument("--keep", action="store_true", help="of --coverage: keep it as evidence, in a checkout")
    parser.add_argument("--coverage", action="store_true", help="what the corpus reaches of the model (needs coverage)")
    parser.add_argument("--pack", action="store_true", help="put long and numbered scripts into the packed file")
    parser.add_argument("--unpack", metavar="NAME", help="make a packed script a file that can be read and changed")
    parser.add_argument("--index", action="store_true", help="write down which scripts of the corpus reach which rows")
    return parser


def _search(fleet: Fleet, specification: Specification, args: argparse.Namespace) -> int:
    began = told_at = time.monotonic()
    calls = programs = undecided = 0
    dialects: dict[str, str] = {}
    others: dict[tuple[str, ...], tuple[Program, int]] = {}  # rows of choices → the first that shows one, calls before
    seconds = None if args.calls else args.minutes * 60
    drawn = search(
        fleet,
        specification,
        seed=args.seed,
        seconds=seconds,
        calls=args.calls,
        each=lambda _: True,
        dialects=dialects,
        draw=retold.teller(args.system) if args.retold else invent,
    )
    for program in _until_interrupted(drawn):
        calls, programs = calls + program.seen.calls, programs + 1
        undecided += program.seen.undecided
        if is_broken(args.system, program):
            return _found(fleet, specification, args, program, dialects, calls - program.seen.calls)
        if program.mismatch is not None:
            others.setdefault(program.mismatch.rows, (program, calls - program.seen.calls))
        if sys.stderr.isatty() and time.monotonic() - told_at > PROGRESS_S:
            told_at = time.monotonic()
            print(f"  {calls:,} calls in {programs:,} programs, all as the model says", file=sys.stderr)
    spent_s = time.monotonic() - began
    for name, option in dialects.items():
        say(f"dialect: {one_line(name)}: {one_line(option)}")
    for program, before in others.values():
        _found(fleet, specification, args, program, dialects, before)
    same = "every other answer" if others else "every answer"
    print(f"{calls:,} calls in {programs:,} programs, {calls / spent_s:,.0f} calls/s: {same} is the model's")
    if undecided:
        print(f"Not judged: {undecided:,} races: more than {ORDERS_MAX} orders, or one in which a call is not asked")
    more = " --retold" if args.retold else ""
    print(f"More of it: busproof explore {_again(args)}{more} --minutes 10 --seed {args.seed + programs}")
    return 0


def _until_interrupted(drawn: Iterator[Program]) -> Iterator[Program]:
    """The programs; on Ctrl-C, tells the result until then, and raises it again."""
    calls = programs = 0
    try:
        for program in drawn:
            calls, programs = calls + program.seen.calls, programs + 1
            yield program
    except KeyboardInterrupt:
        print(f"busproof: {calls:,} calls in {programs:,} programs, no MUST broken by then", file=sys.stderr)
        raise


def _any_values(fleet: Fleet, specification: Specification, args: argparse.Namespace) -> int:
    """Hypothesis finds a program and makes it simple; then unnecessary steps go."""
    from busproof.play.explore import values  # and with it Hypothesis, a quarter of all other imports

    program = values.simplest(fleet, specification, seed=args.seed, examples=args.values)
    if program is not None:
        return _found(fleet, specification, args, program, {})
    print(f"{args.values:,} programs with any values: every answer is the model's")
    print(f"More of it: busproof explore {_again(args)} --values {10 * args.values} --seed {args.seed + 1}")
    return 0


def _again(args: argparse.Namespace) -> str:
    return str(args.system) + (f" --bus {shlex.quote(args.bus)}" if args.bus else "")


def _found(
    fleet: Fleet,
    specification: Specification,
    args: argparse.Namespace,
    program: Program,
    dialects: dict[str, str],
    done: int = 0,
) -> int:
    """Tell the shortest script of it; `done`: calls of the programs before it."""
    print(f"program {program.seed} differs; looking for the shortest script that shows it …", file=sys.stderr)
    small, is_certain = shrink(lambda steps: play(fleet, specification, steps, dict(dialects)), program)
    args.out.mkdir(parents=True, exist_ok=True)
    path = args.out / f"{args.system}-{program.seed}.jsonl"
    save(path, small.steps)
    code = tell(args.system, small)
    if not is_certain:
        print("It was seen once; the same script did not show it again: a matter of timing.")
    print(f"\nThe script, {len(small.steps)} steps, is {path}. Play it again:")
    print(f"  busproof explore {_again(args)} --script {shlex.quote(str(path))}")
    if dialects and play(fleet, specification, small.steps, {}).mismatch is None:
        choices = ", ".join(f"{one_line(name)}: {one_line(option)}" for name, option in dialects.items())
        more = " --retold" if args.retold else ""
        print(f"Alone it shows nothing: it contradicts what earlier programs showed ({choices}). Both again:")
        print(f"  busproof explore {_again(args)}{more} --seed {args.seed} --calls {done + program.seen.calls}")
    return code


def tell(system: str, program: Program) -> int:
    """Rows, both answers, the state; the exit code."""
    assert program.mismatch is not None
    rows = [row for name in program.mismatch.rows if (row := catalogue(system).get(name))]
    for row in rows:
        say(f"{row.id} ({row.level}): {row.text}")
    say(f"\n{program.mismatch.told()}")
    if program.mismatch.state:
        say(f"\nthe state before, as the model has it:\n{program.mismatch.state}")
    if is_broken(system, program):
        return 1
    print("\nNo MUST says so: the bus chose otherwise than the reference.")
    return 0


def is_broken(system: str, program: Program) -> bool:
    """Does it show more than a choice?"""
    if program.mismatch is None:
        return False
    rows = [row for name in program.mismatch.rows if (row := catalogue(system).get(name))]
    return not rows or any(row.level == "MUST" for row in rows)


def _replay(fleet: Fleet, specification: Specification, args: argparse.Namespace) -> int:
    try:
        is_name = args.script in corpus.names(args.system)
        steps = corpus.scripts(args.system, only=[args.script])[args.script] if is_name else load(Path(args.script))
    except (OSError, ValueError, KeyError) as error:
        say(f"busproof: {args.script}: {reason(error)}", sys.stderr)
        return 2
    dialects: dict[str, str] = {}
    program = play(fleet, specification, steps, dialects)
    for called in program.called if args.answers else ():
        params, seen = one_line(as_json(shortened(called.params))), one_line(as_json(shortened(called.seen)))
        say(f"{called.at!s:>4} {called.method} {params:.300}\n      → {seen:.500}")
    if program.mismatch is not None:
        return tell(args.system, program)
    musts = {row.id for row in catalogue(args.system).values() if row.level == "MUST"}
    broken = [name for name in program.learnt if name.partition(":")[0] in musts]
    for name, learnt in program.learnt.items():
        kind = "broken" if name in broken else "dialect"
        say(f"{kind}: {one_line(name)}: {one_line(dialects[name])}\n{learnt.told()}\n")
    left_out = program.seen.skipped + program.seen.undecided
    same = "every other answer" if program.learnt else "every answer"
    print(f"{program.seen.calls} calls, {left_out} left out: {same} is the model's")
    return 1 if broken else 0


def _coverage(fleet: Fleet, specification: Specification, args: argparse.Namespace) -> int:
    kept: dict[str, Program] = {}
    plays: dict[str, corpus.Play] = {}
    with contextlib.ExitStack() as stack:
        for suffix, member in _with_variants(fleet, specification, stack).items():
            scripts = corpus.scripts(args.system).items()
            plays |= {f"{name}{suffix}": _scripted(member, specification, steps) for name, steps in scripts}
            if args.gather:
                seeds = range(args.seed, args.seed + (args.calls or 1))
                plays |= {f"{seed:05}{suffix}": _invented(member, specification, seed, suffix, kept) for seed in seeds}
        try:
            reach = corpus.reached(specification, plays.items())
        except ImportError as error:
            print(f"busproof: --coverage needs more packages ({error.name}): pip install coverage", file=sys.stderr)
            return 2
    for name in corpus.chosen(reach, plays.keys() - kept.keys(), args.at_most) if args.gather else ():
        if name in kept:
            args.gather.mkdir(parents=True, exist_ok=True)
            save(args.gather / f"{name}.jsonl", kept[name].steps)
    measured = figures(specification, reach)
    print(json.dumps(measured, indent=2))
    if args.keep:
        print(f"wrote {evidence.update('coverage', [{'id': args.system, **measured}])}")
    return 0


def _with_variants(fleet: Fleet, specification: Specification, stack: contextlib.ExitStack) -> dict[str, Fleet]:
    """This fleet, and the reference with other promises, each with what its name ends in."""
    fleets = {"": fleet}
    for number, program in enumerate(specification.variants, 1):
        variant = Fleet([f"exec:{shlex.quote(sys.executable)} -m {program}"], system=specification.system)
        fleets[f"-v{number}"] = stack.enter_context(contextlib.closing(variant))
    return fleets


def _index(fleet: Fleet, specification: Specification) -> int:
    """Play the corpus, and write its index. 1 if the bus differs from the model."""
    programs: dict[str, Program] = {}
    differing: list[str] = []
    with contextlib.ExitStack() as stack:
        fleets = _with_variants(fleet, specification, stack).values()
        for name, steps in corpus.scripts(specification.system).items():
            plays = [play(member, specification, steps, is_measured=True) for member in fleets]
            differing += [name for program in plays if program.mismatch is not None]
            programs[name] = plays[0]
            for other in plays[1:]:
                programs[name].seen.add(other.seen)
    if differing:
        print(f"busproof: the index is not written: the bus differs in {', '.join(differing)}", file=sys.stderr)
        return 1
    path = corpus.write_index(specification.system, programs)
    print(f"wrote {path}")
    return 0


def _scripted(fleet: Fleet, specification: Specification, steps: list[Step]) -> corpus.Play:
    return lambda: play(fleet, specification, steps, is_measured=True)


def _invented(
    fleet: Fleet, specification: Specification, seed: int, suffix: str, kept: dict[str, Program]
) -> corpus.Play:
    def invented() -> Program:
        program = invent(fleet, specification, seed, LENGTH, is_measured=True)
        if program.mismatch is None:
            kept[f"{seed:05}{suffix}"] = program
        return program

    return invented


def figures(specification: Specification, reach: corpus.Reached) -> dict[str, Any]:
    """The reach of a corpus, in numbers, and the remaining gaps."""
    edges, pairs = set(specification.edges), corpus.pairs_possible(specification)
    reached = corpus.pairs_reached(reach.pairs) & pairs
    rows = {row.id for row in catalogue(specification.system).values() if row.check}
    return {
        "scripts": len(corpus.names(specification.system)),
        "branches": f"{reach.arcs_all - len(reach.missing)} of {reach.arcs_all}",
        "branches left": reach.missing,
        "edges": f"{len(edges & reach.edges)} of {len(edges)}",
        "edges left": sorted(edges - reach.edges),
        "pairs": f"{len(reached)} of {len(pairs)}",
        "pairs left": sorted(pairs - reached),
        "meetings": f"{len(reach.meetings):,}",
        "recalls": f"{len(reach.recalls):,}",
        "races of too many orders, not judged": reach.undecided,
        "rows": f"{len(rows & reach.rows)} of {len(rows)}",
        "of model and scripts": corpus.digest(specification),
    }
