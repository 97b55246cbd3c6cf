"""`python conformance/measure/blind.py docs/blind/trial-4 [relay-05 …]`: which faults of a blind trial `check` finds.

A fault is SYSTEM-NN.diff in that folder, a change of reference/refbus. Each is applied to a copy, and its bus gets the
items that `check` plays on a bus alone, the short scripts first, until a MUST fails. A line for each goes to stdout:
the item that found it, the rows, the warnings. A fault that no longer applies is reported. `--nats` asks on JetStream;
`--chaos` asks chaos as well, if `check` found nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from by_chaos import asked_of_chaos

from busproof.bus.fleet import Fleet, reference, warm_for
from busproof.contract.catalogue import CORPUS
from busproof.play.explore import corpus
from busproof.run.runner import RowResult, item_names, run_item

ROOT = Path(__file__).parents[2]
SEED = 1


def main() -> int:
    """Judge them one by one."""
    parser = argparse.ArgumentParser(description="Judge the faults of a blind trial by busproof check.")
    parser.add_argument("trial", type=Path, help="folder of SYSTEM-NN.diff")
    parser.add_argument("fault", nargs="*", help="SYSTEM-NN (default: all)")
    parser.add_argument("--nats", action="store_true", help="timeline on JetStream")
    parser.add_argument("--chaos", action="store_true", help="ask chaos what check did not find")
    parser.add_argument("--judged-here", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.judged_here:
        print(json.dumps(_judged(args.judged_here, is_on_nats=args.nats)))
        return 0
    for diff in sorted(args.trial.glob("*.diff")):
        if not args.fault or diff.stem in args.fault:
            judged = _of(diff.resolve(), asks_chaos=args.chaos, is_on_nats=args.nats)
            print(json.dumps({"fault": diff.stem} | judged), flush=True)
    return 0


def _of(diff: Path, *, asks_chaos: bool, is_on_nats: bool) -> dict[str, Any]:
    """In a process of its own, which imports the faulty reference."""
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "reference" / "refbus", Path(folder) / "reference" / "refbus")
        patch = subprocess.run(["git", "apply", str(diff)], cwd=folder, capture_output=True, text=True, check=False)
        if patch.returncode:
            return {"error": f"does not apply: {patch.stderr.strip()[:200]}"}
        system = diff.stem.partition("-")[0]
        argv = [sys.executable, __file__, str(diff.parent), "--judged-here", system, *["--nats"] * is_on_nats]
        path = os.pathsep.join([str(Path(folder) / "reference"), os.environ.get("PYTHONPATH", "")])
        environment = {**os.environ, "PYTHONPATH": path}
        judged = subprocess.run(argv, env=environment, stdout=subprocess.PIPE, check=True)
        found: dict[str, Any] = json.loads(judged.stdout)
        if asks_chaos and found["by"] is None:
            verdict, rows = asked_of_chaos(system, "nats:" * is_on_nats + reference(system), environment)
            found |= {"by": "chaos", "rows": rows} if verdict == "invalid" else {"chaos": verdict}
        return found


def _judged(system: str, *, is_on_nats: bool) -> dict[str, Any]:
    """The first item that fails a MUST, and its rows; rows that warned before it."""
    warned: set[str] = set()
    for item, results in _played(system, is_on_nats=is_on_nats):
        failed = sorted({one.requirement for one in results if one.outcome == "fail"})
        warned |= {one.requirement for one in results if one.outcome == "warn"}
        if failed:
            return {"by": item, "rows": failed, "warned": sorted(warned)}
    return {"by": None, "rows": [], "warned": sorted(warned)}


def items_of(system: str) -> list[str]:
    """All that `check` plays on a bus alone, the short scripts first."""
    scripts = corpus.scripts(system)
    items = [f"{CORPUS}:{name}" for name in sorted(scripts, key=lambda name: len(scripts[name]))]
    return items + [name for name in item_names(system) if name != CORPUS]


def _played(system: str, *, is_on_nats: bool) -> Iterator[tuple[str, list[RowResult]]]:
    with warm_for([system]) as warm:
        spec = ("nats:" if is_on_nats else "") + warm.spec(reference(system))
        with closing(Fleet([spec], system=system)) as fleet:
            for item in items_of(system):
                yield item, run_item(fleet, item, seed=SEED)


if __name__ == "__main__":
    sys.exit(main())
