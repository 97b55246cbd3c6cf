"""`python conformance/measure/run.py`: which mutants of the reference does `busproof check` kill?

cosmic-ray makes them; a bus with one is judged as a stranger's would be: the corpus first, and where nothing differs,
all else that `check` plays. The first failure ends it. Results are lines of busproof-out/mutation/GROUP.jsonl,
the last of a mutant counts; a mutant with one is not judged again, so a run can be broken off, and several can share
the work (`--shard 1/2`). With `--corpus-only` a survivor is `left`: a run without it asks the rest. `--again` asks once
more of mutants not killed; `--chaos` asks `busproof chaos` of them. A `--seed` draws other sites: once the kit was
mended after a draw, that draw is no measure of it any more.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import hashlib
import itertools
import json
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from by_chaos import asked_of_chaos
from mutate import REFBUS, Mutation, drawn
from reach import Reach

from busproof import evidence
from busproof.bus.base import DoorError
from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import CORPUS, catalogue
from busproof.play.explore import corpus
from busproof.play.explore.search import Program
from busproof.play.explore.stage import Refusal
from busproof.run.rows import item_names
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "busproof-out" / "mutation"
BY_MEANING = "topics that search by meaning"
ON_NATS = "timeline on NATS"
JUDGES = {system: (system,) for system in SYSTEMS} | {
    "topics": ("topics", BY_MEANING),
    "timeline": ("timeline", ON_NATS),
    "kernel": tuple(SYSTEMS),
}
# A fault in a part that is not switched on cannot be seen: these modules are judged on a bus with more parts.
MODULES = {
    BY_MEANING: ("refbus.topics.search",),
    ON_NATS: tuple(
        f"refbus.timeline.{name}" for name in ("config", "jetstream", "message", "natsclient", "store", "stream")
    ),
}
ENVIRONMENT = {BY_MEANING: ["AGENT_BUS_EMBEDDING_MODEL=hash-256"]}
DOORS = {ON_NATS: "nats:"}
ITEMS = {BY_MEANING: "search."}  # the prefix of scenarios' names, where others say nothing
SEED = 10
SCRIPT = "corpus "  # the prefix of a script's name, where scenarios stand beside it
DIED = ("INTERNAL", "LOST")
LEFT = "left"  # only the corpus was asked
ALIVE, BY_CHAOS = ("survived", LEFT), "by chaos"


def main() -> int:
    """Draw, judge, write down."""
    args = _parser().parse_args()
    number, shards = map(int, args.shard.split("/"))

    def is_final(line: dict[str, Any] | None) -> bool:
        alive = ALIVE if args.chaos or args.again else () if args.corpus_only else (LEFT,)
        return line is not None and line["outcome"] not in alive

    for group in args.group or JUDGES:
        path = args.out / f"{group}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        done = {line["mutant"]: line for line in _lines(path)}
        elsewhere = {_place(line) for line in done.values() if line.get("seed", SEED) != args.seed}
        fresh = (m for m in drawn(group, args.seed) if _place(vars(m)) not in elsewhere)
        todo = [m for m in itertools.islice(fresh, args.sample) if not is_final(done.get(m.key))]
        if args.mutant:
            todo = [m for m in todo if m.key in args.mutant]
        if args.chaos:
            todo = [m for m in todo if m.key in done and m.key not in _equivalent()]
        if not todo[number - 1 :: shards]:
            continue
        with Warm(_imports()) as warm, tempfile.TemporaryDirectory() as folder:
            judge = Judge(warm, Path(folder), is_whole=not args.corpus_only)
            for mutation in todo[number - 1 :: shards]:
                if args.chaos:
                    line = done[mutation.key] | judge.told_by_chaos(group, mutation)
                else:
                    is_left = mutation.key in done and not args.again
                    line = judge.told(group, mutation, is_left=is_left) | {"seed": args.seed}
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(line) + "\n")
                print(group, line["mutant"], line["outcome"], line["by"], file=sys.stderr, flush=True)
    return 0


def _place(line: dict[str, Any]) -> tuple[str, ...]:
    """A site, so that another draw is of others."""
    return line["module"], line["definition"], line["before"], line["operator"].partition("_")[0]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Judge mutants of the reference by busproof check.")
    parser.add_argument("group", nargs="*", choices=[*JUDGES, []], help="kernel, or a face (default: all)")
    parser.add_argument("--sample", type=int, metavar="N", help="the first N sites of the draw (default: all)")
    parser.add_argument("--mutant", action="append", metavar="KEY", help="this one of the draw alone; again for more")
    parser.add_argument("--seed", type=int, default=SEED, metavar="N", help="which draw (default: %(default)s)")
    parser.add_argument("--again", action="store_true", help="judge once more what is left or survived")
    parser.add_argument("--chaos", action="store_true", help="ask chaos what is left or survived")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="every N-th of those that are left")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--corpus-only", action="store_true", help="do not play what comes after the corpus")
    return parser


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _equivalent() -> set[str]:
    """Mutants of which the evidence says why no bus that differs so breaks any sentence."""
    return {line["mutant"] for line in evidence.read("mutation").values() if "equivalent" in line.get("why", "")}


def _imports() -> list[str]:
    """Modules of the standard library that the reference imports: the warm process has them, and nothing of it."""
    modules = set()
    for path in REFBUS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                modules.add(node.module)
    return sorted(name for name in modules if name.partition(".")[0] in sys.stdlib_module_names)


class Judge:
    """Plays the items of `check`, in an order that kills soon."""

    def __init__(self, warm: Warm, folder: Path, *, is_whole: bool) -> None:
        self._warm, self._folder, self._is_whole = warm, folder, is_whole
        self._scripts = {system: corpus.scripts(system) for system in SYSTEMS}
        self._kills: Counter[str] = Counter()
        self._reach: dict[str, Reach] = {}

    def _known(self, bench: str) -> Reach:
        """The reach of scripts and scenarios; the reference itself must survive each, started the same way."""
        if bench not in self._reach:
            system = _system(bench)
            source = (REFBUS / "kernel" / "__init__.py").read_text(encoding="utf-8")

            def play(name: str) -> None:
                with contextlib.closing(self._fleet(bench, "refbus.kernel", source)) as fleet:
                    for verdict in self._verdicts(fleet, bench, [name]):
                        sys.exit(f"the reference itself does not survive {name}: {verdict}")

            scripts = [SCRIPT + name for name in self._scripts[system]]
            items = [item for item in item_names(system) if item != CORPUS and item.startswith(ITEMS.get(bench, ""))]
            self._reach[bench] = Reach(play, scripts + items * self._is_whole, _kept(bench))
        return self._reach[bench]

    def told(self, group: str, mutation: Mutation, *, is_left: bool) -> dict[str, Any]:
        """A mutant and its fate, as a line of the results."""
        outcome, by, rows = "", "", list[str]()
        for bench in JUDGES[group]:
            if mutation.module not in MODULES.get(bench, (mutation.module,)):
                continue
            outcome, by, rows = self._judged(bench, mutation, is_left=is_left)
            if outcome not in ("survived", LEFT):
                break
        return {
            "mutant": mutation.key,
            "module": mutation.module,
            "definition": mutation.definition,
            "line": mutation.line,
            "operator": mutation.operator,
            "before": mutation.before,
            "after": mutation.after,
            "outcome": outcome,
            "by": by,
            "rows": rows,
        }

    def told_by_chaos(self, group: str, mutation: Mutation) -> dict[str, Any]:
        """The changes to a line of the results when chaos is asked, too; unknown if it could not be played."""
        verdicts = set[str]()
        for bench in JUDGES[group]:
            if mutation.module in MODULES.get(bench, (mutation.module,)):
                bus = self._bus(bench, mutation.module, mutation.source)
                verdict, rows = asked_of_chaos(_system(bench), bus)
                if verdict == "invalid":
                    return {"outcome": BY_CHAOS, "by": f"{bench} chaos", "rows": rows, "chaos": verdict}
                verdicts.add(verdict)
        return {"chaos": "unknown" if "unknown" in verdicts else "valid"}

    def _judged(self, bench: str, mutation: Mutation, *, is_left: bool) -> tuple[str, str, list[str]]:
        """killed, broke down (no answer, or INTERNAL), dialect (only warnings), survived or left; by what; rows."""
        names = [name for name in self._known(bench).those(mutation) if not (is_left and name.startswith(SCRIPT))]
        if not names and not self._is_whole:
            return LEFT, "", []
        try:
            with contextlib.closing(self._fleet(bench, mutation.module, mutation.source)) as fleet:
                verdicts = self._verdicts(fleet, bench, names)
                dialect = None
                for verdict in verdicts:
                    if verdict[0] != "dialect":
                        return verdict
                    dialect = dialect or verdict
                return dialect or ("survived" if self._is_whole else LEFT, "", [])
        except (DoorError, OSError) as error:
            return "broke down", f"{bench} start: {error!s:.80}", []

    def _bus(self, bench: str, module: str, source: str) -> str:
        """How a bus with this module is started: a program of its own."""
        file = self._folder / "mutated.py"
        file.write_text(source, encoding="utf-8")
        contract = CONTRACTS[_system(bench)]
        argv = [
            sys.executable,
            str(HERE / "iut.py"),
            module,
            str(file),
            contract.reference,
            *ENVIRONMENT.get(bench, ()),
        ]
        return DOORS.get(bench, "") + f"{contract.scheme}:{shlex.join(argv)}"

    def _fleet(self, bench: str, module: str, source: str) -> Fleet:
        door = DOORS.get(bench, "")
        spec = self._warm.spec(self._bus(bench, module, source).removeprefix(door))
        return Fleet([door + spec], system=_system(bench))

    def _verdicts(self, fleet: Fleet, bench: str, names: list[str]) -> Iterator[tuple[str, str, list[str]]]:
        """The verdicts of scripts first, then of scenarios; those that killed before come first."""
        dialects: dict[str, str] = {}
        for name in sorted(names, key=lambda key: (not key.startswith(SCRIPT), -self._kills[f"{bench} {key}"])):
            by, is_script = f"{bench} {name}", name.startswith(SCRIPT)
            of_one = self._of_script(fleet, name, dialects) if is_script else _of_item(fleet, name)
            for outcome, broken in of_one:
                self._kills[by] += outcome != "dialect"
                yield outcome, by, broken

    def _of_script(self, fleet: Fleet, name: str, dialects: dict[str, str]) -> Iterator[tuple[str, list[str]]]:
        specification, rows = SYSTEMS[fleet.system].model, catalogue(fleet.system)
        assert specification is not None
        script = name.removeprefix(SCRIPT)
        replay = corpus.replay(fleet, specification, {script: self._scripts[fleet.system][script]}, dialects)
        new = replay.dialects.keys() - dialects.keys()
        dialects.clear()
        dialects.update(replay.dialects)
        for program in replay.broken.values():
            broken = list(program.mismatch.rows) if program.mismatch else []
            is_must = any(rows[row].level == "MUST" for row in broken if row in rows) or not broken
            yield ("broke down" if _died(program) else "killed" if is_must else "dialect", broken)
        if new:
            yield "dialect", sorted(choice.partition(":")[0] for choice in new)


def _of_item(fleet: Fleet, item: str) -> Iterator[tuple[str, list[str]]]:
    results = run_item(fleet, item, seed=1)
    for outcome, word in (("fail", "killed"), ("warn", "dialect")):
        broken = sorted(result.requirement for result in results if result.outcome == outcome)
        if broken:
            yield word, broken


def _kept(bench: str) -> Path:
    """The place of the reach, for other shards and later runs: as long as reference and kit stay as they are."""
    state, kit = hashlib.sha256(bench.encode()), corpus.FOLDER.parent
    for folder in (REFBUS, corpus.FOLDER / _system(bench), kit / "play" / "scenarios" / _system(bench)):
        for path in sorted([*folder.rglob("*.py"), *folder.rglob("*.jsonl")]):
            state.update(path.read_bytes())
    return Path(tempfile.gettempdir()) / f"busproof-reached-{state.hexdigest()[:16]}"


def _system(bench: str) -> str:
    return bench.partition(" ")[0]


def _died(program: Program) -> bool:
    mismatch = program.mismatch
    return mismatch is not None and any(
        isinstance(call.seen, Refusal) and call.seen.code in DIED for call in mismatch.called
    )


if __name__ == "__main__":
    sys.exit(main())
