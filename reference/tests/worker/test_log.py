"""The log: every published message stands in it once, as it was said."""

from __future__ import annotations

from pathlib import Path

import pytest

from refbus.kernel.errors import IdConflict, InvalidArgument
from refbus.worker.bus import WorkerBus


def test_a_refused_batch_leaves_no_blob(bus: WorkerBus, store: Path) -> None:
    """Neither of the messages before the refused one, nor of those behind it."""
    bus.publish("alice", {"type": "t", "id": "taken"})
    large = {"type": "t", "payload": "x" * 5000}
    with pytest.raises(IdConflict):
        bus.publish_many("alice", [large, {"type": "u", "id": "taken"}, large])
    assert list((store / "blobs").iterdir()) == []


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


def test_a_retry_whose_first_blob_is_lost_is_a_conflict(bus: WorkerBus) -> None:
    """Nobody can tell any more whether it is the same."""
    bus.publish("alice", {"id": "m1", "type": "t", "payload": "y" * 5000})
    for blob in bus.store.blobs.iterdir():
        blob.unlink()
    with pytest.raises(IdConflict):
        bus.publish("alice", {"id": "m1", "type": "t", "payload": "z"})
