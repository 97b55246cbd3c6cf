"""`python conformance/measure/run.py`: which mutants of the reference does `busproof check` kill?

cosmic-ray makes them; a bus with one is judged as a stranger's would be: the corpus first, and where nothing differs,
all else that `check` plays. The first failure ends it. Results are lines of docs/mutation/GROUP.jsonl, the last of a
mutant counts; what has one is not judged again, so a run can be broken off, and several can share the work (`--shard
1/2`). With `--corpus-only` what survives is `left`: a run without it asks the rest.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import itertools
import json
import shlex
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mutate import REFBUS, Mutation, drawn
from reach import Reach

from busproof.adapters.base import DoorError
from busproof.catalogue import catalogue
from busproof.explore import corpus
from busproof.explore.search import Program
from busproof.explore.stage import Refusal
from busproof.fleet import Fleet
from busproof.protocol import CONTRACTS
from busproof.runner import CORPUS, item_names, run_item
from busproof.systems import SYSTEMS
from busproof.warm import Warm

HERE = Path(__file__).parent
RESULTS = HERE.parents[1] / "docs" / "mutation"
JUDGES = {"worker": ("worker",), "comms": ("comms",), "topics": ("topics",), "kernel": ("worker", "comms", "topics")}
SEED = 10
DIED = ("INTERNAL", "LOST")
LEFT = "left"


def main() -> int:
    """Draw, judge, write down."""
    args = _parser().parse_args()
    number, shards = map(int, args.shard.split("/"))
    for group in args.group or JUDGES:
        path = args.out / f"{group}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        done = {line["mutant"]: line["outcome"] for line in _lines(path)}
        final = {name for name, outcome in done.items() if args.corpus_only or outcome != LEFT}
        todo = [one for one in itertools.islice(drawn(group, SEED), args.sample) if one.key not in final]
        if not todo[number - 1 :: shards]:
            continue
        with Warm(_imports()) as warm, tempfile.TemporaryDirectory() as folder:
            judge = Judge(warm, Path(folder), is_whole=not args.corpus_only)
            judge.know(JUDGES[group])
            for mutation in todo[number - 1 :: shards]:
                told = judge.told(group, mutation, is_left=mutation.key in done)
                with path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(told) + "\n")
                print(group, told["mutant"], told["outcome"], told["by"], file=sys.stderr, flush=True)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Judge mutants of the reference by busproof check.")
    parser.add_argument("group", nargs="*", choices=[*JUDGES, []], help="kernel, or a face (default: all)")
    parser.add_argument("--sample", type=int, metavar="N", help="the first N sites of the draw (default: all)")
    parser.add_argument("--shard", default="1/1", metavar="I/N", help="every N-th of those that are left")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the results")
    parser.add_argument("--corpus-only", action="store_true", help="do not play what comes after the corpus")
    return parser


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def _imports() -> list[str]:
    """Modules of the standard library that the reference imports: the warm process has them, and nothing of it."""
    found = set()
    for path in REFBUS.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {name.name for name in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                found.add(node.module)
    return sorted(name for name in found if name.partition(".")[0] in sys.stdlib_module_names)


class Judge:
    """Plays what `check` plays, in an order that kills soon."""

    def __init__(self, warm: Warm, folder: Path, *, is_whole: bool) -> None:
        self._warm, self._folder, self._is_whole = warm, folder, is_whole
        self._scripts = {system: corpus.scripts(system) for system in SYSTEMS}
        self._kills: Counter[str] = Counter()
        self._reach: dict[str, Reach] = {}

    def know(self, systems: tuple[str, ...]) -> None:
        """Which scripts reach what; and that the reference itself survives each, started the same way."""
        source = (REFBUS / "kernel" / "__init__.py").read_text(encoding="utf-8")
        for system in systems:

            def play(name: str, system: str = system) -> None:
                with contextlib.closing(self._fleet(system, "refbus.kernel", source)) as fleet:
                    specification = SYSTEMS[system].model
                    assert specification is not None
                    found = corpus.replay(fleet, specification, {name: self._scripts[system][name]})
                    if found.broken or found.dialects:
                        sys.exit(f"the reference itself does not survive {name}")

            self._reach[system] = Reach(play, self._scripts[system], self._folder)

    def told(self, group: str, mutation: Mutation, *, is_left: bool) -> dict[str, Any]:
        """A mutant and what became of it, as a line of the results."""
        outcome, by, rows = "", "", list[str]()
        for system in JUDGES[group]:
            outcome, by, rows = self._judged(system, mutation, is_left=is_left)
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

    def _judged(self, system: str, mutation: Mutation, *, is_left: bool) -> tuple[str, str, list[str]]:
        """killed, broke down (no answer, or INTERNAL), dialect (only warnings), survived or left; by what; rows."""
        scripts = [] if is_left else self._reach[system].scripts(mutation)
        if not scripts and not self._is_whole:
            return LEFT, "", []
        try:
            with contextlib.closing(self._fleet(system, mutation.module, mutation.source)) as fleet:
                verdicts = self._verdicts(fleet, system, scripts)
                dialect = None
                for verdict in verdicts:
                    if verdict[0] != "dialect":
                        return verdict
                    dialect = dialect or verdict
                return dialect or ("survived" if self._is_whole else LEFT, "", [])
        except (DoorError, OSError) as error:
            return "broke down", f"{system} start: {error!s:.80}", []

    def _fleet(self, system: str, module: str, source: str) -> Fleet:
        file = self._folder / "mutated.py"
        file.write_text(source, encoding="utf-8")
        contract = CONTRACTS[system]
        argv = [sys.executable, str(HERE / "iut.py"), module, str(file), contract.reference]
        return Fleet([self._warm.spec(f"{contract.scheme}:{shlex.join(argv)}")], system=system)

    def _verdicts(self, fleet: Fleet, system: str, names: list[str]) -> Iterator[tuple[str, str, list[str]]]:
        specification, rows = SYSTEMS[system].model, catalogue(system)
        assert specification is not None
        scripts = self._scripts[system]
        dialects: dict[str, str] = {}
        for name in sorted(names, key=lambda one: -self._kills[f"{system} corpus {one}"]):
            found = corpus.replay(fleet, specification, {name: scripts[name]}, dialects)
            new = found.dialects.keys() - dialects.keys()
            dialects = found.dialects
            by = f"{system} corpus {name}"
            for program in found.broken.values():
                self._kills[by] += 1
                broken = list(program.mismatch.rows) if program.mismatch else []
                is_must = any(rows[one].level == "MUST" for one in broken if one in rows) or not broken
                yield ("broke down" if _died(program) else "killed" if is_must else "dialect", by, broken)
            if new:
                yield "dialect", by, sorted(one.partition(":")[0] for one in new)
        for item in item_names(system) if self._is_whole else ():
            if item != CORPUS:
                yield from self._of_item(fleet, system, item)

    def _of_item(self, fleet: Fleet, system: str, item: str) -> Iterator[tuple[str, str, list[str]]]:
        results = run_item(fleet, item, seed=1)
        for outcome, said in (("fail", "killed"), ("warn", "dialect")):
            broken = sorted(one.requirement for one in results if one.outcome == outcome)
            if broken:
                yield said, f"{system} {item}", broken


def _died(program: Program) -> bool:
    mismatch = program.mismatch
    return mismatch is not None and any(
        isinstance(one.seen, Refusal) and one.seen.code in DIED for one in mismatch.called
    )


if __name__ == "__main__":
    sys.exit(main())
