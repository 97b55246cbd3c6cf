"""The mailbox: in any order of calls a message comes to its reader, and what is acked or done does not come back."""

from __future__ import annotations

import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from refbus.kernel.clock import Clock
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.mailbox.bus import FEATURES, OTHER_FEATURES, MailboxBus, promising

T0_MS = 1_768_053_600_000
AGENTS = ("ann", "bob")
NOT_SLOW = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))


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


def bodies(bus: MailboxBus, agent: str, **more: Any) -> list[str]:
    return [message["body"] for message in bus.receive(agent, **more)["messages"]]


@NOT_SLOW
@given(st.lists(st.sampled_from(("send", "receive", "ack")), max_size=30), st.sampled_from(("ack", "consumes")))
def test_every_message_is_shown_and_none_after_its_end(steps: list[str], promise: str) -> None:
    """In any order of sends, receives and acks, where acks end a message and where reading does."""
    with tempfile.TemporaryDirectory() as folder, promising(promise)(folder, clock=Clock(T0_MS)) as bus:
        joined(bus)
        waiting: list[str] = []
        for number, step in enumerate(steps):
            if step == "send":
                waiting.append(bus.send("ann", f"message {number}", "bob")["id"])
                continue
            shown = [message["id"] for message in bus.receive("bob")["messages"]]
            assert shown == waiting
            if promise == "consumes":
                waiting = []
            elif step == "ack" and waiting:
                bus.ack("bob", [waiting.pop(number % len(waiting))])


@NOT_SLOW
@given(st.lists(st.integers(1, 4), min_size=1, max_size=8), st.integers(1, 12))
def test_page_after_page_shows_everything_once(limits: list[int], count: int) -> None:
    """Pages of any sizes, by the positions that the bus tells."""
    with tempfile.TemporaryDirectory() as folder, MailboxBus(folder) as bus:
        joined(bus)
        sent = [bus.send("ann", f"message {number}", "bob")["id"] for number in range(count)]
        shown, position = list[str](), None
        for limit in (*limits, 100):
            page = bus.receive("bob", limit, position)
            shown, position = shown + [message["id"] for message in page["messages"]], page["position"]
        assert shown == sent


@given(st.sets(st.sampled_from((*FEATURES, *OTHER_FEATURES, "lease", "jobs"))))
def test_a_bus_promises_what_it_is_told_to(words: set[str]) -> None:
    """Any set of promises makes a bus that declares these and no others."""
    made = promising("core", *words)
    assert {*made.FEATURES, *made.NOUNS} == {*words, "log", "cursor"}


def test_a_promise_that_nobody_knows_is_refused() -> None:
    """A word with a slip of the pen is no promise."""
    with pytest.raises(ValueError, match="no promise 'acks'"):
        promising("acks")


def test_an_ack_is_of_ones_own_messages(bus: MailboxBus) -> None:
    """An ack of another's message changes nothing."""
    sent = bus.send("ann", "hello", "bob")
    bus.ack("ann", [sent["id"]])
    assert bodies(bus, "bob") == ["hello"]
    bus.ack("bob", [sent["id"]])
    assert bodies(bus, "bob") == []


def test_a_send_again_with_its_key_is_the_same_message(bus: MailboxBus) -> None:
    """With other content the key is taken; another sender's key is another one."""
    first = bus.send("ann", "hello", "bob", key="k")
    assert bus.send("ann", "hello", "bob", key="k") == first
    with pytest.raises(BusError, match="other content") as refused:
        bus.send("ann", "goodbye", "bob", key="k")
    assert (refused.value.code, refused.value.definite) == ("KEY_CONFLICT", True)
    assert bus.send("bob", "hello", "ann", key="k") != first
    assert bodies(bus, "bob") == ["hello"]


def test_of_two_sends_on_one_base_one_is_accepted(bus: MailboxBus) -> None:
    """The other is refused, and shows nowhere."""
    base = bus.receive("ann")["base"]
    bus.send("ann", "one", "bob", base=base)
    with pytest.raises(BusError, match="after the base"):
        bus.send("ann", "two", "bob", base=base)
    assert bodies(bus, "bob") == ["one"]


def test_a_broadcast_reaches_whoever_was_there(bus: MailboxBus, tmp_path: Path) -> None:
    """Its sender, too; who comes later sees it only where late readers are promised."""
    bus.send("ann", "to all")
    assert [bodies(bus, agent) for agent in ("ann", "bob", "cas")] == [["to all"], ["to all"], []]
    (tmp_path / "late").mkdir()
    with promising("ack", "broadcast", "late_readers")(tmp_path / "late") as late:
        joined(late).send("ann", "to all")
        assert [bodies(late, agent) for agent in ("ann", "bob", "cas")] == [[], ["to all"], ["to all"]]


def test_limits_hold_to_the_last_one(tmp_path: Path, clock: Clock) -> None:
    """Characters, unread messages, a page, and age."""
    made = promising("ack", "body_chars_max=5", "unread_max=2", "page_max=1", "ttl_ms=1000")
    with made(tmp_path, clock=clock) as bus:
        joined(bus).send("ann", "12345", "bob")
        with pytest.raises(BusError, match="at most 5"):
            bus.send("ann", "123456", "bob")
        bus.send("ann", "two", "bob")
        with pytest.raises(BusError, match="2 unread"):
            bus.send("ann", "three", "bob")
        assert bodies(bus, "bob") == ["12345"]
        clock.set(T0_MS + 999)
        assert bodies(bus, "bob") == ["12345"]
        clock.set(T0_MS + 1000)
        assert bodies(bus, "bob") == []


def test_a_name_has_one_holder_until_its_time_is_over(bus: MailboxBus, clock: Clock) -> None:
    """The last millisecond still counts; a token of before releases nothing."""
    first = bus.claim("door", "ann", 1000)
    assert not bus.claim("door", "bob", 1000)["granted"]
    clock.set(T0_MS + 999)
    assert bus.renew("door", "ann", 1000)["granted"]
    clock.set(T0_MS + 1999)
    second = bus.claim("door", "bob", 1000)
    assert second["token"] > first["token"]
    with pytest.raises(BusError, match="does not hold"):
        bus.release("door", "bob", first["token"])
    bus.release("door", "bob", second["token"])
    assert bus.claim("door", "ann", 1000)["granted"]


def test_a_job_comes_again_until_it_is_done_or_dead(bus: MailboxBus, clock: Clock) -> None:
    """After its time, or at once when it is given back; five times in all."""
    bus.put("ann", "q", "work")
    for attempt in range(1, 6):
        job = bus.take("bob", "q", 1000)["job"]
        assert (job["body"], job["attempt"]) == ("work", attempt)
        assert bus.take("ann", "q", 1000)["job"] is None
        if attempt % 2:
            bus.back("bob", "q", job["id"], job["receipt"])
        else:
            clock.set(clock.now_ms() + 1000)
    assert bus.take("bob", "q", 1000)["job"] is None
    assert [dead["body"] for dead in bus.dead("ann", "q")["jobs"]] == ["work"]
    with pytest.raises(BusError, match="does not have"):
        bus.done("bob", "q", job["id"], job["receipt"])


def test_a_waiting_receive_ends_with_the_message(bus: MailboxBus) -> None:
    """Long before its time."""
    shown: list[str] = []
    reader = threading.Thread(target=lambda: shown.extend(bodies(bus, "bob", wait_ms=30_000)))
    reader.start()
    bus.send("ann", "news", "bob")
    reader.join(20)
    assert shown == ["news"]


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


@pytest.mark.parametrize("body", ["", "\ud800", 5, None])
def test_a_body_is_a_text(bus: MailboxBus, body: Any) -> None:
    """Nothing else is taken."""
    with pytest.raises(InvalidArgument):
        bus.send("ann", body, "bob")
