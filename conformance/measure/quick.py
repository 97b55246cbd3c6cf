"""`python conformance/measure/quick.py N SYSTEM…`: of N faults that a full run of chaos kills, how many --quick kills.

The seed 1 draws the faults, and the places of each run. A fault that needs an option of the session (synchronous=FULL)
is not of the full run without options, and is left out.
"""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile

from busproof import evidence
from busproof.faults.record import faults

SEED = 1


def killed(system: str, bus: str) -> bool:
    """Is the bus INVALID?"""
    with tempfile.TemporaryDirectory() as folder:
        argv = [sys.executable, "-m", "busproof", "chaos", system, "--bus", bus, "--seed", str(SEED), "--out", folder]
        return subprocess.run([*argv, "--quick", "--stop-after", "1"], capture_output=True, check=False).returncode == 1


def main(count: int, systems: list[str]) -> None:
    """A line a fault, and the sum of each system."""
    of_a_full_run = {record["id"] for record in evidence.read("chaos").values() if record["found"]}
    for system in systems:
        whole = [
            fault
            for fault in faults(system).values()
            if f"{system}.{fault.name}" in of_a_full_run and "options" not in fault.chaos
        ]
        drawn = random.Random(SEED).sample(whole, min(count, len(whole)))
        kills = []
        for fault in drawn:
            kills.append(killed(system, fault.spec()))
            print(f"{'killed' if kills[-1] else 'lives':6}  {fault.id}  {fault.chaos}", flush=True)
        print(f"{system}: --quick kills {sum(kills)} of {len(drawn)} drawn of {len(whole)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
