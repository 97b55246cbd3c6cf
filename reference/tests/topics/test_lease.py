"""Topics and names: the right to a name, and how long it lasts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.clock import Clock
from refbus.kernel.errors import AgentNameInUse, AgentNotJoined, InvalidArgument, TopicNotFound
from refbus.topics.bus import TopicsBus

Join = Callable[..., Any]
OpenSession = Callable[..., TopicsBus]


def test_create_reuses_the_newest_open_topic_of_that_name(open_session: OpenSession, clock: Clock) -> None:
    """Unless told not to; a closed one is left alone."""
    bus = open_session()
    first = bus.topic_create(name="lane")
    assert bus.topic_create(name="lane", mode="reuse") == first | {"status": "open"}
    second = bus.topic_create(name="lane", mode="new")
    assert second["topic_id"] != first["topic_id"]
    assert bus.topic_create(name="lane") == bus.topic_resolve("lane") == second
    bus.topic_close(second["topic_id"])
    assert bus.topic_create(name="lane") == first
    assert len(first["topic_id"]) == 10 and int(first["topic_id"], 16) >= 0
    nameless = bus.topic_create()
    assert nameless["name"] == f"topic-{nameless['topic_id']}"


def test_the_list_tells_all_about_topics(open_session: OpenSession, clock: Clock) -> None:
    """The newest first, by status."""
    bus = open_session()
    old = bus.topic_create(name="old", metadata={"k": [1]})["topic_id"]
    clock.set(clock.now_ms() + 1500)
    new = bus.topic_create(name="new")["topic_id"]
    bus.topic_close(old, reason="done")
    now = clock.now_ms() / 1000
    closed = {
        "topic_id": old,
        "name": "old",
        "status": "closed",
        "created_at": now - 1.5,
        "closed_at": now,
        "close_reason": "done",
        "metadata": {"k": [1]},
    }
    assert bus.topic_list("closed") == {"topics": [closed]}
    assert [topic["topic_id"] for topic in bus.topic_list()["topics"]] == [new]
    assert [topic["topic_id"] for topic in bus.topic_list("all")["topics"]] == [new, old]


def test_a_second_close_is_fine_and_changes_nothing(open_session: OpenSession, clock: Clock) -> None:
    """It says that it came late."""
    bus = open_session()
    topic_id = bus.topic_create(name="lane")["topic_id"]
    first = bus.topic_close(topic_id, reason="done")
    clock.set(clock.now_ms() + 1000)
    again = bus.topic_close(topic_id, reason="other")
    (warning,) = again.pop("warnings")
    assert again == first and warning["code"] == "ALREADY_CLOSED"
    with pytest.raises(TopicNotFound):
        bus.topic_close("nope")


def test_a_closed_topic_is_resolved_only_when_allowed(open_session: OpenSession) -> None:
    """And after every open one."""
    bus = open_session()
    old = bus.topic_create(name="lane")
    bus.topic_close(old["topic_id"])
    with pytest.raises(TopicNotFound):
        bus.topic_resolve("lane")
    with pytest.raises(TopicNotFound):
        bus.topic_join("alice", name="lane")
    assert bus.topic_resolve("lane", allow_closed=True) == old | {"status": "closed"}
    assert bus.topic_join("alice", name="lane", allow_closed=True)["status"] == "closed"
    assert bus.topic_join("bob", topic_id=old["topic_id"])["status"] == "closed"
    new = bus.topic_create(name="lane")
    assert bus.topic_resolve("lane", allow_closed=True) == new


def test_a_name_is_reserved_for_the_life_of_the_topic(join: Join, clock: Clock) -> None:
    """Presence expires, the reservation does not; other topics are free."""
    alice, eve = join("alice"), join("eve")
    clock.set(clock.now_ms() + 10**9)
    for token in (None, "0" * 32):
        with pytest.raises(AgentNameInUse, match="alice"):
            eve.bus.topic_join(" alice ", eve.topic_id, reclaim_token=token)
    assert eve.sync()["agent_name"] == "eve"
    other = eve.bus.topic_create(name="other")["topic_id"]
    assert eve.bus.topic_join("alice", other)["reclaim_token"] != alice.token


def test_the_token_brings_the_name_and_its_cursor_back(join: Join, open_session: OpenSession) -> None:
    """After a restart; the token stays the same."""
    alice, bob = join("alice"), join("bob")
    bob.sync("1")
    alice.sync()
    bob.sync("2")
    restarted = open_session()
    with pytest.raises(AgentNotJoined):
        restarted.sync(alice.topic_id, wait_seconds=0)
    reply = restarted.topic_join("alice", name="lane", reclaim_token=f" {alice.token}\n")
    assert reply == {
        "topic_id": alice.topic_id,
        "name": "lane",
        "status": "open",
        "agent_name": "alice",
        "reclaim_token": alice.token,
    }
    assert len(alice.token) == 32 and int(alice.token, 16) >= 0
    assert [m["seq"] for m in restarted.sync(alice.topic_id, wait_seconds=0)["received"]] == [2]


def test_the_session_that_was_taken_over_may_not_write(join: Join) -> None:
    """It may not take the name back without its token, either (B10), though the clock stands still."""
    alice, bob, new = join("alice"), join("bob"), join("new")
    bob.sync("1")
    new.bus.topic_join("alice", new.topic_id, reclaim_token=alice.token)
    for write in (lambda: alice.sync("x"), alice.sync, lambda: alice.bus.cursor_reset(alice.topic_id)):
        with pytest.raises(AgentNotJoined, match="reclaimed"):
            write()
    with pytest.raises(AgentNameInUse):
        alice.bus.topic_join("alice", alice.topic_id)
    assert new.seqs() == [1]
    alice.bus.topic_join("alice", alice.topic_id, reclaim_token=alice.token)
    alice.sync("mine again")
    with pytest.raises(AgentNotJoined):
        new.sync()


def test_a_takeover_by_a_server_without_fencing_is_seen_too(join: Join, clock: Clock, tmp_path: Path) -> None:
    """It moves last_claimed_at."""
    alice = join("alice")
    with sqlite3.connect(tmp_path / "bus.sqlite") as file:
        file.execute("UPDATE agent_name_reservations SET last_claimed_at = last_claimed_at + 1")
    file.close()
    with pytest.raises(AgentNotJoined):
        alice.sync()


def test_joining_again_is_the_same_identity(join: Join) -> None:
    """In the same session, without the token; another name there leaves the first one reserved."""
    alice = join("alice")
    assert alice.bus.topic_join("alice", alice.topic_id)["reclaim_token"] == alice.token
    with pytest.raises(AgentNameInUse):
        alice.bus.topic_join("alice", alice.topic_id, reclaim_token="wrong")
    alice.bus.topic_join("other", alice.topic_id)
    assert alice.sync("x")["sent"][0]["message"]["sender"] == "other"
    with pytest.raises(AgentNameInUse):
        alice.bus.topic_join("alice", alice.topic_id)


def test_a_topic_from_before_reservations_gets_them_on_the_first_join(join: Join, tmp_path: Path) -> None:
    """A cursor alone reserves nothing."""
    alice = join("alice")
    with sqlite3.connect(tmp_path / "bus.sqlite") as file:
        file.execute("INSERT INTO cursors VALUES (?, 'old', 0, 0)", (alice.topic_id,))
    file.close()
    join("old")
    with pytest.raises(AgentNameInUse):
        join("old")


@pytest.mark.parametrize(
    ("method", "arguments"),
    [
        ("topic_create", {"name": ""}),
        ("topic_create", {"name": 5}),
        ("topic_create", {"metadata": []}),
        ("topic_create", {"mode": "other"}),
        ("topic_list", {"status": "gone"}),
        ("topic_list", {"status": None}),
        ("topic_resolve", {"name": ""}),
        ("topic_resolve", {"name": "x", "allow_closed": 1}),
        ("topic_close", {"topic_id": ""}),
        ("topic_close", {"topic_id": "x", "reason": 5}),
        ("topic_join", {"agent_name": "a"}),
        ("topic_join", {"agent_name": "a", "topic_id": "x", "name": "y"}),
        ("topic_join", {"agent_name": " ", "name": "x"}),
        ("topic_join", {"agent_name": "a\nb", "name": "x"}),
        ("topic_join", {"agent_name": "a" * 65, "name": "x"}),
        ("topic_join", {"agent_name": None, "name": "x"}),
        ("topic_join", {"agent_name": "a", "name": "x", "reclaim_token": " "}),
        ("topic_presence", {"topic_id": "x", "window_seconds": 0}),
        ("topic_presence", {"topic_id": "x", "limit": 0}),
        ("topic_presence", {"topic_id": 5}),
    ],
)
def test_bad_arguments_are_refused(open_session: OpenSession, method: str, arguments: dict[str, Any]) -> None:
    """Each by its own name."""
    with pytest.raises(InvalidArgument):
        getattr(open_session(), method)(**arguments)


def test_an_unknown_topic_is_not_found(open_session: OpenSession) -> None:
    """By every tool that takes one."""
    bus = open_session()
    for call in (
        lambda: bus.topic_join("alice", "0123456789"),
        lambda: bus.topic_join("alice", name="x"),
        lambda: bus.topic_presence("0123456789"),
        lambda: bus.topic_resolve("x", allow_closed=True),
    ):
        with pytest.raises(TopicNotFound):
            call()


def test_presence_is_who_synced_lately(join: Join, clock: Clock) -> None:
    """Joining is not enough; the latest first; the edge of the window counts."""
    alice, bob = join("alice"), join("bob")
    assert bob.bus.topic_presence(bob.topic_id)["peers"] == []
    alice.sync("1")
    began = clock.now_ms()
    clock.set(began + 300_000)
    bob.sync()
    now = clock.now_ms() / 1000
    assert bob.bus.topic_presence(bob.topic_id) == {
        "topic_id": bob.topic_id,
        "window_seconds": 300,
        "limit": 200,
        "now": now,
        "count": 2,
        "peers": [
            {"agent_name": "bob", "last_seq": 1, "updated_at": now, "age_seconds": 0.0},
            {"agent_name": "alice", "last_seq": 1, "updated_at": now - 300, "age_seconds": 300.0},
        ],
    }
    assert bob.bus.topic_presence(bob.topic_id, window_seconds=299)["count"] == 1
    assert bob.bus.topic_presence(bob.topic_id, limit=1)["peers"][0]["agent_name"] == "bob"
    clock.set(began)  # a clock that went back makes nobody younger than now
    assert bob.bus.topic_presence(bob.topic_id)["peers"][0]["age_seconds"] == 0.0
