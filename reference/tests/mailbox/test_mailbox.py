"""The mailbox: in any order of calls a message comes to its reader, and what is acked or done does not come back."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refbus.kernel.clock import Clock
from refbus.mailbox.bus import FEATURES, OTHER_FEATURES, MailboxBus, promising

T0_MS = 1_768_053_600_000
AGENTS = ("ann", "bob")


@pytest.fixture
def clock() -> Clock:
    """A clock that stands still."""
    return Clock(T0_MS)


@pytest.fixture
def bus(tmp_path: Path, clock: Clock) -> Iterator[MailboxBus]:
    """A bus on which ann and bob have an inbox."""
    with MailboxBus(tmp_path, clock=clock) as opened:
        yield joined(opened)


def joined(bus: MailboxBus) -> MailboxBus:
    for agent in AGENTS:
        bus.receive(agent)
    return bus


@given(st.sets(st.sampled_from((*FEATURES, *OTHER_FEATURES, "lease", "jobs"))))
def test_a_bus_promises_what_it_is_told_to(words: set[str]) -> None:
    """Any set of promises makes a bus that declares these and no others."""
    made = promising("core", *words)
    assert {*made.FEATURES, *made.NOUNS} == {*words, "log", "cursor"}


def test_a_promise_that_nobody_knows_is_refused() -> None:
    """A word with a slip of the pen is no promise."""
    with pytest.raises(ValueError, match="no promise 'acks'"):
        promising("acks")


def test_senders_at_once_lose_nothing(tmp_path: Path) -> None:
    """Eight threads on two open stores, while the reader acks."""
    with MailboxBus(tmp_path) as first, MailboxBus(tmp_path) as other:
        joined(first)

        def send(number: int) -> None:
            for count in range(10):
                (first, other)[number % 2].send(f"a{number}", f"{number} {count}", "bob")

        threads = [threading.Thread(target=send, args=(number,)) for number in range(8)]
        for thread in threads:
            thread.start()
        seen: list[str] = []
        while any(thread.is_alive() for thread in threads) or first.receive("bob")["messages"]:
            messages = other.receive("bob")["messages"]
            seen += [message["body"] for message in messages]
            other.ack("bob", [message["id"] for message in messages])
        assert sorted(seen) == sorted(f"{number} {count}" for number in range(8) for count in range(10))
