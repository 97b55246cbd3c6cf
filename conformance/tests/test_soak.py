"""A million calls of each system in one process of the reference: no descriptor is left, and memory does not grow.

`check` plays some thousands of them in every bus (`limit.aged`); this is the long form.
BUSPROOF_SOAK_CALLS shortens it.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from pathlib import Path

import pytest

from busproof.bus.base import Door, Refused
from busproof.bus.fleet import Fleet, reference
from busproof.contract import CONTRACTS

CALLS = int(os.environ.get("BUSPROOF_SOAK_CALLS", "1000000"))
WARM = CALLS // 20  # by then caches are full
GROWN_BYTES_MAX = 8 << 20  # nine bytes a call

pytestmark = pytest.mark.nightly


def held(door: Door) -> tuple[int, int]:
    """The descriptors and the bytes of memory of the bus."""
    processes = door.processes()
    descriptors = sum(len(list((process / "fd").iterdir())) for process in processes)
    pages = sum(int((process / "statm").read_text().split()[1]) for process in processes)
    return descriptors, pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.parametrize("system", CONTRACTS)
def test_a_million_calls_leave_nothing_behind_in_a_process(tmp_path: Path, system: str) -> None:
    """Each call that doctor tries but a dump, as it should be and bent, in turn."""
    trials = {name: params for name, params in CONTRACTS[system].trials.items() if name != "dump"}
    bent = {name: {param: [[]] for param in params} for name, params in trials.items()}
    with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
        door = fleet.door(0, tmp_path, {})
        before = 0, 0
        turns = itertools.cycle([*trials.items(), *bent.items()])
        for number, (method, params) in enumerate(itertools.islice(turns, CALLS)):
            with contextlib.suppress(Refused):
                door.call(method, params)
            if number == WARM:
                before = held(door)
        descriptors, memory = (now - then for now, then in zip(held(door), before, strict=True))
        assert descriptors <= 0 and memory < GROWN_BYTES_MAX, f"{descriptors} descriptors, {memory >> 10} KiB more"
        fleet.give_back(door, retired=True)
