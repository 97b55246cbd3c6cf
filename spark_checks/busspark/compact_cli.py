"""`busproof compact PATH… --into DIR`: histories as compact streams, which both engines read."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from busproof.contract.history import HistoryError
from busproof.words import say
from busspark.compact import compact
from busspark.sources import histories


def main(argv: Sequence[str] | None = None) -> int:
    """Exit 0 if all was written, 2 if not."""
    parser = argparse.ArgumentParser(prog="busproof compact", description=__doc__)
    parser.add_argument("paths", nargs="+", metavar="PATH", help="histories, folders or patterns of them")
    parser.add_argument("--into", type=Path, required=True, metavar="DIR", help="where the streams go")
    parser.add_argument("--jobs", type=int, default=0, metavar="N", help="processes (default: one for each core)")
    args = parser.parse_args(argv)
    started = time.monotonic()
    try:
        abouts = compact(histories(args.paths), args.into, args.jobs)
    except (HistoryError, OSError) as error:
        say(f"busproof: {error}", sys.stderr)
        return 2
    events, took = sum(about.lines for about in abouts), time.monotonic() - started
    say(f"{len(abouts)} runs, {events:,} events in {took:.1f} s: {args.into}", sys.stderr)
    for about in abouts:
        if about.damage:
            say(f"damaged: {about.source}: {about.damage}", sys.stderr)
    return 0
