"""Rows of the log as their reader sees them: payloads decoded and resolved, or said to be damaged (W6)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn, cast

from refbus.kernel import jsontext
from refbus.kernel.errors import BlobCorrupt, BlobInvalid, BlobMissing
from refbus.worker.blob import Blobs
from refbus.worker.replies import Message
from refbus.worker.signing import Signatures


class Reader:
    """The base of poll, search, dead_letters and a tail."""

    def __init__(self, blobs: Blobs, signatures: Signatures) -> None:
        self._blobs, self._signatures = blobs, signatures

    def messages(self, rows: Iterable[tuple[Any, ...]]) -> list[Message]:
        """Rows as messages; a payload that cannot be read harms its own message alone.

        The loop handles the usual row, a short inline payload, by itself: it is most of a poll's cost.
        """
        messages = []
        scan = jsontext.scan if self._signatures.key is None else _look_closer
        for row in rows:
            seq, message_id, ts_ms, from_agent, to_agent, type_, correlation_id, in_reply_to, text, _ = row
            message = {
                "seq": seq,
                "id": message_id,
                "ts_ms": ts_ms,
                "from_agent": from_agent,
                "to_agent": to_agent,
                "type": type_,
                "correlation_id": correlation_id,
                "in_reply_to": in_reply_to,
            }
            try:
                value, end = scan(text, 0)
                is_whole = end == len(text) <= jsontext.SURELY_SHALLOW_CHARS
            except (StopIteration, TypeError, ValueError, RecursionError):
                is_whole = False
            if is_whole:
                message["payload"] = value
            else:
                self._add_payload(message, row)
            messages.append(message)
        return cast("list[Message]", messages)

    def _add_payload(self, message: dict[str, Any], row: tuple[Any, ...]) -> None:
        """The payload of any row: absent, long, in a blob, damaged, or to be verified first."""
        text, ref = row[-2:]
        if ref is not None:
            message["payload_ref"] = ref
        if not self._signatures.is_good(row):
            message["payload_error"] = "bad_signature"
            return
        try:
            if ref is not None:
                text = self._blobs.load_text(ref)
            if text is not None:
                message["payload"] = jsontext.decode(text)
        except BlobMissing:
            message["payload_error"] = "blob_missing"
        except BlobInvalid:
            message["payload_error"] = "blob_invalid"
        except BlobCorrupt:
            message["payload_error"] = "blob_corrupt"
        except ValueError:
            message["payload_error"] = "decode_failed"


def _look_closer(text: object, start: int) -> NoReturn:
    raise ValueError("a signature is verified before the payload is read")
