"""Running a file of several benches: each in a folder of its own, its figures saved, its faults told."""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compare import save

Bench = Callable[[Path, argparse.Namespace], tuple[dict[str, Any], list[str]]]


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all of them take; the benches are added as subcommands whose default `run` is a Bench."""
    made = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--folder", type=Path, help="where the files are made (default: the system's temporary folder)")
    return made


def main(system: str, arguments: argparse.Namespace) -> int:
    """Run the one that is asked for. Exits with 1 if something is broken; speed only says met or NOT MET."""
    # Ended by SIGTERM it leaves its blocks, so that no server and no worker outlives it.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    folder = Path(tempfile.mkdtemp(prefix="refbus-bench-", dir=arguments.folder))
    run: Bench = arguments.run
    try:
        figures, broken = run(folder, arguments)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    for fault in broken:
        print(f"BROKEN: {fault}")
    save(f"{system}-{arguments.command}", {**figures, "broken": broken})
    return 1 if broken else 0
