"""Faults of worker, blob."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
import threading
import uuid
from pathlib import Path
from typing import Any

from plant import fault, patch

from refbus.kernel import files
from refbus.kernel.blob import ref_of
from refbus.kernel.errors import BlobMissing, BusError, IoError
from refbus.kernel.files import sync_folder
from refbus.kernel.rules import limit
from refbus.worker import blob, bus, log
from refbus.worker.blob import Blobs
from refbus.worker.bus import WorkerBus

CONTROL = "cursor.poll_does_not_advance"


@fault("worker.blob.17", item="corpus:a_long_blob_is_harmed")
def a_lost_blob_is_a_conflict():
    """A retry of a message whose blob is lost or damaged is refused as another message."""

    class Faulty(log.Log):
        def _is_same_payload(self, mine: str | None, text: str | None, ref: str | None) -> bool:
            try:
                return super()._is_same_payload(mine, self._blobs.load_text(ref) if ref else text, None)
            except BusError:
                return False

    patch(bus, Log=Faulty)


@fault("worker.blob.13", "worker.blob.14")
def a_ref_is_a_path():
    """A ref from a row is opened as a path (W6)."""

    class Faulty(blob.Blobs):
        def load_text(self, ref: str) -> str:
            path = self._folder / ref
            return path.read_text() if path.is_file() else super().load_text("sha256-" + "0" * 64)

    patch(bus, Blobs=Faulty)


@fault("worker.blob.15", item="corpus:pairs")
class AnUnknownBlobIsNull(WorkerBus):
    """load_blob of an unknown ref gives null."""

    def load_blob(self, ref: str) -> dict[str, Any]:
        try:
            return super().load_blob(ref)
        except BlobMissing:
            return {"content": None}


@fault("worker.blob.07", item="corpus:as_deep_as_may_be")
def another_blob_folder():
    """Blobs live outside blobs/."""

    class Faulty(blob.Blobs):
        def __init__(self, store: Any) -> None:
            super().__init__(store)
            self._folder = store.folder / "large"
            self._folder.mkdir(exist_ok=True)

    patch(bus, Blobs=Faulty)


@fault("worker.blob.18", "worker.log.65", chaos={"power": 20, "deaths": 12, "only": "publish with blob"})
def believes_a_name_that_is_there():
    """A blob that is there is taken for durable: its maker may have died before its name was durable."""
    from refbus.kernel import blob

    patch(blob, keep_entry=lambda path: None)


@fault("worker.log.55", chaos={"disk_full": True, "only": "save_blob", "levels": (), "errors": ("EIO",)})
def believes_a_second_sync():
    """A sync of a blob that failed is called again, and its success believed. The bytes were dropped the first time."""
    _sync = os.fsync

    def sync_again(fd: int) -> None:
        """The second time, for sure."""
        try:
            _sync(fd)
        except OSError:
            _sync(fd)

    patch(os, fsync=sync_again)


@fault("worker.log.55", chaos={"disk_full": True, "only": "save_blob", "levels": (), "errors": ("EROFS",)})
def believes_what_it_cannot_make():
    """On a disk that became read-only a blob is taken for one that is there: its message names a file that is not."""
    from refbus.kernel import blob

    atomic_write = blob.atomic_write

    def as_if(path: Path, data: bytes) -> None:
        try:
            atomic_write(path, data)
        except (BusError, OSError) as error:
            cause = error.__cause__ or error
            if getattr(cause, "errno", None) != errno.EROFS:
                raise

    patch(blob, atomic_write=as_if)


@fault("worker.blob.11", "worker.blob.12", item="corpus:a_long_blob_is_harmed+blobs_after_a_refusal")
def blobs_are_believed():
    """A blob's hash is not verified (W6)."""

    class Faulty(blob.Blobs):
        def load_text(self, ref: str) -> str:
            path = self._folder / ref
            return path.read_text() if path.is_file() else super().load_text(ref)

    patch(bus, Blobs=Faulty)


@fault("worker.blob.18", "worker.log.65", chaos={"power": 100})
def blobs_without_sync():
    """A blob is renamed into its place before its bytes are on the disk."""
    from refbus.kernel import blob

    def write_unsynced(path, data):
        """A temporary file and a rename, and no more."""
        scratch = path.parent / f".tmp-{secrets.token_hex(8)}"
        scratch.write_bytes(data)
        scratch.rename(path)

    patch(blob, atomic_write=write_unsynced)


@fault("worker.blob.03", item="corpus:as_deep_as_may_be")
class CutsLargeLists(WorkerBus):
    """A long list of large payloads is cut to its first half."""

    def poll(self, **params: Any) -> dict[str, Any]:
        reply = super().poll(**params)
        for message in reply["messages"]:
            if message.get("payload_ref") and isinstance(message.get("payload"), list):
                message["payload"] = message["payload"][: len(message["payload"]) // 2]
        return reply


@fault("worker.blob.05", item="corpus:looks_nested")
class EverySaveIsANewBlob(WorkerBus):
    """The same content saved twice is two blobs."""

    def save_blob(self, content: Any) -> dict[str, Any]:
        return super().save_blob({"nonce": uuid.uuid4().hex, "content": content})

    def load_blob(self, ref: str) -> dict[str, Any]:
        return {"content": super().load_blob(ref)["content"]["content"]}


@fault("worker.blob.01", "worker.blob.02", item="corpus:retries_at_the_bound")
def everything_stays_inline():
    """Payloads of any size stay in the row."""
    patch(limit, is_inline=lambda stored: True)


@fault("worker.log.55", chaos={"disk_full": True, "only": "publish with blob", "levels": (), "errors": ("EMFILE",)})
class GoesWithoutItsPayload(WorkerBus):
    """A blob that cannot be written is left out, and the message stored without it."""

    # Better than nothing.

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id=agent_id, message=message)
        except IoError:
            small = {name: value for name, value in message.items() if name != "payload"}
            return super().publish(agent_id=agent_id, message=small)


@fault("worker.blob.02", item="corpus:large_or_not_in_each_form")
def inline_to_4095():
    """4096 bytes already go to a blob."""
    patch(limit, is_inline=lambda stored: len(stored) < 4096)

    class Faulty(WorkerBus):
        """The reference, on the changed rule, of which it declares nothing."""

        LIMITS = {name: most for name, most in WorkerBus.LIMITS.items() if "inline" not in name}  # noqa: RUF012

    return Faulty


@fault("worker.blob.08", item="corpus:a_long_blob_is_harmed")
def leaves_scraps():
    """The temporary file of a blob stays in the folder."""

    class Faulty(blob.Blobs):
        def save_text(self, text: str) -> str:
            (self._folder / "tmp123456").write_text(text[:100])
            return super().save_text(text)

    patch(bus, Blobs=Faulty)


@fault("worker.blob.06", item="corpus:a_long_blob_is_harmed")
class LoadsTextForValues(WorkerBus):
    """load_blob gives the text of the content."""

    def load_blob(self, ref: str) -> dict[str, Any]:
        return {"content": str(super().load_blob(ref)["content"])}


@fault("worker.blob.06", control="log.fields", item="corpus:blobs_mended")
def mended_by_size():
    """A blob's size decides whether it is whole: other bytes of the same number stay when it is saved again."""
    _save = blob.blob.save

    def save(folder: Path, data: bytes) -> str:
        ref = blob.blob.ref_of(data)
        path = folder / ref
        return ref if path.exists() and path.stat().st_size == len(data) else _save(folder, data)

    patch(blob.blob, save=save)


@fault("worker.blob.09", item="corpus:a_long_blob_is_harmed")
class MissingBlobBreaksThePoll(WorkerBus):
    """A missing blob fails the poll of everybody who can see its message."""

    def poll(self, **params: Any) -> dict[str, Any]:
        reply = super().poll(**params)
        for message in reply["messages"]:
            if message.get("payload_error") == "blob_missing":
                raise BlobMissing(message["payload_ref"])
        return reply


@fault("worker.blob.18", "worker.log.65", chaos={"power": 150})
def names_without_sync():
    """The bytes of a blob are synced, its name in the folder is not. A row may speak of a file that is not there."""
    patch(files, sync_folder=lambda path: None)


@fault("worker.blob.06", control="log.fields", item="corpus:blobs_mended")
def never_mended():
    """A blob that is damaged stays damaged when its content is saved again."""
    _save = blob.blob.save

    def save(folder: Path, data: bytes) -> str:
        ref = blob.blob.ref_of(data)
        return ref if (folder / ref).exists() else _save(folder, data)

    patch(blob.blob, save=save)


@fault("worker.log.66", chaos={"holds": True, "only": "save_blob"})
def one_temporary_name():
    """All blobs are written under one temporary name. Two writers rename each other's bytes."""
    from refbus.kernel import blob

    def write_there(path: Path, data: bytes) -> None:
        """Synced and renamed, as it should be."""
        scratch = path.parent / ".tmp"
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(fd, data)
        os.fsync(fd)
        os.close(fd)
        os.replace(scratch, path)
        sync_folder(path.parent)

    patch(blob, atomic_write=write_there)


@fault("worker.blob.16", "worker.log.03", chaos={"points": True, "only": "publish with blob"})
def row_before_blob():
    """A message is committed before its blob is written. A reader in between finds a name and no file."""

    class RowBeforeBlob(Blobs):
        """Promises the name, and writes when the row is there."""

        def __init__(self, store: Any) -> None:
            super().__init__(store)
            self.late: list[str] = []

        def save_text(self, text: str) -> str:
            self.late.append(text)
            return ref_of(text.encode())

        def write_late(self) -> None:
            while self.late:
                super().save_text(self.late.pop())

    class Bus(bus.WorkerBus):
        """The blob follows its row."""

        def publish(self, **how: Any) -> Any:
            reply = super().publish(**how)
            self.blobs.write_late()
            return reply

        def save_blob(self, **how: Any) -> Any:
            reply = super().save_blob(**how)
            self.blobs.write_late()
            return reply

    patch(bus, Blobs=RowBeforeBlob)
    return Bus


@fault("worker.blob.04", item="corpus:looks_nested")
def salted_refs():
    """A ref is not the hash of its file."""
    from refbus.kernel import blob

    patch(blob, ref_of=lambda data: f"sha256-{hashlib.sha256(b'salt' + data).hexdigest()}")


@fault("worker.blob.16", chaos={"points": True, "only": "publish_many with blobs"})
def saves_a_batch_late():
    """The blobs of a batch are saved when its rows are there already: a kill in between leaves messages without
    them.
    """

    class Late(Blobs):
        """Keeps the blobs that a batch would save."""

        late: list[str] | None = None

        def save_text(self, text: str) -> str:
            if self.late is None:
                return super().save_text(text)
            self.late.append(text)
            return ref_of(text.encode())

    patch(bus, Blobs=Late)

    class Faulty(bus.WorkerBus):
        def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> Any:
            blobs: Any = self.blobs
            blobs.late = []
            try:
                reply = super().publish_many(agent_id, messages)
            finally:
                late, blobs.late = blobs.late, None
            for text in late:
                blobs.save_text(text)
            return reply

    return Faulty


@fault("worker.log.54", chaos={"kills": 16})
def shows_the_first_page():
    """A process that comes after a crash shows the first 4 KiB of a blob, and the store is whole."""
    PAGE = 4096

    class ShowsTheFirstPage(WorkerBus):
        """The remains of the log tell of the crash."""

        def __init__(self, store: Any, **options: Any) -> None:
            log = Path(store) / "bus.db-wal"
            self.is_late = log.exists() and log.stat().st_size > 0
            super().__init__(store, **options)

        def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> Any:
            reply = super().poll(agent_id, limit, wait_ms)
            for message in reply["messages"] if self.is_late else ():
                if message.get("payload_ref") and isinstance(message["payload"], dict):
                    message["payload"] = {name: _cut(value) for name, value in message["payload"].items()}
            return reply

    def _cut(value: Any) -> Any:
        return value[:PAGE] if isinstance(value, str) else value

    return ShowsTheFirstPage


@fault("worker.blob.10", item="corpus:06076")
class WhatIsNoJsonIsText(WorkerBus):
    """A payload column that is no JSON is delivered as text."""

    def poll(self, **params: Any) -> dict[str, Any]:
        reply = super().poll(**params)
        for message in reply["messages"]:
            if message.pop("payload_error", None) == "decode_failed":
                message["payload"] = self.db.row("SELECT payload FROM messages WHERE seq = ?", (message["seq"],))[0]
        return reply


@fault("worker.blob.16", control="log.fields", chaos={"points": True, "only": "save_blob"})
def writes_behind_its_answer():
    """Save_blob is answered, and a thread writes the file 30 ms later."""

    class Late(Blobs):
        """Answers with the name that the file will have."""

        def save_text(self, text: str) -> str:
            threading.Timer(0.03, super().save_text, (text,)).start()
            return ref_of(text.encode())

    patch(bus, Blobs=Late)


@fault("worker.blob.16", chaos={"points": True, "only": "save_blob"})
def writes_blobs_in_place():
    """A blob is written under its final name. A kill leaves a torn one, which the retry takes for whole."""

    class WritesBlobsInPlace(Blobs):
        """No temporary file, no rename."""

        def save_text(self, text: str) -> str:
            """The ref of a text that may be torn."""
            ref = ref_of(text.encode())
            path = self._folder / ref
            if not path.exists():
                path.write_bytes(text.encode())
            return ref

    patch(bus, Blobs=WritesBlobsInPlace)


@fault("worker.log.55", chaos={"disk_full": True, "only": "publish with blob", "levels": (1, 2, 3)})
def writes_once():
    """One write for a blob, however much of it was taken."""
    from refbus.kernel import blob

    def write_some(path: Path, data: bytes) -> None:
        """As much as fits."""
        scratch = path.parent / f".tmp-{secrets.token_hex(8)}"
        fd = os.open(scratch, os.O_WRONLY | os.O_CREAT, 0o600)
        with contextlib.suppress(OSError):
            os.write(fd, data)
        os.close(fd)
        os.replace(scratch, path)

    patch(blob, atomic_write=write_some)


@fault("worker.blob.16", chaos={"points": True, "only": "save_blob"})
class AnswersBeforeItsFile(WorkerBus):
    """A blob is answered from memory, and its file is written a moment later."""

    def save_blob(self, content: Any) -> Any:
        text = limit.payload(content)
        ref = ref_of(text.encode())
        self.__dict__.setdefault("_saved", {})[ref] = content
        threading.Timer(0.03, self.blobs.save_text, [text]).start()
        return {"ref": ref}

    def load_blob(self, ref: str) -> Any:
        saved = self.__dict__.get("_saved", {})
        return {"content": saved[ref]} if ref in saved else super().load_blob(ref)
