"""Claims: one holder at a time, whatever dies, sleeps or comes late."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.clock import Clock
from refbus.kernel.errors import Busy, InvalidArgument
from refbus.worker.bus import WorkerBus

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., WorkerBus]


def test_a_claim_excludes_others_until_it_expires(bus: WorkerBus, clock: Clock) -> None:
    """60 s; the last millisecond still counts, lease_until itself does not (W9)."""
    assert bus.try_claim_task("t1", "alice") == {"claimed": True, "token": 1, "lease_until_ms": T0_MS + 60_000}
    assert bus.try_claim_task("t1", "bob") == {"claimed": False}
    assert bus.try_claim_task("t1", "alice") == {"claimed": False}
    clock.set(T0_MS + 59_999)
    assert not bus.try_claim_task("t1", "bob")["claimed"]
    clock.set(T0_MS + 60_000)
    assert bus.try_claim_task("t1", "bob")["token"] == 2


def test_renewal_extends_from_now(bus: WorkerBus, clock: Clock) -> None:
    """Also after expiry, while nobody retook it; not after (W9)."""
    bus.try_claim_task("t1", "alice")
    clock.set(T0_MS + 30_000)
    assert bus.renew_claim("t1", "alice") == {"renewed": True, "lease_until_ms": T0_MS + 90_000}
    clock.set(T0_MS + 200_000)
    assert bus.renew_claim("t1", "alice")["renewed"]
    assert not bus.try_claim_task("t1", "bob")["claimed"]
    clock.set(T0_MS + 300_000)
    assert bus.try_claim_task("t1", "bob")["claimed"]
    assert bus.renew_claim("t1", "alice") == {"renewed": False}
    assert bus.renew_claim("unknown", "alice") == {"renewed": False}


def test_release_frees_only_ones_own(bus: WorkerBus) -> None:
    """And is false where there was nothing."""
    bus.try_claim_task("t1", "alice")
    assert bus.release_claim("t1", "bob") == {"released": False}
    assert bus.release_claim("t1", "alice") == {"released": True}
    assert bus.release_claim("t1", "alice") == {"released": False}
    assert bus.try_claim_task("t1", "bob")["claimed"]


def test_tokens_rise_across_release_and_expiry_and_are_checked(bus: WorkerBus, clock: Clock) -> None:
    """A holder that slept through its lease is told so, even if it is the holder again (W10)."""
    first = bus.try_claim_task("t1", "alice")["token"]
    bus.release_claim("t1", "alice")
    second = bus.try_claim_task("t1", "alice")["token"]
    clock.set(T0_MS + 60_000)
    third = bus.try_claim_task("t1", "alice")["token"]
    assert first < second < third
    for stale in (first, second, third + 1):
        assert not bus.renew_claim("t1", "alice", stale)["renewed"]
        assert not bus.release_claim("t1", "alice", stale)["released"]
    assert bus.renew_claim("t1", "alice", third)["renewed"]
    assert bus.try_claim_task("t2", "alice")["token"] == 1
    assert bus.release_claim("t1", "alice", third)["released"]


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


def test_of_many_at_once_one_gets_it(open_bus: OpenBus) -> None:
    """Real threads, a connection each."""
    bus = open_bus()
    for task in range(20):
        claimed: list[Any] = []
        gate = threading.Barrier(4)

        def claim(agent: str, task: int = task, claimed: list[Any] = claimed, gate: threading.Barrier = gate) -> None:
            gate.wait()
            claimed.append(bus.try_claim_task(f"t{task}", agent)["claimed"])

        threads = [threading.Thread(target=claim, args=(f"agent-{n}",)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(claimed) == [False, False, False, True]


@pytest.mark.parametrize("task", ["", "a/b", "..", "a\0", None, 5, True, "x" * 1025])
def test_bad_names_are_refused(bus: WorkerBus, task: Any) -> None:
    """On every operation, with nothing stored."""
    for call in (bus.try_claim_task, bus.renew_claim, bus.release_claim):
        with pytest.raises(InvalidArgument):
            call(task, "alice")  # type: ignore[operator]
        with pytest.raises(InvalidArgument):
            call("t1", task)  # type: ignore[operator]
    for token in (True, -1, 2**63, "1", 1.0):
        with pytest.raises(InvalidArgument):
            bus.renew_claim("t1", "alice", token)  # type: ignore[arg-type]
    assert bus.dump()["task_claims"] == []


def test_a_lock_that_is_not_released_is_an_error_and_not_somebody_elses_claim(
    bus: WorkerBus, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """False means exactly that somebody holds a live claim (W8)."""
    monkeypatch.setattr("refbus.kernel.db.retry.LOCK_ATTEMPTS_MAX", 1)
    bus.db.rows("PRAGMA busy_timeout = 1")
    with contextlib.closing(sqlite3.connect(store / "bus.db", isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        with pytest.raises(Busy) as caught:
            bus.try_claim_task("t1", "alice")
    assert caught.value.definite
    assert bus.try_claim_task("t1", "alice")["claimed"]


def test_a_reply_is_as_true_as_it_says(bus: WorkerBus) -> None:
    """The seed's functions return a bool, and its readers write `if bus.try_claim_task(…)`."""
    assert bus.try_claim_task("t", "a")
    assert not bus.try_claim_task("t", "b")
    assert not bus.renew_claim("t", "b")
    assert bus.renew_claim("t", "a")
    assert bus.release_claim("t", "a")
    assert not bus.release_claim("t", "a")
    assert not bus.redrive("a", 1)
