"""The recipients of messages (4.2), and the order of delivery."""

from __future__ import annotations

from reference.tests.relay.conftest import Agents

from refbus.kernel.clock import Clock
from refbus.relay.bus import RelayBus


def test_a_copy_takes_no_name_that_its_reader_used(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """An agent that names its file as the copy to itself would be named stops nobody."""
    for number in range(3):
        name = f"{clock.now_ms() * 1_000_000 + number}-0000000a.msg"
        agents.put("ann", b"TO: ann\n\n%d" % number, name=name)
    relay.scan()
    assert agents.bodies("ann") == ["0", "1", "2"]


def test_a_clock_that_goes_back_makes_nobody_wait_for_an_hour(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """A pause ends with it, and the next one is counted from there (R1)."""
    agents.send("ann", "bob", "hello")
    assert relay.scan()["retried"] == 1
    clock.set(clock.now_ms() - 3_600_000)
    assert [relay.scan()["retried"] for _ in range(2)] == [1, 0]
    agents.join("bob")
    clock.set(clock.now_ms() + 2_000)
    assert relay.scan()["completed"] == 1
