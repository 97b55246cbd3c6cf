"""The messages that a kill may take from a reader, and those that it may not: histories of `topics` by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from buschaos.subjects import SUBJECTS
from buschaos.subjects.topics.deliveries import deliveries
from busproof.contract.history import Recorder, read

Sync = dict[str, Any]


def sync(seqs: list[int], cursor: int, **how: Any) -> Sync:
    """An answered sync: seqs received, and the cursor."""
    return {"how": how, "got": seqs, "cursor": cursor}


def cut(**how: Any) -> Sync:
    """A sync whose outcome nobody knows."""
    return {"how": how}


def problems_of(folder: Path, syncs: list[Sync], stored: int) -> list[str]:
    """The problems of alice's syncs on a topic where bob sent so many messages."""
    recorder = Recorder(folder / "history.jsonl", run="test", system="topics")

    def record(type_: Any, value: Any, op: str = "sync") -> None:
        recorder.record(type_, process=1, op=op, agent="alice", value=value)

    def message(seq: int) -> dict[str, Any]:
        return {"topic_id": "t", "seq": seq, "message_id": str(seq), "sender": "bob", "client_message_id": None}

    for call in syncs:
        record("invoke", {"topic_id": "t", **call["how"]})
        if "got" in call:
            reply = {"received": [message(seq) for seq in call["got"]], "sent": []}
            record("ok", {**reply, "cursor": {"last_seq": call["cursor"]}})
        else:
            record("info", {})
    record("invoke", {}, "dump")
    record("ok", {"messages": [message(seq) for seq in range(1, stored + 1)]}, "dump")
    recorder.close()
    return [problem.why for problem in deliveries(read(recorder.path))]


KEEPS = {"auto_advance": False}


@pytest.mark.parametrize(
    ("syncs", "stored"),
    [
        ([sync([1, 2], 2), cut(max_items=2), sync([5], 5)], 5),  # 3 and 4 went with the answer
        ([sync([1, 2], 2), cut(max_items=2), sync([3, 4, 5], 5)], 5),  # nothing went
        ([sync([1, 2], 0, **KEEPS), cut(ack_through=2, **KEEPS), sync([1, 2, 3], 0, **KEEPS)], 3),
        ([sync([1, 2], 0, **KEEPS), cut(ack_through=2, **KEEPS), sync([3], 2, **KEEPS)], 3),
    ],
)
def test_a_kill_may_take_an_answer_and_leave_an_acknowledgement_undone(
    tmp_path: Path, syncs: list[Sync], stored: int
) -> None:
    """At most once, or at least once: as the reader chose (B4)."""
    assert problems_of(tmp_path, syncs, stored) == []


def test_more_than_the_cut_answer_had_room_for_is_lost(tmp_path: Path) -> None:
    """Two of three can be explained."""
    (why,) = problems_of(tmp_path, [sync([1], 1), cut(max_items=2), sync([5], 5)], 5)
    assert "never received [2, 3, 4], and kills explain 2" in why


def test_who_acknowledges_loses_nothing(tmp_path: Path) -> None:
    """However often it was cut."""
    (why,) = problems_of(tmp_path, [sync([1], 0, **KEEPS), cut(**KEEPS), sync([3], 0, **KEEPS)], 3)
    assert "never received [2], and kills explain 0" in why


def test_what_an_answered_cursor_passed_is_not_received_again(tmp_path: Path) -> None:
    """With and without auto_advance: it was said to be stored."""
    (why,) = problems_of(tmp_path, [sync([1, 2], 2), cut(max_items=1), sync([2, 3], 3)], 3)
    assert "answered cursor 2, and received [2] afterwards" in why
    (why,) = problems_of(tmp_path, [sync([1, 2], 2, ack_through=2, **KEEPS), cut(**KEEPS), sync([1, 2, 3], 3)], 3)
    assert "answered cursor 2, and received [1, 2] afterwards" in why


def altered(folder: Path, system: str, events: list[tuple[str, str, Any]]) -> list[str]:
    """The problems of the messages that were shown."""
    recorder = Recorder(folder / f"{system}.jsonl", run="test", system=system)
    for type_, op, value in events:
        recorder.record(type_, process=1, op=op, agent="alice", value=value)  # type: ignore[arg-type]
    recorder.close()
    return [problem.why for problem in SUBJECTS[system].truth.deliveries(read(recorder.path))]


def test_a_poll_shows_what_was_published_to_the_byte(tmp_path: Path) -> None:
    """By the sender's id: one or many, answered or not; a blob that cannot be had is another payload, too."""
    first = {"id": "one", "to": "bob", "type": "note", "payload": {"b": 1, "a": "é"}}
    two = {"id": "two", "type": "note", "payload": "x" * 5000}
    shown = {"id": "one", "to_agent": "bob", "type": "note", "payload": {"a": "é", "b": 1}}
    whole = {"id": "two", "type": "note", "payload": "x" * 5000, "payload_ref": "blobs/b"}
    sent = [
        ("invoke", "publish", {"message": first}),
        ("info", "publish", {}),
        ("invoke", "publish_many", {"messages": [two]}),
    ]
    assert altered(tmp_path, "worker", [*sent, ("ok", "poll", {"messages": [shown, whole]})]) == []
    for wrong in ({**shown, "payload": {"a": "é", "b": 1}}, {**shown, "to_agent": None}, {**whole, "payload": None}):
        (why,) = altered(tmp_path, "worker", [*sent, ("ok", "poll", {"messages": [wrong]})])
        assert why.startswith(f"altered: {wrong['id']} was sent with ")


def test_an_agent_receives_what_was_sent_to_the_byte(tmp_path: Path) -> None:
    """A priority that nobody gave is five."""
    sent = [("invoke", "send_message", {"message_id": "m", "message_type": "note", "payload": {"n": 1}})]
    shown = {"id": "m", "type": "note", "payload": {"n": 1}, "priority": 5, "to_agent": None}
    assert altered(tmp_path, "comms", [*sent, ("ok", "receive_messages", {"messages": [shown]})]) == []
    (why,) = altered(
        tmp_path, "comms", [*sent, ("ok", "receive_messages", {"messages": [{**shown, "payload": {"n": 1.0}}]})]
    )
    assert "altered: m was sent with payload" in why


def test_a_sync_receives_what_was_sent_to_the_byte(tmp_path: Path) -> None:
    """By the sender's own name for it."""
    sent = ("invoke", "sync", {"topic_id": "t", "outbox": [{"client_message_id": "c", "content_markdown": "hello"}]})
    row = {"topic_id": "t", "seq": 1, "message_id": "1", "sender": "bob", "client_message_id": "c"}

    def altered_by(content: str) -> list[str]:
        reply = {"received": [{**row, "content_markdown": content}], "sent": [], "cursor": {"last_seq": 1}}
        dump = [("invoke", "dump", {}), ("ok", "dump", {"messages": [row]})]
        return [why for why in altered(tmp_path, "topics", [sent, ("ok", "sync", reply), *dump]) if "altered" in why]

    assert altered_by("hello") == []
    assert len(altered_by("hell")) == 1
