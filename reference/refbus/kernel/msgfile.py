"""A message file: its text, and whether it may be read yet. Pure: bytes, two stats and the time are arguments.

    TO: Lead
    KIND: status
    THREAD: t-1

    The body, to the end of the file.

Header lines end with a line feed, the first empty line ends the header, and the body follows. An agent renames a whole
file into its outbox; but nothing holds it to that, so a file is believed only when it has settled, did not change
while it was read, and says something complete. A file that is not yet so may still become so: it waits, until it is
too old for that.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

KINDS = ("message", "spawn", "release", "ack", "nack", "status", "continuity")
SETTLE_MS, MALFORMED_MS, BYTES_MAX = 100, 5_000, 1024 * 1024

_HEADER = re.compile(r"([A-Z][A-Z0-9_-]*):(.*)", re.DOTALL)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_SHA256 = re.compile(r"sha256:[0-9a-f]{64}")
_PRIORITY = re.compile(r"[0-9]")
_FORMATS = {"CHECKSUM": _SHA256, "ATTACHMENT": _SHA256, "PRIORITY": _PRIORITY, "KIND": re.compile("|".join(KINDS))}
_OURS = ("FROM", "ID")  # an orchestrator adds them to a copy; no sender may say who he is


class Stat(NamedTuple):
    """The values that tell one state of a file from another."""

    size: int  # bytes
    mtime_ns: int
    inode: int

    def is_as(self, known: Stat) -> bool:
        """Are size and time the same? Not the inode: a folder that was copied to another disk has others."""
        return self[:2] == known[:2]


class Message(NamedTuple):
    """The content of a file. `others` are headers that the seed does not know, in their order."""

    to: str
    body: str = ""
    kind: str = "message"
    thread: str | None = None
    priority: int | None = None  # 0 is the highest, 9 the lowest
    checksum: str | None = None  # of the body: sha256: and 64 hexadecimal digits
    attachment: str | None = None  # the same, of a file among the attachments
    others: tuple[tuple[str, str], ...] = ()


class Wait(NamedTuple):
    """Not yet: `why`."""

    why: str


class Malformed(NamedTuple):
    """Never. `reason` is `empty`, `too_large`, `malformed` or `checksum_mismatch`; `detail` may say more."""

    reason: str
    detail: str = ""


class FormatError(ValueError):
    """The bytes are no message."""

    def __init__(self, detail: str, reason: str = "malformed") -> None:
        super().__init__(detail)
        self.reason = reason


def age_ns(stat: Stat, now_ns: int, unchanged_ns: int) -> int:
    """How long the file has been as it is. A file from the future is as old as it has been seen unchanged (R9)."""
    return now_ns - stat.mtime_ns if stat.mtime_ns <= now_ns else unchanged_ns


def judge(
    data: bytes,
    before: Stat,
    after: Stat,
    now_ns: int,
    unchanged_ns: int = 0,
    *,
    settle_ms: int = SETTLE_MS,
    malformed_ms: int = MALFORMED_MS,
    bytes_max: int = BYTES_MAX,
    content_hash: str | None = None,
) -> Message | Wait | Malformed:
    """The verdict on a file that was looked at before and after it was read (2.2, 2.3).

    `now_ns` is the wall clock, `unchanged_ns` how long the scanner has seen this stat on its own, monotonic clock.
    A file that is larger than bytes_max need not be read: its data are not looked at.
    """
    if before != after:
        return Wait("it changed while it was read")
    age = age_ns(before, now_ns, unchanged_ns)
    if age < settle_ms * 1_000_000:
        return Wait("it has not settled")
    if before.size > bytes_max:
        return Malformed("too_large", f"{before.size} bytes, more than {bytes_max}")
    if len(data) != before.size:
        return Wait("it changed while it was read")
    try:
        if content_hash not in (None, hashlib.sha256(data).hexdigest()):
            raise FormatError("the file has another hash than its name", "checksum_mismatch")
        return parse(data)
    except FormatError as error:
        # A writer without the atomic rename may not have finished.
        return Wait(str(error)) if age < malformed_ms * 1_000_000 else Malformed(error.reason, str(error))


def parse(data: bytes) -> Message:
    """The message that the bytes are. Raises FormatError."""
    if not data:
        raise FormatError("", "empty")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"no UTF-8 at byte {error.start}") from error
    headers, body = _split(text)
    for name in _OURS:
        if name in headers:
            raise FormatError(f"{name} is not the sender's to say")
    message = _message(headers, body)
    if message.checksum not in (None, checksum_of(body)):
        raise FormatError("the body has another hash", "checksum_mismatch")
    return message


def parse_copy(data: bytes) -> tuple[str, str, Message]:
    """A file of an inbox: its sender, its id, and the message. Raises FormatError."""
    headers, body = _split(data.decode())
    try:
        sender, id_ = (headers.pop(name) for name in _OURS)
    except KeyError as error:
        raise FormatError(f"{error} is missing") from error
    return sender, id_, _message(headers, body)


def format(message: Message) -> bytes:
    """The file of a message: `parse(format(m)) == m` for every m whose values may stand in a header."""
    known = {
        "TO": message.to,
        "KIND": None if message.kind == "message" else message.kind,
        "THREAD": message.thread,
        "PRIORITY": None if message.priority is None else str(message.priority),
        "CHECKSUM": message.checksum,
        "ATTACHMENT": message.attachment,
    }
    lines = [(name, value) for name, value in known.items() if value is not None]
    data = "".join(f"{name}: {value}\n" for name, value in [*lines, *message.others]) + "\n" + message.body
    return data.encode()


def format_copy(sender: str, id_: str, original: bytes) -> bytes:
    """The file for an inbox: the file that was sent, to the letter, below its sender and its id."""
    return f"FROM: {sender}\nID: {id_}\n".encode() + original


def checksum_of(body: str) -> str:
    """The value of CHECKSUM for this body."""
    return f"sha256:{hashlib.sha256(body.encode()).hexdigest()}"


def _split(text: str) -> tuple[dict[str, str], str]:
    """The headers in their order, and the body."""
    headers: dict[str, str] = {}
    at = 0
    while True:
        end = text.find("\n", at)
        if end < 0:
            raise FormatError("no empty line ends the header")
        line, at = text[at:end], end + 1
        if not line:
            return headers, text[at:]
        name, value = _header(line)
        if name in headers:
            raise FormatError(f"{name} stands twice")
        headers[name] = value


def _header(line: str) -> tuple[str, str]:
    match = _HEADER.fullmatch(line)
    if match is None:
        raise FormatError(f"no header: {line!a:.80}")
    name, value = match[1], match[2].strip(" \t")
    if not value or _CONTROL.search(value):
        raise FormatError(f"the value of {name:.80} is empty or holds control characters")
    if name in _FORMATS and not _FORMATS[name].fullmatch(value):
        raise FormatError(f"no {name}: {value!a:.80}")
    return name, value


def _message(headers: dict[str, str], body: str) -> Message:
    if "TO" not in headers:
        raise FormatError("TO is missing")
    priority = headers.pop("PRIORITY", None)
    return Message(
        headers.pop("TO"),
        body,
        headers.pop("KIND", "message"),
        headers.pop("THREAD", None),
        None if priority is None else int(priority),
        headers.pop("CHECKSUM", None),
        headers.pop("ATTACHMENT", None),
        tuple(headers.items()),
    )
