"""The log: every published message stands in it once, as it was said."""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.errors import Backpressure, IdConflict, InvalidArgument, PayloadTooLarge
from refbus.worker.bus import WorkerBus

T0_MS = 1_768_053_600_000  # where the clock of these tests stands
OpenBus = Callable[..., WorkerBus]


def test_a_message_comes_out_as_it_went_in(bus: WorkerBus) -> None:
    """Every field of the seed's schema, and the place in the log."""
    message = {
        "id": "m1",
        "to": "bob",
        "type": "task_done",
        "correlation_id": "skills-abc",
        "in_reply_to": "m0",
        "payload": {"branch": "worker-auth/skills-abc"},
    }
    assert bus.publish("alice", message) == {"id": "m1", "seq": 1}
    assert bus.poll("bob")["messages"] == [
        {
            "seq": 1,
            "id": "m1",
            "ts_ms": T0_MS,
            "from_agent": "alice",
            "to_agent": "bob",
            "type": "task_done",
            "correlation_id": "skills-abc",
            "in_reply_to": "m0",
            "payload": {"branch": "worker-auth/skills-abc"},
        }
    ]


def test_without_an_id_a_message_gets_a_uuid(bus: WorkerBus) -> None:
    """Version 4, and each time another."""
    ids = {bus.publish("alice", {"type": "t"})["id"] for _ in range(100)}
    assert len(ids) == 100
    for made in ids:
        assert str(uuid.UUID(made)) == made
        assert uuid.UUID(made).version == 4
        assert uuid.UUID(made).variant == uuid.RFC_4122


@pytest.mark.parametrize("value", [None, False, 0, 0.5, "", "x", [], {}, [None], {"": {}}, 2**63, -(2**100), "é😀"])
def test_every_json_value_survives(bus: WorkerBus, value: Any) -> None:
    """Also the empty ones, which the seed's `if payload:` loses (W2)."""
    bus.publish("alice", {"type": "t", "payload": value})
    (message,) = bus.poll("bob")["messages"]
    assert message["payload"] == value
    assert type(message["payload"]) is type(value)


def test_an_absent_payload_is_null_in_the_file_and_absent_when_read(bus: WorkerBus) -> None:
    """A JSON null is the text `null`."""
    bus.publish_many("alice", [{"type": "t"}, {"type": "t", "payload": None}])
    assert bus.db.rows("SELECT payload FROM messages ORDER BY seq") == [(None,), ("null",)]
    absent, null = bus.poll("bob")["messages"]
    assert "payload" not in absent
    assert null["payload"] is None


@pytest.mark.parametrize(("size", "is_inline"), [(4096, True), (4097, False)])
def test_4097_bytes_are_a_blob(bus: WorkerBus, size: int, is_inline: bool) -> None:
    """Bytes of the JSON text, quotes included (W4)."""
    value = "x" * (size - 2)
    bus.publish("alice", {"type": "t", "payload": value})
    ((payload, ref),) = bus.db.rows("SELECT payload, payload_ref FROM messages")
    assert (payload is not None, ref is None) == (is_inline, is_inline)
    assert bus.poll("bob")["messages"][0]["payload"] == value
    assert len(list(bus.store.blobs.iterdir())) == (0 if is_inline else 1)


@pytest.mark.parametrize("payload", [{"a": 1, "b": [2]}, "y" * 5000, None])
def test_the_same_message_again_is_the_first_one(bus: WorkerBus, payload: Any) -> None:
    """An idempotent retry, also with its members in another order (W3)."""
    message = {"id": "m1", "to": "bob", "type": "t", "payload": payload}
    first = bus.publish("alice", message)
    again = dict(message)
    if isinstance(payload, dict):
        again["payload"] = dict(reversed(payload.items()))
    assert bus.publish("alice", again) == first
    assert bus.publish_many("alice", [again, {"type": "u"}])["seqs"][0] == first["seq"]
    assert len(bus.poll("bob")["messages"]) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"payload": 2},
        {"payload": True},
        {"payload": "y" * 5000},
        {"type": "u"},
        {"to": "carol"},
        {"to": None},
        {"correlation_id": "c"},
        {"in_reply_to": "r"},
    ],
)
def test_the_same_id_with_other_content_is_a_conflict(bus: WorkerBus, change: dict[str, Any]) -> None:
    """Definite, and nothing is stored, no blob either (W3)."""
    message = {"id": "m1", "to": "bob", "type": "t", "payload": 1}
    bus.publish("alice", message)
    before = bus.dump()
    with pytest.raises(IdConflict) as caught:
        bus.publish("alice", {**message, **change})
    assert caught.value.definite
    with pytest.raises(IdConflict):
        bus.publish_many("alice", [{"type": "new"}, {**message, **change}])
    with pytest.raises(IdConflict):
        bus.publish("mallory", message)
    assert bus.dump() == before
    assert list(bus.store.blobs.iterdir()) == []


def test_an_absent_payload_is_not_a_null_one(bus: WorkerBus) -> None:
    """They are two messages."""
    bus.publish("alice", {"id": "m1", "type": "t"})
    with pytest.raises(IdConflict):
        bus.publish("alice", {"id": "m1", "type": "t", "payload": None})


def test_a_retry_whose_first_blob_is_lost_is_a_conflict(bus: WorkerBus) -> None:
    """Nobody can tell any more whether it is the same."""
    bus.publish("alice", {"id": "m1", "type": "t", "payload": "y" * 5000})
    for blob in bus.store.blobs.iterdir():
        blob.unlink()
    with pytest.raises(IdConflict):
        bus.publish("alice", {"id": "m1", "type": "t", "payload": "z"})


def test_a_batch_is_all_or_none(bus: WorkerBus) -> None:
    """In the order given, numbered without a gap."""
    assert bus.publish_many("alice", []) == {"ids": [], "seqs": []}
    reply = bus.publish_many("alice", [{"type": "t", "id": f"m{n}", "payload": n} for n in range(5)])
    assert reply == {"ids": ["m0", "m1", "m2", "m3", "m4"], "seqs": [1, 2, 3, 4, 5]}
    with pytest.raises(InvalidArgument):
        bus.publish_many("alice", [{"type": "t"}, {"type": None}])
    assert len(bus.poll("bob")["messages"]) == 5


def test_a_refused_batch_leaves_no_blob(bus: WorkerBus, store: Path) -> None:
    """Neither of the messages before the refused one, nor of those behind it."""
    bus.publish("alice", {"type": "t", "id": "taken"})
    large = {"type": "t", "payload": "x" * 5000}
    with pytest.raises(IdConflict):
        bus.publish_many("alice", [large, {"type": "u", "id": "taken"}, large])
    assert list((store / "blobs").iterdir()) == []


def test_a_batch_may_hold_a_message_twice(bus: WorkerBus) -> None:
    """The second is a retry of the first; a different second is a conflict."""
    reply = bus.publish_many("alice", [{"type": "t", "id": "m"}, {"type": "u"}, {"type": "t", "id": "m"}])
    assert reply["seqs"][0] == reply["seqs"][2]
    with pytest.raises(IdConflict):
        bus.publish_many("alice", [{"type": "t", "id": "n"}, {"type": "u", "id": "n"}])
    assert len(bus.poll("bob")["messages"]) == 2


def test_a_batch_carries_blobs(bus: WorkerBus) -> None:
    """Large and small side by side."""
    payloads = ["x" * 5000, 1, "y" * 6000]
    bus.publish_many("alice", [{"type": "t", "payload": payload} for payload in payloads])
    assert [message["payload"] for message in bus.poll("bob")["messages"]] == payloads


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"type": None},
        {"type": ""},
        {"type": 1},
        {"type": "a\0b"},
        {"type": "\ud800"},
        {"type": "t", "to": ""},
        {"type": "t", "to": "../x"},
        {"type": "t", "to": 5},
        {"type": "t", "id": ""},
        {"type": "t", "id": 7},
        {"type": "t", "id": "a\nb"},
        {"type": "t", "correlation_id": []},
        {"type": "t", "in_reply_to": {}},
        {"type": "t", "extra": 1},
        {"type": "t", "payload": float("nan")},
        {"type": "t", "payload": "\udfff"},
        {"type": "t", "payload": object()},
        {"type": "t", 5: 1},
        [],
        None,
        "t",
        1,
    ],
)
def test_what_is_no_message_is_refused_and_leaves_no_trace(bus: WorkerBus, message: Any) -> None:
    """W1: only a duplicate id is 'already published'."""
    before = bus.dump()
    with pytest.raises(InvalidArgument) as caught:
        bus.publish("alice", message)
    assert caught.value.definite
    with pytest.raises(InvalidArgument):
        bus.publish_many("alice", [{"type": "fine"}, message])
    assert bus.dump() == before


def test_senders_and_batches_are_checked(bus: WorkerBus) -> None:
    """A batch is a list, a sender has a name."""
    for agent in ("", "a/b", None, 5, "\0"):
        with pytest.raises(InvalidArgument):
            bus.publish(agent, {"type": "t"})  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        bus.publish_many("alice", ({"type": "t"},))  # type: ignore[arg-type]


def test_ten_megabytes_are_too_large(bus: WorkerBus) -> None:
    """Definitely, and no blob stays."""
    with pytest.raises(PayloadTooLarge) as caught:
        bus.publish("alice", {"type": "t", "payload": "x" * 10_000_000})
    assert caught.value.definite
    assert list(bus.store.blobs.iterdir()) == []


def test_another_constraint_is_not_a_duplicate(bus: WorkerBus) -> None:
    """A rule that a stranger added to the file refuses a message; that is not 'already published' (W1)."""
    bus.db.connection().execute(
        "CREATE TRIGGER no_spam BEFORE INSERT ON messages WHEN new.type = 'spam' "
        "BEGIN SELECT raise(ABORT, 'no spam'); END"
    )
    for message in ({"type": "spam"}, {"type": "spam", "id": "m1"}):
        with pytest.raises(InvalidArgument, match="no spam"):
            bus.publish("alice", message)
        with pytest.raises(InvalidArgument, match="no spam"):
            bus.publish_many("alice", [{"type": "fine"}, message])
    assert bus.poll("bob")["messages"] == []


def test_the_bound_on_unread_messages_holds_until_the_reader_moves(open_bus: OpenBus) -> None:
    """Off by default; a refusal is definite and stores nothing, a retry of a stored message passes."""
    bus = open_bus(unread_max=2)
    bus.publish("alice", {"type": "t", "to": "bob", "id": "m1"})
    bus.publish("alice", {"type": "t", "to": "bob"})
    for payload in (1, "x" * 5000):
        with pytest.raises(Backpressure) as caught:
            bus.publish("alice", {"type": "t", "to": "bob", "payload": payload})
        assert caught.value.definite
    assert list(bus.store.blobs.iterdir()) == []
    with pytest.raises(Backpressure):
        bus.publish_many("alice", [{"type": "t", "to": "carol"}, {"type": "t", "to": "bob"}])
    assert bus.poll("carol")["messages"] == []
    assert bus.publish("alice", {"type": "t", "to": "bob", "id": "m1"})["seq"] == 1
    bus.publish("alice", {"type": "t", "to": "carol"})
    bus.ack("bob", 1)
    bus.publish("alice", {"type": "t", "to": "bob"})
    open_bus().publish("alice", {"type": "t", "to": "bob"})


def test_broadcasts_are_unread_but_not_bounded(open_bus: OpenBus) -> None:
    """A broadcast has no recipient to wait for, yet it lies in everybody's way."""
    bus = open_bus(unread_max=1)
    bus.publish_many("alice", [{"type": "t"}, {"type": "t"}])
    with pytest.raises(Backpressure):
        bus.publish("alice", {"type": "t", "to": "bob"})


def test_strangers_rows_are_messages_too(bus: WorkerBus, store: Path) -> None:
    """The file is the wire: every program that writes the seed's tables takes part."""
    stranger = sqlite3.connect(store / "bus.db")
    stranger.execute(
        "INSERT INTO messages (id, ts_ms, from_agent, type, payload) VALUES ('s1', 5, 'nim', 'hello', ?)",
        (json.dumps({"a": 1}),),
    )
    stranger.commit()
    stranger.close()
    assert bus.publish("alice", {"type": "t"})["seq"] == 2
    assert [m["from_agent"] for m in bus.poll("bob")["messages"]] == ["nim", "alice"]
    with pytest.raises(IdConflict):
        bus.publish("alice", {"type": "t", "id": "s1"})


def test_redriven_messages_count_as_unread(open_bus: OpenBus) -> None:
    """The bound is on what a poll would return."""
    bus = open_bus(unread_max=2, deliveries_max=1)
    bus.publish("alice", {"type": "t", "to": "bob", "id": "dead"})
    bus.process_loop("bob", fail_ids=["dead"])
    bus.publish("alice", {"type": "t", "to": "bob"})
    assert bus.redrive("bob", 1) == {"redriven": True}
    assert len(bus.poll("bob")["messages"]) == 2
    with pytest.raises(Backpressure):
        bus.publish("alice", {"type": "t", "to": "bob"})
    bus.publish("alice", {"type": "t", "to": "carol"})
    bus.ack("bob", 1)
    bus.publish("alice", {"type": "t", "to": "bob"})
