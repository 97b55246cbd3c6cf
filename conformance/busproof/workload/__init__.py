"""A seeded concurrent workload: the plan is drawn first, then played on real sessions in threads, and recorded.

The same seed draws the same plan; how the threads interleave is the machine's choice, and the checks hold for every
interleaving. Lease time passes between phases, on all sessions at once, so that one session's clock never runs ahead
of another's while leases are at stake.
"""

from __future__ import annotations

from pathlib import Path

from busproof.fleet import Fleet
from busproof.workload import common, comms, topics, worker

WORKLOADS = {"worker": worker.WORKLOAD, "comms": comms.WORKLOAD, "topics": topics.WORKLOAD}


def play(fleet: Fleet, *, seed: int, calls: int, into: Path) -> Path:
    """Play the workload of the fleet's system. Returns the history file."""
    return common.play(WORKLOADS[fleet.system], fleet, seed=seed, calls=calls, into=into)
