"""Calls that nobody would send, over three doors: none hangs, none ends in INTERNAL, nothing refused is stored.

`pytest reference/tests/fuzz -n 2 -rP` plays a few thousand and tells how they ended. With BUSPROOF_FUZZ_CALLS=1000000
it is a soak; BUSPROOF_SEED=2 draws others.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from reference.tests.fuzz import playing
from reference.tests.fuzz.browsing import web
from reference.tests.fuzz.playing import Fault, Tally, mcp, stdio

from busproof.bus.base import Lost

DOORS: dict[str, Callable[[int, str, Path], Tally]] = {
    **{f"stdio {system}": partial(stdio, system) for system in ("worker", "comms", "relay", "timeline")},
    "mcp topics": mcp,
    "web topics": web,
}
CALLS = int(os.environ.get("BUSPROOF_FUZZ_CALLS", "3000"))
SEED = os.environ.get("BUSPROOF_SEED", "1")


@pytest.mark.parametrize("door", DOORS)
def test_bent_calls_are_answered_by_a_known_code_and_what_is_refused_is_not_stored(door: str, tmp_path: Path) -> None:
    """Each door gets its share of the calls."""
    calls = math.ceil(CALLS / len(DOORS))
    tally = DOORS[door](calls, SEED, tmp_path)
    print(f"{door}: {tally.total()} calls; " + ", ".join(f"{count} {ending}" for ending, count in tally.most_common()))
    assert tally.total() >= calls
    assert len(tally) > 2  # some were answered, and some refused in more ways than one


FAULTY = """
import os, time
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus
class Faulty(WorkerBus):
    def ack(self, agent_id, seq):
        {}
serve({{"worker": Faulty}})
"""


@pytest.mark.parametrize(
    ("fault", "expected"),
    [
        ("time.sleep(600)", Lost),
        ("raise RuntimeError", Fault),
        ("self.publish('x', {'type': 't'}); raise InvalidArgument('no')", Fault),
        ("os._exit(3)", Lost),
    ],
)
def test_a_bus_that_hangs_breaks_or_stores_what_it_refuses_is_found(
    fault: str, expected: type[Exception], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is one method gone wrong."""
    if fault == "time.sleep(600)":
        monkeypatch.setattr(playing, "ANSWER_S", 5.0)
    with pytest.raises(expected):
        stdio("worker", 5000, "1", tmp_path, ("-c", FAULTY.format(fault)))
