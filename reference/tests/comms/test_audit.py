"""The audit trail: every change once, in order, among the lines of others."""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.comms.export import ROWS_AT_ONCE
from refbus.kernel.errors import DiskFull, IoError

OpenBus = Callable[..., CommsBus]
Send = Callable[..., str]


@pytest.fixture
def trail(store: Path) -> Path:
    """Where it lies."""
    return store / ".claude" / "audit-trail.jsonl"


def events(trail: Path) -> list[dict[str, Any]]:
    """Our lines; every line must be whole."""
    text = trail.read_text()
    assert text.endswith("\n")
    return [line for line in map(json.loads, text.splitlines()) if "audit_seq" in line]


def test_the_lines_of_others_may_hold_anything(bus: CommsBus, send: Send, trail: Path) -> None:
    """They need be no JSON, and the last of them no whole line; it gets its end before ours begins."""
    send()
    bus.export_audit_trail()
    ours = trail.read_bytes()
    others = b'# a comment\n[1, 2]\n"text"\n\n\xff\n{"event": "theirs", "audit_seq": 7}\nno end'
    with trail.open("ab") as file:
        file.write(others)
    send()
    bus.export_audit_trail()
    text = trail.read_bytes()
    assert text.startswith(ours + others + b'\n{"audit_seq": 2, ')
    assert text.count(b"\n") == others.count(b"\n") + 3


@pytest.mark.parametrize("torn", [b"{", b'{"audit_s', b'{"audit_seq": 2, "eve', bytes(40), b'{"au' + bytes(40)])
def test_what_is_torn_of_ours_is_written_again(bus: CommsBus, send: Send, trail: Path, torn: bytes) -> None:
    """Wherever it broke off, and whether or not a power cut left zeros of it."""
    send()
    bus.export_audit_trail()
    with trail.open("ab") as file:
        file.write(torn)
    send()
    bus.export_audit_trail()
    assert [json.loads(line)["audit_seq"] for line in trail.read_bytes().splitlines()] == [1, 2]


def test_a_trail_that_outlives_its_database_keeps_all(open_bus: OpenBus, store: Path, trail: Path) -> None:
    """A project is cloned with its trail and without its database, whose numbers begin again: nothing is lost (C23)."""
    for count in (10, 3):
        with open_bus() as bus:
            for number in range(count):
                bus.send_message("alice", "bob", "note", {"n": number})
            assert bus.export_audit_trail()["exported"] == count
        for path in (store / ".claude" / "communications").iterdir():
            path.unlink()
    assert [event["audit_seq"] for event in events(trail)] == [*range(1, 11), *range(1, 4)]


def test_a_line_of_others_may_begin_as_ours(bus: CommsBus, send: Send, trail: Path) -> None:
    """It is whole, and tells no event of this table."""
    others = '{"audit_seq": 4711, "tool": "x"}\n{"audit_seq": "x"}\n{"audit_seq": 1}\n'
    trail.parent.mkdir(exist_ok=True)
    trail.write_text(others)
    for _ in range(2):
        send()
        bus.export_audit_trail()
    text = trail.read_text()
    assert text.startswith(others) and text.count("\n") == 5


def test_more_than_a_handful_is_exported(open_bus: OpenBus, trail: Path) -> None:
    """In several reads."""
    bus = open_bus()
    with bus.store.transaction() as tx:
        for n in range(ROWS_AT_ONCE * 2 + 1):
            bus.audit.record(tx, "test", None, str(n))
    assert bus.export_audit_trail() == {"exported": ROWS_AT_ONCE * 2 + 1}
    assert [event["message_id"] for event in events(trail)] == [str(n) for n in range(ROWS_AT_ONCE * 2 + 1)]


def test_closing_brings_it_up_to_date(open_bus: OpenBus, trail: Path) -> None:
    """So that an agent's last words are in it."""
    with open_bus() as bus:
        bus.send_message("alice", "bob", "note", {})
    assert len(events(trail)) == 1


def test_a_trail_that_cannot_be_written_fails_nobody_but_who_asks_for_it(open_bus: OpenBus, trail: Path) -> None:
    """Not even close: its error would be taken for the operation's. The events wait."""
    trail.mkdir(parents=True)
    with open_bus() as bus:
        bus.send_message("alice", "bob", "note", {})
        with pytest.raises(IoError):
            bus.export_audit_trail()
    trail.rmdir()
    assert open_bus().export_audit_trail() == {"exported": 1}


@pytest.mark.parametrize("theirs", [b"", b'{"tool": "Edit"}\n'])
def test_a_full_disk_cuts_off_what_was_written_and_no_line_of_another(
    bus: CommsBus, send: Send, trail: Path, monkeypatch: pytest.MonkeyPatch, theirs: bytes
) -> None:
    """Others append while the event is written; then nobody can say that nothing happened."""
    send()
    bus.export_audit_trail()
    whole, write = trail.read_bytes(), os.write
    send()

    def half(fd: int, data: bytes) -> int:
        if os.readlink(f"/proc/self/fd/{fd}") != str(trail):
            return write(fd, data)
        if trail.read_bytes() != whole:
            raise OSError(errno.ENOSPC, "no room")
        taken = write(fd, data[: len(data) // 2])
        with trail.open("ab") as other:
            other.write(theirs)
        return taken

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", half)
        with pytest.raises(DiskFull if not theirs else IoError) as full:
            bus.export_audit_trail()
    assert trail.read_bytes().startswith(whole) and trail.read_bytes().endswith(theirs or whole)
    assert full.value.definite == (not theirs)
    bus.export_audit_trail()
    assert theirs in trail.read_bytes() and trail.read_bytes().endswith(b"\n")


def test_what_was_refused_is_not_recorded(bus: CommsBus, send: Send, trail: Path) -> None:
    """Recorded in the transaction that made the change, or not at all."""
    sent = send()
    bus.claim_message("carol", sent)
    with pytest.raises(Exception, match="priority"):
        send(priority=11)
    bus.receive_messages("bob", ["general"])
    bus.export_audit_trail()
    assert [event["event"] for event in events(trail)] == ["sent"]
