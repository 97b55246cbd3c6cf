"""The hash chain of a `timeline`: what each row tells of its own hash, and of the one before it.

Both are contents of a link, so they must agree, whoever tells them. A row's hash is also computed anew from its fields.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote

from busproof.oracle.checks.extract.digest import digest
from busproof.oracle.checks.extract.source import as_row, number, text
from busproof.oracle.checks.facts import CHAIN, Content

ROOT = "0" * 64  # the hash before the first message


def links(row: Mapping[str, Any], end: int) -> Iterator[Content]:
    """Of one message as it was read; nothing of a bus without hashes."""
    key, own, previous = as_row(row.get("key")), row.get("hash"), row.get("previous")
    lane, at = text(key.get("timeline")), number(row.get("number"))
    if lane is None or at is None or not isinstance(own, str) or not isinstance(previous, str):
        return
    yield _link(lane, at, own, end)
    yield _link(lane, at, _hash(row, at, previous), end)
    parent = as_row(row.get("payload"))
    before = (lane, at - 1)
    if key.get("type") == "fork":  # it follows the message of its parent, which may be a fork's parent's
        before = (text(parent.get("parent")) or "", number(parent.get("at")) or 0)
    yield _link(*before, previous, end)
    if before[1] == 0:
        yield _link(*before, ROOT, end)


def _link(lane: str, at: int, hash_: str, end: int) -> Content:
    return Content(CHAIN + lane, str(at), end, False, digest(hash_))


def _hash(row: Mapping[str, Any], at: int, previous: str) -> str:
    nonce = row.get("nonce")
    token = "" if nonce is None else quote(str(nonce), safe="-_~").replace(".", "%2E")
    payload = json.dumps(row.get("payload"))
    fields = (previous, at, row.get("subject"), token, row.get("state") or "", payload, row.get("time_us"))
    texts = [str(field).encode(errors="surrogatepass") for field in fields]
    return hashlib.sha256(b"".join(len(t).to_bytes(8) + t for t in texts)).hexdigest()
