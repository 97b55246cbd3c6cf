"""Large payloads: JSON texts in `blobs/`, named by their hash."""

from __future__ import annotations

from typing import Any

from refbus.kernel import blob, jsontext
from refbus.kernel.errors import BlobCorrupt, InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.worker.store import Store


class Blobs(Store):
    """save_blob and load_blob."""

    def save_blob(self, content: Any) -> dict[str, Any]:
        """Store a JSON value; the same value is the same blob."""
        return {"ref": self._save_text(limits.payload(content))}

    def load_blob(self, ref: str) -> dict[str, Any]:
        """The value, after its hash was verified."""
        if not isinstance(ref, str):
            raise InvalidArgument("ref must be a string")
        text = self._load_text(ref)
        try:
            return {"content": jsontext.decode(text)}
        except ValueError as error:
            raise BlobCorrupt(f"{ref} is no JSON: {error!s:.100}") from error

    def _save_text(self, text: str) -> str:
        return blob.save(self.blobs, text.encode())

    def _load_text(self, ref: str) -> str:
        return blob.load(self.blobs, ref).decode("utf-8", "replace")
