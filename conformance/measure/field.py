"""`python conformance/measure/field.py [--only ROW] [NAME…]`: installs public buses, and judges each of them again.

Each bus of conformance/examples/field has an environment of its own, in a folder that is removed. The rows that fail
must be those of its expected.toml, less `mailbox.log.20`: the search repeats what other rows say. `--only` tries a new
row in a minute a bus. `uv` installs the packages. Exit code: 0, or 1 if a bus was judged otherwise, or 2 if a bus could
not be judged here.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from busproof.pages.report import lines

FIELD = Path(__file__).parents[1] / "examples" / "field"
SEARCH = {"mailbox.log.20"}
SAME, OTHERWISE, UNKNOWN = 0, 1, 2


def install(package: str, folder: Path, python: str = "") -> Path:
    """The folder of the bus's programs. The package is one of a registry's, or the program of a Debian package.

    `python`: a version that the package needs, if ours is none.
    """
    registry, _, name = package.partition(" ")
    if registry == "pip":
        version = ["--python", python] if python else []
        subprocess.run(["uv", "venv", "--quiet", *version, str(folder / "venv")], check=True)
        own = str(folder / "venv" / "bin" / "python")
        subprocess.run(["uv", "pip", "install", "--quiet", "--python", own, *name.split()], check=True)
        return folder / "venv" / "bin"
    if registry == "npm":
        subprocess.run(["npm", "install", "--silent", "--ignore-scripts", "--prefix", str(folder), name], check=True)
        return folder / "node_modules" / ".bin"
    program = shutil.which(name)
    if registry != "program" or program is None:
        raise FileNotFoundError(f"{name} is not on this machine")
    return Path(program).parent


def judge(name: str, folder: Path, row: str | None = None) -> int:
    """One bus, by all rows or one, and a line that says how it went."""
    shutil.copytree(FIELD / name, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_modules"))
    expected = tomllib.loads((folder / "expected.toml").read_text(encoding="utf-8"))
    try:
        path = f"{install(expected['package'], folder, expected.get('python', ''))}{os.pathsep}{os.environ['PATH']}"
    except (OSError, subprocess.CalledProcessError) as error:
        print(f"{name}: could not be installed: {error}")
        return UNKNOWN
    bus = expected.get("adapter", "toml:bus.toml")
    options = ["--bus", bus, "--seed", "1", "--quiet", "--budget", "40m", "--out", "out"]
    options += ["--only", row] if row else []
    command = [sys.executable, "-m", "busproof", "check", "mailbox", *options]
    subprocess.run(command, cwd=folder, env={**os.environ, "PATH": path}, check=False)
    report = lines.load(folder / "out" / "report.jsonl")
    asked = {row} if row else {*report.footer["failed"], *expected.get("failed", {})} - SEARCH
    failed, wanted = asked.intersection(report.footer["failed"]), asked.intersection(expected.get("failed", {}))
    if failed != wanted:
        print(f"{name}: fails {sorted(failed - wanted)} too, and no more {sorted(wanted - failed)}")
        return OTHERWISE
    if report.verdict not in ("valid", "invalid"):
        print(f"{name}: {report.verdict}")
        return UNKNOWN
    print(f"{name}: {report.verdict}, as expected")
    return SAME


def main(argv: list[str]) -> int:
    """All of them, or those that are named."""
    parser = argparse.ArgumentParser(description="install public buses, and judge each of them again")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a folder of conformance/examples/field; default: all")
    parser.add_argument("--only", metavar="ROW", help="by this row alone")
    args = parser.parse_args(argv)
    worst = SAME
    for name in args.names or sorted(path.parent.name for path in FIELD.glob("*/expected.toml")):
        with tempfile.TemporaryDirectory(prefix="busproof-field-") as folder:
            outcome = judge(name, Path(folder), args.only)
            worst = OTHERWISE if OTHERWISE in (worst, outcome) else max(worst, outcome)
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
