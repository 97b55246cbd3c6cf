"""Claims: one holder at a time, whatever dies, sleeps or comes late."""

from __future__ import annotations

from collections.abc import Callable

from refbus.kernel.clock import Clock
from refbus.worker.bus import WorkerBus

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., WorkerBus]


def test_a_strangers_claim_counts(bus: WorkerBus, clock: Clock) -> None:
    """It keeps no tokens, so none that is shown can be the latest."""
    bus.db.connection().execute("INSERT INTO task_claims VALUES ('t1', 'nim', ?, ?)", (T0_MS, T0_MS + 10))
    assert not bus.try_claim_task("t1", "alice")["claimed"]
    assert not bus.renew_claim("t1", "nim", 1)["renewed"]
    assert bus.renew_claim("t1", "nim")["renewed"]
    clock.set(T0_MS + 60_010)
    assert bus.try_claim_task("t1", "alice")["claimed"]


def test_the_length_of_a_lease_is_an_option(open_bus: OpenBus) -> None:
    """60 s by default."""
    assert open_bus(lease_ms=5).try_claim_task("t", "a")["lease_until_ms"] == T0_MS + 5


def test_a_reply_is_as_true_as_it_says(bus: WorkerBus) -> None:
    """The seed's functions return a bool, and its readers write `if bus.try_claim_task(…)`."""
    assert bus.try_claim_task("t", "a")
    assert not bus.try_claim_task("t", "b")
    assert not bus.renew_claim("t", "b")
    assert bus.renew_claim("t", "a")
    assert bus.release_claim("t", "a")
    assert not bus.release_claim("t", "a")
    assert not bus.redrive("a", 1)
