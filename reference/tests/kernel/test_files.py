"""Files beside the database: their owner, and how much of them is read."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from refbus import cli
from refbus.comms.bus import CommsBus
from refbus.kernel import blob
from refbus.kernel.errors import BlobCorrupt
from refbus.topics.bus import TopicsBus
from refbus.worker.bus import WorkerBus

LARGE = "x" * 10_000


@pytest.fixture(params=[0o000, 0o022], ids=["umask 000", "umask 022"])
def _umask(request: pytest.FixtureRequest) -> Iterator[None]:
    before = os.umask(request.param)
    yield
    os.umask(before)


@contextlib.contextmanager
def use_worker(folder: Path) -> Iterator[None]:
    """A blob, an export, and the log still there."""
    with WorkerBus(folder) as bus:
        bus.publish("a", {"type": "note", "payload": LARGE})
        bus.export_to_jsonl()
        yield


@contextlib.contextmanager
def use_comms(folder: Path) -> Iterator[None]:
    """An artifact and the audit trail."""
    with CommsBus(folder) as bus:
        bus.write_artifact("a", "t", {"n": 1})
        bus.export_audit_trail()
        yield


@contextlib.contextmanager
def use_topics(folder: Path) -> Iterator[None]:
    """In a folder that it makes."""
    with TopicsBus(folder / "of" / "agents.sqlite") as bus:
        bus.topic_create("parser")
        yield


USES = [use_worker, use_comms, use_topics]
Use = Callable[[Path], AbstractContextManager[None]]


@pytest.mark.usefixtures("_umask")
@pytest.mark.parametrize("use", USES)
def test_whatever_we_make_is_for_its_owner_alone(tmp_path: Path, use: Use) -> None:
    """Database, log, shared memory, blobs, exports, locks, artifacts, and all folders."""
    with use(tmp_path):
        modes = {path.name: f"{path.stat().st_mode & 0o777:o}" for path in tmp_path.rglob("*")}
        wanted = {path.name: "700" if path.is_dir() else "600" for path in tmp_path.rglob("*")}
    assert modes == wanted
    assert any(name.endswith("-wal") for name in modes)


@pytest.mark.usefixtures("_umask")
@pytest.mark.parametrize("use", USES)
def test_what_is_there_keeps_its_mode(tmp_path: Path, use: Use) -> None:
    """Somebody shares it, and knows why."""
    with use(tmp_path):
        there = list(tmp_path.rglob("*"))
        for path in there:
            path.chmod(0o770 if path.is_dir() else 0o640)
        before = {path: path.stat().st_mode for path in there if path.name != "result.json"}  # written anew as a whole
        with use(tmp_path):
            assert {path: path.stat().st_mode for path in before} == before


@pytest.mark.usefixtures("_umask")
def test_the_command_line_makes_folders_for_their_owner_alone(tmp_path: Path) -> None:
    """Also those on the way."""
    assert cli.main(["worker", "--store", str(tmp_path / "new" / "store"), "publish", "--as", "a", "note"]) == 0
    assert {path.stat().st_mode & 0o777 for path in (tmp_path / "new", tmp_path / "new" / "store")} == {0o700}


def test_a_blob_that_has_grown_breaks_its_own_message_alone(tmp_path: Path) -> None:
    """It is not read: forty sparse gigabytes would take the reader down."""
    with WorkerBus(tmp_path) as bus:
        bus.publish("a", {"type": "note", "payload": LARGE})
        bus.publish("a", {"type": "note", "payload": 1})
        (path,) = bus.store.blobs.iterdir()
        os.truncate(path, 40 * 2**30)
        grown, whole = bus.poll("b")["messages"]
        assert grown["payload_error"] == "blob_corrupt"
        assert whole["payload"] == 1


def test_a_strangers_blob_may_be_larger_than_ours(tmp_path: Path) -> None:
    """Up to a bound, to the byte."""
    for size in (blob.BYTES_MAX, blob.BYTES_MAX + 1):
        data = b"x" * size
        (tmp_path / blob.ref_of(data)).write_bytes(data)
        if size == blob.BYTES_MAX:
            assert blob.load(tmp_path, blob.ref_of(data)) == data
        else:
            with pytest.raises(BlobCorrupt):
                blob.load(tmp_path, blob.ref_of(data))


@pytest.mark.parametrize("what", ["grown", "folder", "pipe"])
def test_an_artifact_is_looked_at_before_it_is_read(tmp_path: Path, what: str) -> None:
    """Grown, or no file."""
    with CommsBus(tmp_path) as bus:
        name = bus.write_artifact("a", "t", {"n": 1})["artifact_path"]
        path = tmp_path / name
        if what == "grown":
            os.truncate(path, 40 * 2**30)
        else:
            path.unlink()
            path.mkdir() if what == "folder" else os.mkfifo(path)
        with pytest.raises(BlobCorrupt):
            bus.read_artifact(name)
