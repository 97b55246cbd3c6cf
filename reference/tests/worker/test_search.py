"""Search, archive and signatures: all that is done with messages besides delivering them."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable
from typing import Any

import pytest

from refbus.kernel.errors import Busy, IoError
from refbus.worker import archive
from refbus.worker.bus import WorkerBus
from refbus.worker.tail import Tail

OpenBus = Callable[..., WorkerBus]


def seqs(bus: WorkerBus, query: str, **params: Any) -> list[int]:
    """The seqs of the messages found."""
    return [message["seq"] for message in bus.search(query, **params)["messages"]]


def test_what_the_disk_does_not_give_is_found_when_it_does(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The call fails, and indexes nothing as if it were empty."""
    bus.publish("alice", {"type": "t", "payload": "long " * 2000 + "needle"})
    bus.publish("alice", {"type": "t", "payload": "short needle"})
    with monkeypatch.context() as sick:
        sick.setattr("refbus.kernel.blob.read_whole", _io_error)
        with pytest.raises(IoError):
            bus.search("needle")
    assert seqs(bus, "needle") == [1, 2]


def _io_error(*_: object) -> bytes:
    raise OSError(errno.EIO, "as a disk says it")


def test_it_finds_what_strangers_wrote_and_what_is_archived(bus: WorkerBus) -> None:
    """The index is brought up to date by the search itself."""
    bus.publish("alice", {"type": "t", "payload": "first"})
    assert seqs(bus, "first") == [1]
    stranger = sqlite3.connect(bus.folder / "bus.db")
    stranger.executemany(
        "INSERT INTO messages (id, ts_ms, from_agent, type, payload, payload_ref) VALUES (?, 1, 'nim', 'odd', ?, ?)",
        [("a", '"second"', None), ("b", "{torn second", None), ("c", None, "../x"), ("d", b"\xff", None)],
    )
    stranger.execute(
        "INSERT INTO messages (id, ts_ms, from_agent, type, payload) VALUES ('e', 1, 'nim', 't', ?)",
        [r'{"\ud800 half": 1}'],
    )
    stranger.commit()
    stranger.close()
    bus.publish("alice", {"type": "t", "payload": "third"})
    bus.ack("bob", 2)
    bus.archive()
    assert seqs(bus, "first") == [1]
    assert seqs(bus, "second") == [2, 3]
    assert seqs(bus, "odd") == [2, 3, 4, 5]
    assert seqs(bus, "half") == [6]
    bus.ack("bob", 7)
    bus.archive()
    assert seqs(bus, "third") == [7]


def test_a_tail_reads_what_was_archived_meanwhile(bus: WorkerBus) -> None:
    """From where it begins, and no further back than it was asked."""
    for _ in range(6):
        bus.publish("alice", {"type": "note"})
    tail = Tail(bus, back=4)
    bus.ack("alice", 5)
    assert bus.archive()["archived"] == 5
    assert [message["seq"] for message in tail.messages(follow=False)] == [3, 4, 5, 6]
    assert [message["seq"] for message in Tail(bus, back=2).messages(follow=False)] == [5, 6]
    assert [message["seq"] for message in Tail(bus, back=9).messages(follow=False)] == [1, 2, 3, 4, 5, 6]


def test_two_searchers_index_once(open_bus: OpenBus) -> None:
    """The second finds the work done."""
    first, two = open_bus(), open_bus()
    first.publish("alice", {"type": "t", "payload": "word"})
    assert seqs(first, "word") == seqs(two, "word") == [1]
    assert first.db.row("SELECT count(*) FROM search_index")[0] == 1


def test_long_logs_are_indexed_and_archived_in_parts(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """So that publishers are not held up; the result is the same."""
    monkeypatch.setattr("refbus.worker.archive.ROWS_AT_ONCE", 3)
    monkeypatch.setattr("refbus.worker.search.ROWS_AT_ONCE", 3)
    bus.publish_many("alice", [{"type": "t", "payload": "word", "to": ("bob", "ghost")[n % 2]} for n in range(20)])
    assert seqs(bus, "word") == list(range(1, 21))
    bus.ack("bob", 18)
    assert bus.archive() == {"archived": 9, "below_seq": 18}
    assert [row["seq"] for row in bus.dump()["archived"]] == list(range(1, 19, 2))
    assert seqs(bus, "word") == list(range(1, 21))
    bus.publish_many("alice", [{"type": "t", "payload": "word"}] * 3)
    assert seqs(bus, "word") == list(range(1, 24))


def test_an_error_behind_a_part_that_was_archived_promises_nothing(
    bus: WorkerBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before the first part it does."""
    bus.publish_many("alice", [{"type": "t"}] * 3)
    bus.ack("bob", 3)
    move, parts = archive.Archive._move_some, iter((True, False, True))

    def move_some(*args: Any) -> Any:
        if next(parts):
            raise Busy("locked")
        return move(*args)

    monkeypatch.setattr(archive, "ROWS_AT_ONCE", 1)
    monkeypatch.setattr(archive.Archive, "_move_some", move_some)
    with pytest.raises(Busy) as first:
        bus.archive()
    with pytest.raises(Busy) as later:
        bus.archive()
    assert (first.value.definite, later.value.definite) == (True, False)


def test_a_busy_vacuum_does_not_undo_the_archival(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file merely stays larger than it need be."""
    bus.publish("alice", {"type": "t"})
    bus.ack("bob", 1)
    write = bus.db.write

    def busy(sql: str, values: Any = ()) -> Any:
        if sql == "VACUUM":
            raise Busy("locked")
        return write(sql, values)

    monkeypatch.setattr(bus.db, "write", busy)
    assert bus.archive()["archived"] == 1


KEY, OTHER_KEY = "00" * 32, "ff" * 32


def test_signed_messages_are_believed_and_tampered_ones_are_not(open_bus: OpenBus) -> None:
    """Any change to any field, a moved row, a missing signature, another key."""
    bus = open_bus(signing_key=KEY)
    message = {"type": "t", "to": "bob", "payload": {"a": 1}, "correlation_id": "c", "in_reply_to": "r"}
    bus.publish("alice", {**message, "id": "m1"})
    bus.publish("alice", {**message, "id": "m2", "payload": "x" * 5000})
    bus.publish_many("alice", [{**message, "id": "m3"}, {"type": "u", "to": "bob"}])
    assert bus.publish("alice", {**message, "id": "m1"})["seq"] == 1
    assert not any("payload_error" in each for each in bus.poll("bob")["messages"])
    assert [each["payload_error"] for each in open_bus(signing_key=OTHER_KEY).poll("bob")["messages"]] == [
        "bad_signature"
    ] * 4
    assert not any("payload_error" in each for each in open_bus().poll("bob")["messages"])
    for change in (
        "type = 'x'",
        "from_agent = 'eve'",
        "id = 'eve'",
        "ts_ms = 1",
        "correlation_id = NULL",
        "in_reply_to = 'c'",
        "payload = '{}'",
        "payload = NULL",
        "payload = x'00'",
        "correlation_id = 'cr', in_reply_to = ''",
    ):
        with bus.db.transaction() as connection:
            connection.execute(f"UPDATE messages SET {change} WHERE seq = 1")
        (first, *rest) = bus.poll("bob")["messages"]
        assert first["payload_error"] == "bad_signature"
        assert "payload" not in first
        assert not any("payload_error" in each for each in rest)
    bus.db.write("DELETE FROM signatures WHERE seq = 2")
    bus.db.write("UPDATE signatures SET mac = x'00' WHERE seq = 3")
    open_bus().publish("eve", {"type": "t", "to": "bob"})
    errors = [each.get("payload_error") for each in bus.poll("bob")["messages"]]
    assert errors == ["bad_signature", "bad_signature", "bad_signature", None, "bad_signature"]


def test_state_changes_are_signed_too(open_bus: OpenBus) -> None:
    """So is everything that the bus itself publishes."""
    bus = open_bus(signing_key=KEY)
    bus.transition("w1", "ASSIGNED")
    assert bus.poll("bob")["messages"][0]["payload"] == {"from": None, "to": "ASSIGNED"}
