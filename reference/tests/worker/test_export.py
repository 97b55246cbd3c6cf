"""The export: each seq exactly once in whole lines, whatever crashed before and whoever else exports (W7)."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel import files, jsonl
from refbus.kernel.errors import BusError, Busy, DiskFull, IdConflict, IoError
from refbus.worker.bus import WorkerBus
from refbus.worker.export import ROWS_AT_ONCE


def lines(bus: WorkerBus) -> list[dict[str, Any]]:
    """The content of the file; every line must be whole."""
    text = (bus.folder / "bus.jsonl").read_text()
    assert text == "" or text.endswith("\n")
    return [json.loads(line) for line in text.splitlines()]


def stated(bus: WorkerBus) -> int:
    """The seq in export_state."""
    return int(bus.db.row("SELECT last_seq FROM export_state")[0])


def publish(bus: WorkerBus, count: int) -> None:
    """So many messages."""
    bus.publish_many("alice", [{"type": "t", "payload": n} for n in range(count)])


def test_it_exports_more_than_a_handful(bus: WorkerBus) -> None:
    """In several reads."""
    publish(bus, ROWS_AT_ONCE * 2 + 1)
    bus.export_to_jsonl()
    assert [line["seq"] for line in lines(bus)] == list(range(1, ROWS_AT_ONCE * 2 + 2))


@pytest.mark.parametrize(
    "tail",
    [
        b'{"seq": 4, "id": "x',
        b"\n",
        b"garbage\n",
        b"[]\n",
        b'{"seq": "4"}\n',
        b'{"seq": true, "id": "x"}\n',
        b'{"seq": 99999999999999999999, "id": "x"}\n',
        b'{"seq": 4, "id": "somebody else"}\n',
        b'{"seq": 2, "id": "somebody else"}\n',
        b'{"seq": 400, "id": "from the future"}\n',
        b"[" * 9999 + b"\n",
        b'{"seq": 4, "id": "x' + b"y" * 200_000,
        b'{"seq": 3, "id": "m2"}{"seq": 3, "id": "m2"}\n',
        b'{"seq": 3, "torn{"seq": 3, "id": "m2"}\n{"seq"',
    ],
)
def test_a_damaged_end_is_repaired(bus: WorkerBus, tail: bytes) -> None:
    """Torn, foreign, or taken back by a power cut: whatever the log does not hold goes, and nothing is lost."""
    bus.publish_many("alice", [{"type": "t", "id": f"m{n}"} for n in range(3)])
    bus.export_to_jsonl()
    with (bus.folder / "bus.jsonl").open("ab") as file:
        file.write(tail)
    publish(bus, 2)
    bus.export_to_jsonl()
    assert lines(bus) == bus.dump()["messages"]


@pytest.mark.parametrize("published", [0, 1])
def test_a_file_that_came_without_its_database_is_left_alone(bus: WorkerBus, published: int, tmp_path: Path) -> None:
    """As in a clone of a repository: its lines are the only copy here. Once it is moved away, an export begins anew."""
    publish(bus, 3)
    bus.export_to_jsonl()
    history = (bus.folder / "bus.jsonl").read_bytes()
    (clone := tmp_path / "clone").mkdir()
    (clone / "bus.jsonl").write_bytes(history)
    with WorkerBus(clone) as other:
        publish(other, published)
        with pytest.raises(IdConflict, match=r"another database's, .* up to 3, and [01] were given here"):
            other.export_to_jsonl()
        assert (clone / "bus.jsonl").read_bytes() == history
        (clone / "bus.jsonl").rename(clone / "history.jsonl")
        assert other.export_to_jsonl()["last_seq"] == published
        assert lines(other) == other.dump()["messages"]


def test_bytes_in_a_strangers_row_do_not_stop_it(bus: WorkerBus) -> None:
    """They are shown as text."""
    bus.db.write("INSERT INTO messages (id, ts_ms, from_agent, type, payload) VALUES ('x', 1, 'n', 't', x'ff41')")
    bus.export_to_jsonl()
    assert lines(bus)[0]["payload"] == "\ufffdA"


def test_a_full_disk_leaves_the_file_as_it_was(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a line is taken back, so the error is definite."""
    publish(bus, 2)
    bus.export_to_jsonl()
    before = (bus.folder / "bus.jsonl").read_bytes()
    publish(bus, 2)

    def write_half(fd: int, data: bytes) -> None:
        os.write(fd, data[: len(data) // 3])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(jsonl, "write_all", write_half)
    with pytest.raises(DiskFull) as caught:
        bus.export_to_jsonl()
    assert caught.value.definite
    assert (bus.folder / "bus.jsonl").read_bytes() == before
    monkeypatch.setattr(jsonl.os, "ftruncate", _fail)
    with pytest.raises(IoError) as caught_io:
        bus.export_to_jsonl()
    assert not caught_io.value.definite
    with pytest.raises(IoError):  # the torn line cannot be cut off
        bus.export_to_jsonl()
    monkeypatch.undo()
    bus.export_to_jsonl()
    assert [line["seq"] for line in lines(bus)] == [1, 2, 3, 4]


def test_what_may_not_be_durable_is_not_stated(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The next exporter makes it durable first. Where the log itself cannot be synced, no line is written."""
    publish(bus, 1)
    for syncs_that_work, is_definite in ((0, True), (1, False)):
        with monkeypatch.context() as patch:
            works = iter([True] * syncs_that_work)
            patch.setattr(jsonl.os, "fsync", lambda fd, works=works: next(works, False) or _fail(fd))
            with pytest.raises(IoError) as caught:
                bus.export_to_jsonl()
        assert caught.value.definite == is_definite
        assert (bus.folder / "bus.jsonl").stat().st_size == 0 or not is_definite
        assert stated(bus) == 0
    bus.export_to_jsonl()
    assert stated(bus) == 1
    assert len(lines(bus)) == 1


def _fail(*_: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


def test_what_cannot_be_opened_or_locked_is_a_definite_error(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder in the file's place; a file system without locks."""
    (bus.folder / "bus.jsonl").mkdir()
    with pytest.raises(IoError) as caught:
        bus.export_to_jsonl()
    assert caught.value.definite
    with monkeypatch.context() as patch:
        patch.setattr(fcntl, "flock", _fail)
        with pytest.raises(IoError):
            bus.export_to_jsonl()
    (bus.folder / "export.lock").unlink()
    (bus.folder / "export.lock").mkdir()
    with pytest.raises(BusError):
        bus.export_to_jsonl()


def test_an_exporter_that_never_ends_makes_others_busy(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """After as long as for the database's lock."""
    monkeypatch.setattr(jsonl, "BUSY_TIMEOUT_MS", 10)
    with (bus.folder / "export.lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(Busy) as caught:
            bus.export_to_jsonl()
    assert caught.value.definite
    assert bus.export_to_jsonl() == {"last_seq": 0}


def test_writing_goes_on_where_a_write_was_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One write() may take a part only."""
    write = os.write
    monkeypatch.setattr(files.os, "write", lambda fd, data: write(fd, data[:3]))
    files.atomic_write(tmp_path / "x", b"0123456789")
    assert (tmp_path / "x").read_bytes() == b"0123456789"
