"""sync: one transaction that sends, acknowledges and receives; dense numbers; idempotent sends."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.clock import Clock
from refbus.kernel.errors import AgentNotJoined, InvalidArgument, TopicClosed

Join = Callable[..., Any]


def test_messages_arrive_once_and_in_order_with_dense_numbers(join: Join) -> None:
    """From 1, whoever sends, also where other topics have messages."""
    alice, bob, carol = join("alice"), join("bob"), join("carol")
    other = alice.bus.topic_create(name="other")["topic_id"]
    alice.bus.topic_join("alice", other)
    alice.bus.sync(other, [{"content_markdown": "x"}], wait_seconds=0)
    alice.sync("one", "two")
    bob.sync("three")
    assert carol.seqs() == [1, 2, 3]
    assert carol.seqs() == []
    assert alice.bus.sync(other, [{"content_markdown": "x"}], wait_seconds=0)["sent"][0]["message"]["seq"] == 2


def test_a_reply_says_all_about_each_message(join: Join, clock: Clock) -> None:
    """And all times within one call are equal."""
    alice, bob = join("alice"), join("bob")
    sent = alice.sync(
        outbox=[
            {
                "content_markdown": "# Naïve?\n\n✓",
                "message_type": " question ",
                "metadata": {"b": [1], "a": None},
                "client_message_id": " k ",
            }
        ]
    )
    message = {
        "topic_id": alice.topic_id,
        "seq": 1,
        "sender": "alice",
        "message_type": "question",
        "reply_to": None,
        "content_markdown": "# Naïve?\n\n✓",
        "metadata": {"b": [1], "a": None},
        "client_message_id": "k",
        "created_at": clock.now_ms() / 1000,
        "message_id": sent["sent"][0]["message"]["message_id"],
    }
    assert sent["sent"] == [{"message": message, "duplicate": False}]
    assert sent["status"] == "empty"
    assert len(message["message_id"]) == 10 and int(message["message_id"], 16) >= 0
    assert bob.sync() == {
        "topic_id": alice.topic_id,
        "agent_name": "bob",
        "status": "ready",
        "sent": [],
        "received": [message],
        "received_count": 1,
        "has_more": False,
        "cursor": {"last_seq": 1, "updated_at": clock.now_ms() / 1000},
    }
    answer = {"content_markdown": "yes", "message_type": "answer", "reply_to": message["message_id"]}
    bob.sync(outbox=[answer])
    assert alice.sync()["received"][0]["reply_to"] == message["message_id"]


def test_max_items_and_has_more_page_through_a_topic(join: Join) -> None:
    """Loop until has_more is false."""
    alice, bob = join("alice"), join("bob")
    alice.sync(*"abcdefg")
    pages = []
    while not pages or pages[-1]["has_more"]:
        pages.append(bob.sync(max_items=3))
    assert [[m["seq"] for m in page["received"]] for page in pages] == [[1, 2, 3], [4, 5, 6], [7]]
    assert [page["cursor"]["last_seq"] for page in pages] == [3, 6, 7]


def test_own_messages_are_received_only_when_asked_for(join: Join) -> None:
    """Also those of the same call."""
    alice = join("alice")
    assert alice.sync("one", include_self=True)["received_count"] == 1
    assert alice.sync("two")["received"] == []
    assert alice.seqs(include_self=True) == []  # passed by the call before (B8)


def test_the_cursor_passes_own_messages_once_nothing_unread_lies_before_them(join: Join) -> None:
    """And not before (B8)."""
    alice, bob = join("alice"), join("bob")
    bob.sync("1")
    alice.sync("2", max_items=1)
    bob.sync("3", "4")
    alice.sync("5", auto_advance=False)
    assert alice.sync(max_items=1)["cursor"]["last_seq"] == 3
    assert alice.sync(max_items=1)["cursor"]["last_seq"] == 5
    assert bob.sync()["cursor"]["last_seq"] == 5


def test_without_auto_advance_only_ack_through_moves_the_cursor(join: Join) -> None:
    """Forward, and unacknowledged messages come again."""
    alice, bob = join("alice"), join("bob")
    alice.sync("1", "2", "3")
    assert bob.seqs(auto_advance=False) == bob.seqs(auto_advance=False) == [1, 2, 3]
    reply = bob.sync(auto_advance=False, ack_through=2)
    assert [m["seq"] for m in reply["received"]] == [3] and reply["cursor"]["last_seq"] == 2
    assert bob.sync(auto_advance=False, ack_through=1)["cursor"]["last_seq"] == 2  # backward is ignored (B5)
    of_this_call = bob.sync("4", auto_advance=False, ack_through=4)
    assert of_this_call["cursor"]["last_seq"] == 4


@pytest.mark.parametrize("ack", [2, 10**6, -1, "1", True, 1.0])
def test_a_bad_ack_rolls_the_outbox_back(join: Join, ack: Any) -> None:
    """All or nothing (B5)."""
    alice, bob = join("alice"), join("bob")
    with pytest.raises(InvalidArgument):
        alice.sync("lost", auto_advance=False, ack_through=ack)
    assert bob.seqs() == []
    assert alice.sync("first")["sent"][0]["message"]["seq"] == 1
    with pytest.raises(InvalidArgument, match="auto_advance=false"):
        alice.sync(ack_through=1)


def test_the_same_client_message_id_is_the_same_message(join: Join) -> None:
    """Per topic and sender; other content is told (B6)."""
    alice, bob = join("alice"), join("bob")
    item = {"content_markdown": "x", "client_message_id": "k", "metadata": {"a": 1, "b": 2}}
    first = alice.sync(outbox=[item, item])["sent"]
    assert [record["duplicate"] for record in first] == [False, True]
    assert first[0]["message"] == first[1]["message"]
    again = alice.sync(outbox=[item | {"metadata": {"b": 2, "a": 1}}])
    assert again["sent"] == first[1:] and "warnings" not in again
    other = alice.sync(outbox=[{"content_markdown": "y", "client_message_id": "k"}])
    assert other["sent"] == first[1:]
    assert other["warnings"][0]["code"] == "CONTENT_MISMATCH"
    assert other["warnings"][0]["context"]["message_id"] == first[0]["message"]["message_id"]
    assert bob.sync(outbox=[item])["sent"][0]["duplicate"] is False
    assert [m["seq"] for m in bob.sync(include_self=True)["received"]] == []
    assert alice.seqs() == [2]


@pytest.mark.parametrize(("stored", "again"), [(True, 1), (1, 1.0), (0, False), ([{"n": True}], [{"n": 1}])])
def test_values_that_python_calls_equal_are_other_content(join: Join, stored: Any, again: Any) -> None:
    """Content is compared as JSON text (B6)."""
    alice = join("alice")
    item = {"content_markdown": "x", "client_message_id": "k"}
    alice.sync(outbox=[item | {"metadata": {"n": stored}}])
    assert "warnings" not in alice.sync(outbox=[item | {"metadata": {"n": stored}}])
    assert alice.sync(outbox=[item | {"metadata": {"n": again}}])["warnings"][0]["code"] == "CONTENT_MISMATCH"


def test_a_closed_topic_is_read_and_not_written(join: Join) -> None:
    """A retry of a message stored before still finds its record (B7)."""
    alice, bob = join("alice"), join("bob")
    stored = {"content_markdown": "x", "client_message_id": "k"}
    alice.sync(outbox=[stored])
    bob.bus.topic_close(bob.topic_id)
    assert alice.sync(outbox=[stored])["sent"][0]["duplicate"] is True
    with pytest.raises(TopicClosed):
        alice.sync(outbox=[stored, {"content_markdown": "new"}])
    assert bob.seqs() == [1]
    assert bob.bus.cursor_reset(bob.topic_id)["cursor"]["last_seq"] == 0
    assert bob.seqs() == [1]


def test_cursor_reset_replays_and_skips_within_what_exists(join: Join) -> None:
    """It is the one way backward."""
    alice, bob = join("alice"), join("bob")
    alice.sync("1", "2", "3")
    bob.sync()
    assert bob.bus.cursor_reset(bob.topic_id, last_seq=1)["cursor"]["last_seq"] == 1
    assert bob.seqs() == [2, 3]
    for bad in (4, -1, True, "0", 2**63):
        with pytest.raises(InvalidArgument):
            bob.bus.cursor_reset(bob.topic_id, last_seq=bad)
    assert bob.seqs() == []


@pytest.mark.parametrize(
    "item",
    [
        None,
        "x",
        {},
        {"content": "x"},
        {"content_markdown": ""},
        {"content_markdown": 5},
        {"content_markdown": "x" * 65_537},
        {"content_markdown": "\ud800"},
        *(
            {"content_markdown": "x", **more}
            for more in (
                {"message_type": ""},
                {"message_type": " "},
                {"message_type": "t" * 33},
                {"message_type": 1},
                {"reply_to": ""},
                {"reply_to": "0123456789"},
                {"reply_to": 1},
                {"metadata": []},
                {"metadata": "{}"},
                {"metadata": {"x": float("nan")}},
                {"client_message_id": " "},
                {"client_message_id": "k" * 129},
            )
        ),
    ],
)
def test_an_outbox_is_sent_whole_or_not_at_all(join: Join, item: Any) -> None:
    """One bad item refuses all, and the refusal names it."""
    alice, bob = join("alice"), join("bob")
    with pytest.raises(InvalidArgument, match=r"outbox\[1\]"):
        alice.sync(outbox=[{"content_markdown": "fine"}, item])
    assert bob.seqs() == []


def test_the_limits_are_reached_and_not_passed(join: Join) -> None:
    """50 items, 65,536 characters, 20 at a time; and the forms that models send instead of a list."""
    alice, bob = join("alice"), join("bob")
    assert len(alice.sync(*["é" * 65_536] * 50)["sent"]) == 50
    assert alice.sync(outbox={"content_markdown": "alone"})["sent"]
    assert alice.sync(outbox='[{"content_markdown": "text"}]')["sent"]
    for bad in (
        {"outbox": [{"content_markdown": "x"}] * 51},
        {"outbox": "{"},
        {"outbox": 5},
        {"max_items": 0},
        {"max_items": 21},
        {"wait_seconds": -1},
        {"wait_seconds": 0.5},
        {"include_self": 1},
        {"auto_advance": "yes"},
    ):
        with pytest.raises(InvalidArgument):
            alice.sync(**bad)
    assert len(bob.seqs()) == 20


def test_an_id_that_is_taken_is_not_given_again(join: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 2**16 that begin with a given second. The first message of the second outbox has been inserted."""
    drawn = {0: [], 1: ["0123456789"], 2: ["9876543210", "0123456789"]}
    monkeypatch.setattr("refbus.topics.log.ids_of_time", lambda _now, count: drawn[count])
    alice, bob = join("alice"), join("bob")
    sent = alice.sync("1")["sent"] + alice.sync("2", "3")["sent"]
    ids = [record["message"]["message_id"] for record in sent]
    assert ids[0] == "0123456789" and len(set(ids)) == 3
    assert [(message["message_id"], message["seq"]) for message in bob.sync()["received"]] == [
        *zip(ids, (1, 2, 3), strict=True)
    ]


def test_who_has_not_joined_cannot_sync(join: Join) -> None:
    """The session's memory counts, not what the file knows."""
    alice = join("alice")
    with pytest.raises(AgentNotJoined):
        alice.bus.sync("0123456789", wait_seconds=0)
    with pytest.raises(AgentNotJoined):
        alice.bus.cursor_reset("0123456789")


def test_what_a_stranger_wrote_is_read(join: Join, tmp_path: Path) -> None:
    """A participant with SQLite alone: no counter row, bytes that are no text, metadata that is no object."""
    alice = join("alice")
    alice.sync("1")
    file = sqlite3.connect(tmp_path / "bus.sqlite", isolation_level=None)
    file.execute("DELETE FROM topic_seq")
    for seq, body, metadata in ((2, "CAST(x'ff41' AS TEXT)", "'[]'"), (3, "x'ff42'", "'{'")):
        file.execute(
            f"INSERT INTO messages VALUES ('m{seq}', ?, {seq}, 'eve', 'message', NULL, {body}, {metadata}, NULL, 0)",
            (alice.topic_id,),
        )
    file.close()
    received = alice.sync("4")["received"]
    assert [(m["seq"], m["content_markdown"], m["metadata"]) for m in received] == [
        (2, "\ufffdA", None),
        (3, "\ufffdB", None),
    ]
    assert join("bob").seqs() == [1, 2, 3, 4]
