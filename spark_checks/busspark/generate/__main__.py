"""`python -m busspark.generate SYSTEM EVENTS FILE`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from busspark.generate.comms import Comms
from busspark.generate.relay import Relay
from busspark.generate.stage import Bus, generate
from busspark.generate.timeline import Timeline
from busspark.generate.topics import Topics
from busspark.generate.worker import Worker

BUSES: dict[str, Callable[[], Bus]] = {
    "comms": Comms,
    "relay": Relay,
    "timeline": Timeline,
    "topics": Topics,
    "worker": Worker,
}


def main() -> None:
    """Write a history and its truth."""
    parser = argparse.ArgumentParser(prog="python -m busspark.generate")
    parser.add_argument("system", choices=BUSES)
    parser.add_argument("events", type=int)
    parser.add_argument("file", type=Path)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    truth = generate(BUSES[args.system](), args.events, args.file, faults=args.faults, seed=args.seed)
    args.file.with_suffix(".truth").write_text("".join(json.dumps(asdict(fault)) + "\n" for fault in truth))


if __name__ == "__main__":
    main()
