"""The targets of seed 001, measured (Performance Targets, Load Tests).

    python reference/bench/comms.py latency [--messages 500] [--waiting 0] [--idle-s 10]
    python reference/bench/comms.py agents  [--agents 20] [--messages 1000]

Exits with 1 if something was lost, doubled or stuck. Speed only says met or NOT MET: it depends on the machine, too.
The token bucket (100 messages and 10 a second for each agent) is lifted by the options of the bus.
"""

from __future__ import annotations

import argparse
import sys

import benches
import comms_agents
import comms_latency


def _parser() -> argparse.ArgumentParser:
    parser = benches.parser(__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    latency = commands.add_parser("latency", help="from send in one process to receive in another")
    latency.add_argument("--messages", type=int, default=500)
    latency.add_argument("--waiting", type=int, default=0, help="other agents that wait for messages, too")
    latency.add_argument("--idle-s", type=float, default=10.0)
    latency.set_defaults(run=comms_latency.run)
    agents = commands.add_parser("agents", help="agents that send to, claim from and complete for each other")
    agents.add_argument("--agents", type=int, default=20)
    agents.add_argument("--messages", type=int, default=1000, help="that each agent sends")
    agents.set_defaults(run=comms_agents.run)
    return parser


if __name__ == "__main__":
    print("The token bucket of 100 messages and 10 a second is lifted: it would be all that is measured.")
    sys.exit(benches.main("comms", _parser().parse_args()))
