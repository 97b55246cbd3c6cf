"""The log: every published message stands in it once, as it was said."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from refbus.kernel.errors import IdConflict, InvalidArgument, PayloadTooLarge
from refbus.worker.bus import WorkerBus


@pytest.mark.parametrize(("size", "is_inline"), [(4096, True), (4097, False)])
def test_4097_bytes_are_a_blob(bus: WorkerBus, size: int, is_inline: bool) -> None:
    """Bytes of the JSON text, quotes included (W4)."""
    value = "x" * (size - 2)
    bus.publish("alice", {"type": "t", "payload": value})
    ((payload, ref),) = bus.db.rows("SELECT payload, payload_ref FROM messages")
    assert (payload is not None, ref is None) == (is_inline, is_inline)
    assert bus.poll("bob")["messages"][0]["payload"] == value
    assert len(list(bus.store.blobs.iterdir())) == (0 if is_inline else 1)


def test_a_retry_whose_first_blob_is_lost_is_a_conflict(bus: WorkerBus) -> None:
    """Nobody can tell any more whether it is the same."""
    bus.publish("alice", {"id": "m1", "type": "t", "payload": "y" * 5000})
    for blob in bus.store.blobs.iterdir():
        blob.unlink()
    with pytest.raises(IdConflict):
        bus.publish("alice", {"id": "m1", "type": "t", "payload": "z"})


def test_a_refused_batch_leaves_no_blob(bus: WorkerBus, store: Path) -> None:
    """Neither of the messages before the refused one, nor of those behind it."""
    bus.publish("alice", {"type": "t", "id": "taken"})
    large = {"type": "t", "payload": "x" * 5000}
    with pytest.raises(IdConflict):
        bus.publish_many("alice", [large, {"type": "u", "id": "taken"}, large])
    assert list((store / "blobs").iterdir()) == []


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
