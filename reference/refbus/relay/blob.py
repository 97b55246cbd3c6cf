"""Attachments (3.4): large content lies below its own hash, and a message names it."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from refbus.kernel.files import atomic_write, make_folder
from refbus.kernel.msgfile import Message
from refbus.relay import tree
from refbus.relay.failure import Failure, Later
from refbus.relay.store import Store

_CHUNK = 1024 * 1024
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK


class Attachments:
    """An attachment is read whole and held against its name before the message that names it goes on."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def verify(self, message: Message) -> None:
        """Raise attachment_missing or attachment_corrupt; Later where its disk cannot say."""
        if message.attachment is None:
            return
        digest = message.attachment.partition(":")[2]
        try:
            self._look(digest)
        except FileNotFoundError:
            raise Failure("attachment_missing", digest) from None
        except OSError as error:
            if error.errno in tree.GONE or isinstance(error, PermissionError):
                raise Failure("attachment_corrupt", f"{digest}: {error.strerror}") from error
            self._store.troubles.add(f"{tree.ATTACHMENTS}/{digest[:2]}/{digest}", error)
            self._store.troubles.stop()
            raise Later from error

    def _look(self, digest: str) -> None:
        with tree.folder(self._store.root, tree.ATTACHMENTS, digest[:2]) as fd:
            file = os.open(digest, _FILE, dir_fd=fd)
        try:
            self._verify(file, digest)
        finally:
            os.close(file)

    def _verify(self, file: int, digest: str) -> None:
        status = os.fstat(file)
        if tree.refusal(status) is not None or status.st_size > self._store.config.attachment_bytes_max:
            raise Failure("attachment_corrupt", f"{digest}: no file, or too large")
        sum_ = hashlib.sha256()
        while chunk := os.read(file, _CHUNK):
            sum_.update(chunk)
        if sum_.hexdigest() != digest:
            raise Failure("attachment_corrupt", digest)


def path_of(root: Path, attachment: str) -> Path:
    """The file of a value of the header ATTACHMENT."""
    digest = attachment.partition(":")[2]
    return root / tree.ATTACHMENTS / digest[:2] / digest


def attach(root: Path, data: bytes) -> str:
    """Store content, as an agent does; returns its value for the header ATTACHMENT."""
    attachment = f"sha256:{hashlib.sha256(data).hexdigest()}"
    path = path_of(root, attachment)
    for part in (path.parent.parent, path.parent):
        make_folder(part)
    atomic_write(path, data)
    return attachment
