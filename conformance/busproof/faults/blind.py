"""Does `check` find a change of the reference that somebody made who had not looked at the kit?

The change is a unified diff. It is applied to a worktree of the commit that it was written against, or of HEAD, and
the bus of that worktree is judged by the kit as it is today, the short scripts first, until a MUST fails.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from busproof.bus.fleet import Fleet, reference, warm_for
from busproof.contract.catalogue import CORPUS
from busproof.play.explore import corpus
from busproof.run.rows import item_names
from busproof.run.runner import run_item

ROOT = Path(__file__).parents[3]
SEED = 1


def judged_blind(diff: Path, commit: str, system: str, door: str = "") -> dict[str, Any]:
    """The item that finds it, and rows; by None if nothing does; or the error, if the diff does not apply."""
    with (
        tempfile.TemporaryDirectory(prefix="busproof-blind-") as folder,
        _worktree(Path(folder) / "kit", commit) as kit,
    ):
        paths = [*("-p1", "--directory=reference") * (not _names_reference(diff)), str(diff.resolve())]
        applied = subprocess.run(["git", "apply", *paths], cwd=kit, capture_output=True, text=True, check=False)
        if applied.returncode:
            return {"by": None, "error": f"it does not apply to {commit}: {applied.stderr.strip()[:200]}"}
        path = os.pathsep.join([str(kit / "reference"), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        # In a process of its own, which imports the faulty reference.
        argv = [sys.executable, "-m", "busproof.faults.blind", system, door]
        judged = subprocess.run(argv, env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, check=True)
        verdict: dict[str, Any] = json.loads(judged.stdout)
        return verdict


def _names_reference(diff: Path) -> bool:
    return "+++ b/reference/" in diff.read_text(encoding="utf-8")


@contextmanager
def _worktree(folder: Path, commit: str) -> Iterator[Path]:
    git = ["git", "-C", str(ROOT), "worktree"]
    subprocess.run([*git, "add", "--quiet", "--detach", str(folder), commit], check=True)
    try:
        yield folder
    finally:
        subprocess.run([*git, "remove", "--force", str(folder)], check=True)


def items_of(system: str) -> list[str]:
    """All that `check` plays on a bus alone, the short scripts first."""
    scripts = corpus.scripts(system)
    items = [f"{CORPUS}:{name}" for name in sorted(scripts, key=lambda name: len(scripts[name]))]
    return items + [name for name in item_names(system) if name != CORPUS]


def first_failure(system: str, bus: str) -> dict[str, Any]:
    """The first item that fails a MUST, and its rows; rows that warned before it."""
    warned: set[str] = set()
    with closing(Fleet([bus], system=system)) as fleet:
        for item in items_of(system):
            results = run_item(fleet, item, seed=SEED)
            failed = sorted({each.requirement for each in results if each.outcome == "fail"})
            warned |= {each.requirement for each in results if each.outcome == "warn"}
            if failed:
                return {"by": item, "rows": failed, "warned": sorted(warned)}
    return {"by": None, "rows": [], "warned": sorted(warned)}


if __name__ == "__main__":
    with warm_for([sys.argv[1]]) as started:
        print(json.dumps(first_failure(sys.argv[1], sys.argv[2] + started.spec(reference(sys.argv[1])))))
