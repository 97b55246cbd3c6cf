"""What a folder of `relay` holds: files, agents, rows, refusals. Values of the bus's choice are `Free`."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from busproof.models.relay_text import FILE_NAME
from busproof.models.spec import Cited, Difference, Fits, Free, Part, Told, plain


class Number(Free):
    """A whole number of the system's: an inode, a pid."""

    def fits(self, value: Any) -> bool:
        return type(value) is int and value > 0


class CopyName(Free):
    """The name of a delivered file: of the usual form, and after the one before it in its inbox."""

    def __init__(self, name: str, before: CopyName | None) -> None:
        super().__init__(name)
        self.before = before

    def fits(self, value: Any) -> bool:
        last = "" if self.before is None else plain(self.before) or ""
        return type(value) is str and FILE_NAME.fullmatch(value) is not None and value > last


@dataclass(frozen=True)
class Around(Part):
    """A text that ends in a file name that the bus chose, such as its path; `cut` is missing at the end."""

    before: str
    name: Free
    cut: str = ""

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        begins = type(actual) is str and actual.startswith(self.before)
        if begins and self.name.takes(actual.removeprefix(self.before) + self.cut):
            return None
        return Difference(path, repr(self), repr(actual), rows)

    def __repr__(self) -> str:
        return f"{self.before!r} and {self.name!r}"


def is_number(value: Any) -> bool:
    """Anything that counts something."""
    return type(value) is int and value > 0


SOME_NUMBER = Fits("a number", is_number)


def sha256(data: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


@dataclass
class File:
    """What stands under a name in a message folder: a file, or `odd` says what else."""

    data: bytes
    mtime_ns: int
    inode: Any
    odd: str = ""  # symlink, not_regular or hard_link

    @property
    def looks(self) -> tuple[int, int, str]:
        """By what a change is noticed."""
        return len(self.data), self.mtime_ns, self.inode.name

    def told(self, name: Any) -> dict[str, Any]:
        """As a listing tells it."""
        if self.odd in ("symlink", "not_regular"):
            return {"name": name, "kind": self.odd}
        return {"name": name, "kind": "file", "data": self.data, "inode": self.inode}


@dataclass
class Copy:
    """A delivered file, until its reader takes it away."""

    name: CopyName
    data: bytes
    inode: Any

    def told(self) -> dict[str, Any]:
        return {"name": self.name, "kind": "file", "data": self.data, "inode": self.inode}


@dataclass
class Agent:
    """A row of agents, and its folder."""

    registered_at: int
    status: str = "active"
    last_seen_at: int | None = None
    pid: Any = None
    state: str = ""  # what a continuity saved


@dataclass
class Folder:
    """What stands in agents/NAME. Inbox: the oldest first."""

    outbox: dict[str, File] = field(default_factory=dict)
    pending: dict[str, File] = field(default_factory=dict)
    inbox: list[Copy] = field(default_factory=list)
    last_copy: CopyName | None = None
    odd: str = ""  # a symlink in its place
    is_whole: bool = False  # has it an inbox?


@dataclass
class Row:
    """A row of messages about a file that an agent wrote."""

    agent: str
    file: str
    size: int
    mtime_ns: int
    inode: Any
    checksum: str | None
    status: str
    kind: str | None
    target: str | None
    discovered_at: int
    processed_at: Any = None
    retry_count: int = 0
    last_error: str | None = None

    @property
    def looks(self) -> tuple[int, int, str]:
        return self.size, self.mtime_ns, self.inode.name

    @property
    def message_id(self) -> str:
        return f"{self.agent}/{self.file.removesuffix('.msg')}"

    @property
    def path(self) -> str:
        return f"agents/{self.agent}/outbox/{self.file}"

    def told(self, last: tuple[str, ...]) -> dict[str, Any]:
        """The whole row but its id, which may have gaps; `last` are the rows of the last pass, which made it so."""
        return {
            "message_id": Cited(self.message_id, ("relay.log.32", *last)),
            "agent_name": Cited(self.agent, ("relay.log.19", *last)),
            "direction": Cited("outbox", ("relay.log.20", *last)),
            "file_path": Cited(self.path, ("relay.log.21", "relay.log.31", *last)),
            "file_size": Cited(self.size, ("relay.log.22", *last)),
            "file_mtime_ns": Cited(self.mtime_ns, ("relay.log.23", *last)),
            "file_inode": Cited(Told(self.inode), ("relay.log.24", *last)),
            "checksum": Cited(Told(self.checksum) if self.checksum else None, ("relay.log.25", *last)),
            "status": Cited(self.status, ("relay.log.26", "relay.retry.02", "relay.export.01", *last)),
            "message_type": Cited(self.kind, ("relay.log.27", "relay.log.34", *last)),
            "target": Cited(self.target, ("relay.log.28", *last)),
            "discovered_at": Cited(self.discovered_at, ("relay.log.29", "relay.log.31", *last)),
            "processed_at": Cited(self.processed_at, ("relay.log.30", *last)),
            "retry_count": Cited(self.retry_count, ("relay.retry.01", *last)),
            "last_error": Cited(
                None if self.last_error is None else Reason(self.last_error),
                ("relay.retry.09", "relay.retry.10", *last),
            ),
        }


@dataclass
class CopyRow:
    """A row of messages about a delivered file."""

    recipient: str
    name: CopyName
    data: bytes
    inode: Any
    kind: str
    target: str
    at: int

    status = "completed"

    def told(self, last: tuple[str, ...]) -> dict[str, Any]:
        return {
            "message_id": Cited(Around(f"{self.recipient}/", self.name, ".msg"), ("relay.log.32", *last)),
            "agent_name": Cited(self.recipient, ("relay.route.19", *last)),
            "direction": Cited("inbox", ("relay.log.20", "relay.route.19", *last)),
            "file_path": Cited(
                Around(f"agents/{self.recipient}/inbox/", self.name), ("relay.log.21", "relay.route.18", *last)
            ),
            "file_size": Cited(len(self.data), ("relay.log.22", *last)),
            "file_mtime_ns": SOME_NUMBER,
            "file_inode": Cited(Told(self.inode), ("relay.log.24", *last)),
            "checksum": Cited(Told(sha256(self.data)), ("relay.log.25", *last)),
            "status": Cited("completed", ("relay.route.19", *last)),
            "message_type": self.kind,
            "target": self.target,
            "discovered_at": self.at,
            "processed_at": self.at,
        }


@dataclass(frozen=True)
class Reason(Part):
    """A word of the list, with anything behind a colon."""

    word: str

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        if type(actual) is str and re.fullmatch(re.escape(self.word) + "(:.*)?", actual, re.DOTALL):
            return None
        return Difference(path, repr(self.word), repr(actual), rows)

    def __repr__(self) -> str:
        return repr(self.word)


@dataclass(frozen=True)
class Refused:
    """An audit record."""

    at_ms: int
    event: str
    path: str


@dataclass(frozen=True)
class Records(Part):
    """Audit records, those of one moment in any order."""

    records: tuple[Refused, ...]

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        try:
            seen = [Refused(one["at_ms"], one["event"], one["path"]) for one in actual]
        except (KeyError, TypeError):
            return Difference(path, repr(self), repr(actual), rows)
        for one, other in itertools.zip_longest(_sorted(self.records), _sorted(seen)):
            if one != other:
                culprit = min((each for each in (one, other) if each is not None), key=lambda each: each.at_ms)
                return Difference(
                    path, repr(one), repr(other), (EVENT_ROWS.get(culprit.event, "relay.limit.16"), "relay.limit.16")
                )
        return None

    def __repr__(self) -> str:
        return repr(list(self.records))


def _sorted(records: Iterable[Refused]) -> list[Refused]:
    return sorted(records, key=lambda one: (one.at_ms, one.event, one.path))


EVENT_ROWS = {
    "symlink": "relay.limit.09",
    "not_regular": "relay.limit.11",
    "hard_link": "relay.limit.12",
    "bad_file_name": "relay.limit.13",
    "name_reused": "relay.cursor.14",
    "bad_agent_name": "relay.presence.06",
    "orphan_removed": "relay.cursor.25",
    "rate_limited": "relay.limit.04",
    "clock_back": "relay.log.52",
}
