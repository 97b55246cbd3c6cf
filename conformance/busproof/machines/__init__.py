"""Hypothesis state machines: random programs over several processes on one store, held against the oracles.

Each example is a fresh store; the processes stay warm. What a machine finds is shrunk to the shortest program that
still shows it, and that program is the script of the failure.
"""

from __future__ import annotations

from collections.abc import Callable

from busproof.fleet import Fleet
from busproof.machines import comms, topics, worker
from busproof.machines.common import MachineRun

MACHINES: dict[str, dict[str, Callable[[Fleet, str, int | None], MachineRun]]] = {
    "worker": {"machine.worker": worker.run},
    "comms": {"machine.comms": comms.run},
    "topics": {"machine.topics": topics.run},
}
