"""Blobs and files: whole or not there, and true to their names."""

from __future__ import annotations

import errno
import hashlib
import json
import os
from pathlib import Path

import pytest

from refbus.kernel import files
from refbus.kernel.errors import BlobCorrupt, BlobInvalid, DiskFull, IoError
from refbus.worker.bus import WorkerBus


def test_folders_that_somebody_tidied_away_are_made_again(bus: WorkerBus) -> None:
    """As the seed's listing makes the folder at every save. A mirror that cannot be found decides nothing."""
    bus.transition("w1", "ASSIGNED")
    bus.store.blobs.rmdir()
    (bus.store.workers / "w1.json").unlink()
    bus.store.workers.rmdir()
    bus.publish("alice", {"type": "t", "payload": "x" * 5000})
    assert bus.poll("bob")["messages"][-1]["payload"] == "x" * 5000
    assert bus.worker_state("w1")["state"] == "ASSIGNED"
    assert json.loads((bus.store.workers / "w1.json").read_bytes())["state"] == "ASSIGNED"


def test_a_blob_that_is_there_is_there_to_stay(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its maker may have been killed before the folder was durable: the next one to refer to it makes sure."""
    synced: list[str] = []

    def sync(fd: int) -> None:
        synced.append(os.readlink(f"/proc/self/fd/{fd}"))
        fsync(fd)

    fsync = os.fsync
    ref = bus.save_blob("x")["ref"]
    monkeypatch.setattr(os, "fsync", sync)
    assert bus.save_blob("x") == {"ref": ref}
    assert synced == [str(bus.store.blobs.resolve())]


def test_a_retry_is_no_other_message_because_the_disk_fails(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its members stand in another order, so the blob has to be read; nobody knows until that can be done."""
    large = {"a": "x" * 9000, "b": 1}
    seq = bus.publish("alice", {"id": "m", "type": "t", "payload": large})["seq"]
    again = {"id": "m", "type": "t", "payload": dict(reversed(large.items()))}

    def fails(*_: object) -> bytes:
        raise OSError(errno.EIO, "as a disk says it")

    with monkeypatch.context() as sick:
        sick.setattr("refbus.kernel.blob.read_whole", fails)
        with pytest.raises(IoError):
            bus.publish("alice", again)
    assert bus.publish("alice", again)["seq"] == seq


def test_a_whole_blob_that_is_no_json_is_corrupt(bus: WorkerBus) -> None:
    """A stranger stored it; its hash is right."""
    ref = f"sha256-{hashlib.sha256(b'{').hexdigest()}"
    (bus.store.blobs / ref).write_bytes(b"{")
    with pytest.raises(BlobCorrupt, match="no JSON"):
        bus.load_blob(ref)
    bus.db.write("INSERT INTO messages (id, ts_ms, from_agent, type, payload_ref) VALUES ('x', 1, 'n', 't', ?)", (ref,))
    assert bus.poll("bob")["messages"][0]["payload_error"] == "decode_failed"


def test_an_unreadable_blob_is_an_io_error(bus: WorkerBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not a missing one: the disk may recover."""
    ref = bus.save_blob(1)["ref"]

    def fail(*_: object) -> int:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", fail)
        with pytest.raises(IoError) as caught:
            bus.load_blob(ref)
    assert caught.value.definite


@pytest.mark.parametrize(("call", "definite"), [("write", True), ("fsync", True), ("replace", True)])
def test_a_failed_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, definite: bool
) -> None:
    """No file, no rest of one."""

    def fail(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(files.os, call, fail)
        with pytest.raises(DiskFull) as caught:
            files.atomic_write(tmp_path / "x", b"data")
    assert caught.value.definite is definite
    assert list(tmp_path.iterdir()) == []


def test_after_the_rename_nobody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is there; whether its name survives a power cut is open."""

    def fail(_: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(files, "sync_folder", fail)
        with pytest.raises(IoError) as caught:
            files.atomic_write(tmp_path / "x", b"data")
        assert not caught.value.definite
        with pytest.raises(IoError) as caught:
            files.make_folder(tmp_path / "folder")
        assert caught.value.definite


@pytest.mark.parametrize(
    "ref",
    [
        "",
        "../bus.db",
        "/etc/passwd",
        "sha256-",
        "sha256-" + "G" * 64,
        "sha256-" + "A" * 64,
        "sha256-" + "a" * 63,
        "sha256-" + "a" * 64 + "\n",
        "sha256-" + "a" * 65,
        "md5-" + "a" * 32,
        "sha256-" + "a" * 63 + "\0",
    ],
)
def test_what_is_no_ref_is_never_a_path(bus: WorkerBus, ref: str) -> None:
    """Checked before anything is opened."""
    with pytest.raises(BlobInvalid) as caught:
        bus.load_blob(ref)
    assert caught.value.definite
