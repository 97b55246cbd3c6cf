"""The long poll: it ends with the first message, holds nobody up, and consumes nothing too late."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from refbus.kernel.errors import AgentNotJoined

Join = Callable[..., Any]


def is_waiting(peer: Any) -> None:
    """Come back when the peer's sync listens."""
    end = time.monotonic() + 60  # guards against a hang
    while not peer.bus.notifier.subscribers:
        assert time.monotonic() < end
        time.sleep(0.001)


def test_a_commit_wakes_those_whose_news_it_is(join: Join) -> None:
    """The others are looked for, and sleep on."""
    alice, bob = join("alice"), join("bob")
    bob_waits = bob.bus.begin_sync(bob.topic_id, wait_seconds=60)
    alice_waits = alice.bus.begin_sync(alice.topic_id, wait_seconds=60)
    for_bob, for_alice = threading.Event(), threading.Event()
    wakes = bob.bus.notifier.subscribed
    with wakes(for_bob.set, bob_waits.sees_news), wakes(for_alice.set, alice_waits.sees_news):
        alice.sync("1")
        assert for_bob.wait(10)
        assert not for_alice.is_set()
        bob.sync("2")
        assert for_alice.wait(10)


def test_what_a_caller_that_has_gone_received_is_given_back(join: Join) -> None:
    """Once, and only if the cursor has not moved since."""
    alice, bob = join("alice"), join("bob")
    call = bob.bus.begin_sync(bob.topic_id, wait_seconds=60)
    alice.sync("1", "2")
    assert not call.is_done
    call.receive()
    assert call.is_done and call.reply["cursor"]["last_seq"] == 2
    call.give_back()
    call.give_back()
    assert bob.seqs(max_items=1) == [1]
    late = bob.bus.begin_sync(bob.topic_id, max_items=1)
    assert late.reply["received_count"] == 1
    bob.bus.cursor_reset(bob.topic_id, 1)
    late.give_back()  # somebody moved the cursor since: it stays
    assert bob.seqs() == [2]


def test_what_a_caller_that_came_back_has_missed_is_given_back(join: Join) -> None:
    """A new session took the name over before the old one could give back."""
    alice, old = join("alice"), join("bob")
    alice.sync("1", "2")
    call = old.bus.begin_sync(old.topic_id)
    new = join("carol").bus
    new.topic_join("bob", old.topic_id, reclaim_token=old.token)
    call.give_back()
    assert new.sync(old.topic_id, wait_seconds=0)["received_count"] == 2


def test_a_wait_ends_when_its_name_is_taken_over(join: Join) -> None:
    """With the first message, which the new session gets; messages sent before stay sent."""
    alice, bob = join("alice"), join("bob")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(bob.sync, "sent", wait_seconds=3600)
        is_waiting(bob)
        new = join("second")
        new.bus.topic_join("bob", new.topic_id, reclaim_token=bob.token)
        alice.sync("news")
        with pytest.raises(AgentNotJoined) as caught:
            waiting.result(timeout=300)
    assert caught.value.definite is False
    assert new.seqs() == [2]


def test_closing_the_session_ends_its_waits(join: Join) -> None:
    """As if their time were over."""
    bob = join("bob")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(bob.sync, wait_seconds=3600)
        is_waiting(bob)
        bob.bus.close()
        assert waiting.result(timeout=300)["status"] == "timeout"


def test_without_news_it_ends_in_time(join: Join) -> None:
    """Its own messages, and those of other topics, are no news."""
    alice, bob = join("alice"), join("bob")
    other = alice.bus.topic_create(name="other")["topic_id"]
    alice.bus.topic_join("alice", other)
    began = time.monotonic()
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(bob.sync, wait_seconds=1)
        is_waiting(bob)
        alice.bus.sync(other, [{"content_markdown": "elsewhere"}], wait_seconds=0)
        bob.sync("own")
        reply = waiting.result(timeout=50)  # without its second, the wait would take a minute
    assert time.monotonic() - began >= 1
    assert reply["status"] == "timeout" and reply["received"] == []
    assert reply["cursor"]["last_seq"] == 1  # its own are passed: nothing unread lies before them (B8)
    assert bob.sync()["status"] == "empty"
