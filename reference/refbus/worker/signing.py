"""Signatures: an HMAC over everything that a message says and its place in the log. Off by default.

Every field is preceded by its length, so that no two messages share a text to sign.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any


def mac(key: bytes, row: tuple[Any, ...]) -> str:
    """The signature of a row of `messages`, columns in the table's order."""
    signed = hmac.new(key, digestmod=hashlib.sha256)
    for field in row:
        data = b"" if field is None else field if isinstance(field, bytes) else str(field).encode("utf-8", "replace")
        signed.update(b"-" if field is None else b"%d:" % len(data))
        signed.update(data)
    return signed.hexdigest()


def is_signed(key: bytes, row: tuple[Any, ...], signature: object) -> bool:
    """Does the signature belong to this row, unchanged?"""
    return isinstance(signature, str) and hmac.compare_digest(
        mac(key, row).encode(), signature.encode("utf-8", "replace")
    )
