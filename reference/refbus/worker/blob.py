"""Large payloads: JSON texts in `blobs/`, named by their hash."""

from __future__ import annotations

from typing import Any

from refbus.kernel import blob, jsontext
from refbus.kernel.errors import BlobCorrupt, InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.worker.replies import BlobContent, BlobRef
from refbus.worker.store import Store


class Blobs:
    """save_blob and load_blob."""

    def __init__(self, store: Store) -> None:
        self._folder = store.blobs

    def save_blob(self, content: Any) -> BlobRef:
        """Store a JSON value durably; the same value is the same blob. Errors: INVALID_ARGUMENT, PAYLOAD_TOO_LARGE."""
        return {"ref": self.save_text(limits.payload(content))}

    def load_blob(self, ref: str) -> BlobContent:
        """The value, after its hash was verified.

        Errors: INVALID_ARGUMENT, BLOB_INVALID, BLOB_MISSING, BLOB_CORRUPT.
        """
        if not isinstance(ref, str):
            raise InvalidArgument("ref must be a string")
        text = self.load_text(ref)
        try:
            return {"content": jsontext.decode(text)}
        except ValueError as error:
            raise BlobCorrupt(f"{ref} is no JSON: {error!s:.100}") from error

    def save_text(self, text: str) -> str:
        """Store a JSON text durably; a blob that is missing or damaged is written anew. Its ref."""
        return blob.save(self._folder, text.encode())

    def load_text(self, ref: str) -> str:
        """The text, after its hash was verified."""
        return blob.load(self._folder, ref).decode("utf-8", "replace")
