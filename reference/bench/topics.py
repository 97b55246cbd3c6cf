"""The targets of the topics bus, measured on real MCP server processes (`sync`: in process, beside bare SQL).

    python reference/bench/topics.py load    [--sessions 8] [--topics 8] [--messages 10000] [--history FILE]
    python reference/bench/topics.py wakeup  [--messages 500] [--waiting 0]
    python reference/bench/topics.py waiting [--servers 10] [--topics 20] [--idle-s 20]
    python reference/bench/topics.py ping    [--wait-s 60]
    python reference/bench/topics.py sync    [--stored 1000000] [--rounds 80]

Exits with 1 if something was lost, doubled, out of order or stuck. Speed only says met or NOT MET: it depends on the
machine, too. Needs the extras chaos and mcp.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import benches
import topics_load
import topics_ping
import topics_sync
import topics_waiting
import topics_wakeup


def _parser() -> argparse.ArgumentParser:
    parser = benches.parser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    load = commands.add_parser("load", help="sessions that all send to and read all topics at once")
    load.add_argument("--sessions", type=int, default=8)
    load.add_argument("--topics", type=int, default=8)
    load.add_argument("--messages", type=int, default=10_000, help="in each topic, an equal share from each session")
    load.add_argument("--outbox", type=int, default=20, help="messages sent in one sync, at most 50")
    load.add_argument("--history", type=Path, help="record every call and judge the history; slower")
    load.set_defaults(run=topics_load.run)
    wakeup = commands.add_parser("wakeup", help="from a sender's call to a waiting reader's reply")
    wakeup.add_argument("--messages", type=int, default=500)
    wakeup.add_argument("--waiting", type=int, default=0, help="other syncs that wait, 20 on a server")
    wakeup.set_defaults(run=topics_wakeup.run)
    waiting = commands.add_parser("waiting", help="the processor time of syncs that wait")
    waiting.add_argument("--servers", type=int, default=10)
    waiting.add_argument("--topics", type=int, default=20, help="each with one waiting sync, on each server")
    waiting.add_argument("--idle-s", type=float, default=20.0, help="without any commit")
    waiting.add_argument("--busy-s", type=float, default=10.0, help="with commits on another topic")
    waiting.set_defaults(run=topics_waiting.run)
    ping = commands.add_parser("ping", help="while a sync waits")
    ping.add_argument("--wait-s", type=int, default=60)
    ping.set_defaults(run=topics_ping.run)
    sync = commands.add_parser("sync", help="sync of 20 messages beside bare SQL, and in a long topic")
    sync.add_argument("--stored", type=int, default=1_000_000)
    sync.add_argument("--rounds", type=int, default=80)
    sync.set_defaults(run=topics_sync.run)
    return parser


if __name__ == "__main__":
    sys.exit(benches.main("topics", _parser().parse_args()))
