"""Signatures: an HMAC over everything that a message says and its place in the log. Off by default.

Keys are rotated in three steps: every process verifies the new key, too; every process signs with it; the old one goes
when all that it signed is processed. A message's claims are shown even if its signature is bad: its payload is not.

Every field is preceded by its length, so that no two messages share a text to sign.
"""

from __future__ import annotations

import hashlib
import hmac
from typing import Any

from refbus.kernel.transaction import Transaction
from refbus.worker.store import Store


class Signatures:
    """Signs what is appended and verifies what is read, with the session's keys."""

    def __init__(self, store: Store) -> None:
        self._db = store.db
        self._keys = store.signing_keys
        self.key = self._keys[0] if self._keys else None

    def sign(self, tx: Transaction, row: tuple[Any, ...]) -> None:
        """Keep the signature of a row just inserted, if there is a key."""
        if self.key is not None:
            tx.execute("INSERT OR REPLACE INTO signatures (seq, mac) VALUES (?, ?)", (row[0], mac(self.key, row)))

    def is_good(self, row: tuple[Any, ...]) -> bool:
        """Is the row signed with one of our keys, and unchanged? Without a key every row is good."""
        if self.key is None:
            return True
        mac_row = self._db.row("SELECT mac FROM signatures WHERE seq = ?", (row[0],))
        return mac_row is not None and any(is_signed(key, row, mac_row[0]) for key in self._keys)


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
