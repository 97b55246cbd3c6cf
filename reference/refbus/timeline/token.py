"""One dimension of a key as one token of a subject, and back (T1).

A token holds ASCII letters, digits, `-`, `_` and `~`; every other byte of the name's UTF-8 is `%` and two upper-case
hex digits. So no name adds a token or a wildcard, and no two names share a token. Decoding takes only what encoding
makes: subject → key → subject is the identity.
"""

from __future__ import annotations

import functools
import re
from urllib.parse import quote, unquote_to_bytes

from refbus.kernel.errors import InvalidArgument

# Six names of this size, percent-encoded, and a request's other tokens: still one control line of NATS (4096 bytes).
NAME_BYTES_MAX = 200
SEQUENCE_MAX = 2**53  # every language can hold it

_TOKEN = re.compile(r"(?:[A-Za-z0-9_~-]|%[0-9A-F]{2})+", re.ASCII)
_SEQUENCE = re.compile(r"0|[1-9][0-9]{0,15}", re.ASCII)


def name(what: str, value: object) -> str:
    """A name that can be a dimension: any text but the empty one, at most 200 bytes of UTF-8."""
    if type(value) is not str or not value:
        raise InvalidArgument(f"{what} must be a text that is not empty")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise InvalidArgument(f"{what} holds half surrogates: {value!a:.80}") from None
    if size > NAME_BYTES_MAX:
        raise InvalidArgument(f"{what} must have at most {NAME_BYTES_MAX} bytes, not {size}")
    return value


def sequence(what: str, value: object) -> int:
    """A number that can be a dimension."""
    if type(value) is not int or not 0 <= value <= SEQUENCE_MAX:
        raise InvalidArgument(f"{what} must be a whole number from 0 to {SEQUENCE_MAX}")
    return value


@functools.lru_cache(4096)
def encode(text: str) -> str:
    """The token of a name."""
    return quote(text, safe="~").replace(".", "%2E")


@functools.lru_cache(4096)
def decode(token: str) -> str:
    """The name of a token. Raises INVALID_ARGUMENT for a token that is no name's."""
    if _TOKEN.fullmatch(token):
        try:
            text = unquote_to_bytes(token).decode()
        except UnicodeDecodeError:
            text = ""
        if text and encode(text) == token:
            return name("token", text)
    raise InvalidArgument(f"no token of a subject: {token!a:.80}")


def decode_sequence(token: str) -> int:
    """The number of a token. Raises INVALID_ARGUMENT for any but its canonical digits."""
    if not _SEQUENCE.fullmatch(token):
        raise InvalidArgument(f"no sequence number: {token!a:.80}")
    return sequence("sequence", int(token))


def shown(token: str) -> str:
    """The name of a token that the store holds; the token itself where somebody damaged it."""
    try:
        return decode(token)
    except InvalidArgument:
        return token
