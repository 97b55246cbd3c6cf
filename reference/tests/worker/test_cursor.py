"""The cursor: at least once, in order, and never past what exists."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from refbus.worker import route
from refbus.worker.bus import WorkerBus


def seqs(bus: WorkerBus, agent: str, **params: Any) -> list[int]:
    """The messages that a poll returns, by number."""
    return [message["seq"] for message in bus.poll(agent, **params)["messages"]]


def test_a_poll_costs_what_it_returns(bus: WorkerBus) -> None:
    """Both parts of the log are read in index order and merged: nothing is scanned, nothing sorted."""
    plan = [row[3] for row in bus.db.rows(f"EXPLAIN QUERY PLAN {route._UNREAD}", {"agent": "bob", "limit": 10})]
    assert sum("SEARCH messages USING INDEX idx_messages_to_seq (to_agent=? AND seq>?)" in line for line in plan) == 2
    assert any("MERGE (UNION ALL)" in line for line in plan)
    assert not any("TEMP B-TREE" in line or "SCAN messages" in line for line in plan)


@pytest.mark.parametrize(("text", "position"), [("x", 0), ("2 of 3", 2), (b"2", 2)])
def test_a_cursor_that_another_program_made_a_text_hides_nothing(
    bus: WorkerBus, text: str | bytes, position: int
) -> None:
    """It is read as far as it is a number; the next ack makes it one, and archiving goes on."""
    bus.publish_many("alice", [{"type": "t"}] * 3)
    bus.ack("bob", 2)
    bus.db.connection().execute("UPDATE cursors SET last_acked_seq = ?", (text,))
    assert seqs(bus, "bob") == list(range(position + 1, 4))
    assert bus.archive()["archived"] == position
    assert bus.ack("bob", 3) == {"last_acked_seq": 3}
    assert seqs(bus, "bob") == []


def test_damaged_rows_spoil_only_themselves(bus: WorkerBus) -> None:
    """The others arrive, whatever a stranger stored (W6)."""
    insert = "INSERT INTO messages (id, ts_ms, from_agent, type, payload, payload_ref) VALUES (?, 1, ?, 't', ?, ?)"
    connection = bus.db.connection()
    bad = {
        "torn": ('{"a": ', None, "decode_failed"),
        "two": ("1,2", None, "decode_failed"),
        "empty": ("", None, "decode_failed"),
        "nan": ("NaN", None, "decode_failed"),
        "huge": ("1e999", None, "decode_failed"),
        "deep": ("[" * 100_000, None, "decode_failed"),
        "deep2": ("[" * 300 + "]" * 300, None, "decode_failed"),
        "bytes": (b"\xff\xfe", None, "decode_failed"),
        "path": (None, "../bus.db", "blob_invalid"),
        "short": (None, "sha256-12", "blob_invalid"),
        "lost": (None, "sha256-" + "0" * 64, "blob_missing"),
    }
    for name, (payload, ref, _) in bad.items():
        connection.execute(insert, (name, "stranger", payload, ref))
    bus.publish("alice", {"type": "t", "payload": "fine"})
    *damaged, fine = bus.poll("bob")["messages"]
    assert {m["id"]: m.get("payload_error") for m in damaged} == {name: error for name, (_, _, error) in bad.items()}
    assert all("payload" not in message for message in damaged)
    assert fine["payload"] == "fine"
    assert "payload_error" not in fine


def test_text_that_is_no_utf8_spoils_only_itself(bus: WorkerBus) -> None:
    """One stranger's bytes must not make everybody deaf."""
    bus.db.connection().execute(
        "INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('x', 1, CAST(x'ff41' AS TEXT), 't')"
    )
    bus.publish("alice", {"type": "t"})
    assert [message["from_agent"] for message in bus.poll("bob")["messages"]] == ["\ufffdA", "alice"]


def test_blanks_around_a_payload_are_json(bus: WorkerBus) -> None:
    """Another language's writer may put them there."""
    bus.db.connection().execute(
        "INSERT INTO messages (id, ts_ms, from_agent, type, payload) VALUES ('x', 1, 'nim', 't', ' {\"a\" : 1}\n')"
    )
    assert bus.poll("bob")["messages"][0]["payload"] == {"a": 1}


def test_a_tampered_blob_is_not_believed(bus: WorkerBus) -> None:
    """The same goes for a truncated one, a link, or a folder in its place (W6)."""
    for payload in ("a" * 5000, "b" * 5000, "c" * 5000, "d" * 5000):
        bus.publish("alice", {"type": "t", "payload": payload})
    paths = [bus.store.blobs / message["payload_ref"] for message in bus.poll("bob")["messages"]]
    paths[0].write_bytes(paths[0].read_bytes().replace(b"a", b"b"))
    paths[1].write_bytes(paths[1].read_bytes()[:100])
    elsewhere = Path(bus.folder / "elsewhere")
    paths[2].rename(elsewhere)
    paths[2].symlink_to(elsewhere)
    paths[3].unlink()
    paths[3].mkdir()
    assert [m["payload_error"] for m in bus.poll("bob")["messages"]] == ["blob_corrupt"] * 4


@pytest.mark.parametrize("instead", ["nothing", "a file", "a link to itself"])
def test_a_folder_of_blobs_that_is_none_spoils_only_what_needs_it(bus: WorkerBus, instead: str) -> None:
    """Its payloads are missing; the other messages arrive."""
    bus.publish("alice", {"type": "t", "payload": "a" * 5000})
    bus.publish("alice", {"type": "t", "payload": "fine"})
    bus.store.blobs.rename(bus.folder / "elsewhere")
    if instead == "a file":
        bus.store.blobs.write_text("")
    elif instead == "a link to itself":
        bus.store.blobs.symlink_to(bus.store.blobs)
    lost, fine = bus.poll("bob")["messages"]
    assert lost["payload_error"] == "blob_missing"
    assert fine["payload"] == "fine"


def test_a_waiting_poll_gives_up_in_the_end(bus: WorkerBus) -> None:
    """With nothing."""
    start = time.monotonic()
    assert seqs(bus, "bob", wait_ms=30) == []
    assert time.monotonic() - start >= 0.03
    assert seqs(bus, "bob", wait_ms=30) == []  # on the watch of the first
