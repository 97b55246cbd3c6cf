"""The bars of timeline, measured on both of its backends with the same agents.

    python reference/bench/timeline.py workers [--workers 1 3 10] [--timelines 1 100 10000] [--requests 600]
    python reference/bench/timeline.py latency [--messages 500]
    python reference/bench/timeline.py growth  [--stored 1000000]

Exits with 1 if something was lost or stuck. Speed only says met or NOT MET: it depends on the machine, too.
"""

from __future__ import annotations

import argparse
import sys

import benches
import timeline_growth
import timeline_latency
import timeline_workers


def _parser() -> argparse.ArgumentParser:
    parser = benches.parser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    workers = commands.add_parser("workers", help="requests a second by the number of workers of a 5 ms service")
    workers.add_argument("--workers", type=int, nargs="+", default=[1, 3, 10])
    workers.add_argument("--timelines", type=int, nargs="+", default=[1, 100, 10_000])
    workers.add_argument("--requests", type=int, default=600)
    workers.add_argument("--call-ms", type=float, default=5.0)
    workers.set_defaults(run=timeline_workers.run)
    latency = commands.add_parser("latency", help="from send in one process to fetch in another")
    latency.add_argument("--messages", type=int, default=500)
    latency.set_defaults(run=timeline_latency.run)
    for command in (workers, latency):
        command.add_argument("--backends", nargs="+", choices=("sqlite", "nats"), default=["sqlite", "nats"])
    growth = commands.add_parser("growth", help="what a request costs behind a long record")
    growth.add_argument("--stored", type=int, default=1_000_000)
    growth.add_argument("--rounds", type=int, default=15)
    growth.set_defaults(run=timeline_growth.run)
    return parser


if __name__ == "__main__":
    sys.exit(benches.main("timeline", _parser().parse_args()))
