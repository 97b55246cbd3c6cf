"""Killed at every step: each message is delivered once, or ends in a recorded failure (2.4).

Its reader takes what it has got before the next one starts.
"""

from __future__ import annotations

import itertools
import shutil
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from reference.tests.relay.conftest import Agents, rows, started
from reference.tests.relay.dying import CLIS, run_and_die

from refbus.kernel.clock import Clock
from refbus.relay.bus import RelayBus

pytestmark = pytest.mark.usefixtures("ends_processes")
# A part of the points each time; all of them at night.
STEPS = pytest.mark.parametrize("step", [5, pytest.param(1, marks=pytest.mark.nightly)])


def every_point(
    tmp_path: Path,
    step: int,
    prepare: Callable[[Agents], None],
    judge: Callable[[Path, Agents, RelayBus, Counter[str]], None],
) -> int:
    """Kill at each point in turn, or at each step-th; returns how many there are."""
    for point in itertools.count(1, step):
        root = tmp_path / f"at-{point}"
        root.mkdir()
        clock = Clock(1_768_053_600_000)
        agents = Agents(root, clock)
        prepare(agents)
        killed = run_and_die(root, clock, point)
        taken = take(agents)
        with RelayBus(root, clock=clock, clis=CLIS, grace_ms=50) as bus:
            bus.scan()
            taken += take(agents)
            judge(root, agents, bus, taken)
        assert list((root / "tmp").iterdir()) == [], f"killed at point {point}"
        shutil.rmtree(root)
        if not killed:
            return point
    raise AssertionError


def take(agents: Agents) -> Counter[str]:
    """The messages in the inboxes, whole, are read and removed by their readers."""
    taken = Counter(f"{agent}: {body}" for agent in ("ann", "bob", "cid") for body in agents.bodies(agent))
    for path in agents.root.glob("agents/*/inbox/*.msg"):
        path.unlink()
    return taken


@STEPS
def test_a_delivery_happens_once_wherever_it_is_interrupted(tmp_path: Path, step: int) -> None:
    """To one and to all, between subscriptions and bad files; and everything is archived once."""

    def prepare(agents: Agents) -> None:
        agents.join("bob", "cid")
        agents.send("ann", "bob", "one")
        agents.send("bob", "*", "two")
        agents.send("cid", "__orchestrator__", "SUBSCRIBE: #x", "status")
        agents.send("ann", "#x", "three")
        agents.send("ann", "no body", "four")
        agents.put("ann", b"", age_ms=6_000)

    def judge(root: Path, agents: Agents, bus: RelayBus, taken: Counter[str]) -> None:
        assert taken == Counter(["bob: one", "ann: two", "cid: two", "cid: three"])
        statuses = Counter(row["status"] for row in rows(bus).values())
        assert statuses == {"archived": 4, "failed": 2}
        assert {row["status"] for row in rows(bus, "inbox").values()} == {"completed"}
        assert len(list(root.glob("archive/*/*/*"))) == 6 and list(root.glob("agents/*/outbox/*.msg")) == []
        assert all(row["completed_at"] for row in bus.dump()["pending_operations"])

    assert every_point(tmp_path, step, prepare, judge) > 60


@STEPS
def test_a_spawn_leaves_one_process_that_is_known(tmp_path: Path, step: int) -> None:
    """Wherever it is interrupted; and a release leaves none."""

    def prepare(agents: Agents) -> None:
        agents.send("ann", "__orchestrator__", "NAME: w\nCLI: sleep", "spawn")

    def judge(root: Path, agents: Agents, bus: RelayBus, taken: Counter[str]) -> None:
        assert {row["status"] for row in rows(bus).values()} == {"archived"}
        (agent,) = [agent for agent in bus.dump()["agents"] if agent["name"] == "w"]
        alive = started(root)
        assert alive == [agent["pid"]] and agent["status"] == "active"
        assert until(lambda: Path(f"/proc/{alive[0]}/cmdline").read_bytes() == b"/bin/sleep\x001000\0")
        agents.send("ann", "__orchestrator__", "NAME: w", "release")
        bus.scan()
        assert started(root) == []

    assert every_point(tmp_path, step, prepare, judge) > 20


@STEPS
def test_a_release_ends_everything_wherever_it_is_interrupted(tmp_path: Path, step: int) -> None:
    """And says so once."""

    def prepare(agents: Agents) -> None:
        agents.send("ann", "__orchestrator__", "NAME: w\nCLI: sleep", "spawn")
        run_and_die(agents.root, agents.clock)
        assert len(started(agents.root)) == 1
        agents.send("ann", "__orchestrator__", "NAME: w", "release")

    def judge(root: Path, agents: Agents, bus: RelayBus, taken: Counter[str]) -> None:
        assert started(root) == []
        assert [row["status"] for row in rows(bus).values()] == ["archived", "archived"]
        (agent,) = [agent for agent in bus.dump()["agents"] if agent["name"] == "w"]
        assert (agent["status"], agent["pid"]) == ("terminated", None)

    assert every_point(tmp_path, step, prepare, judge) > 10


def until(is_so: Callable[[], bool]) -> bool:
    """Wait for another process to get on."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if is_so():
            return True
        time.sleep(0.01)
    return False
