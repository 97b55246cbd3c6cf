"""The content of a `relay` folder: files, agents, rows, refusals. Values of the bus's choice are `Free`."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Any

from busproof.oracle.models.relay_text import FILE_NAME
from busproof.oracle.models.spec import Cited, Difference, Fits, Free, Part, Told, differs, plain
from busproof.words import as_json


class Number(Free):
    """A whole number that the system chooses: an inode, a pid."""

    def fits(self, value: Any) -> bool:
        return type(value) is int and value > 0


class Place(Free):
    """An absolute path that the kit's hand chose."""

    def fits(self, value: Any) -> bool:
        return type(value) is str and value.startswith("/")


class CopyName(Free):
    """The name of a delivered file: of the usual form, and after the one before it in its inbox."""

    def __init__(self, name: str, before: CopyName | None) -> None:
        super().__init__(name)
        self.before = before

    def fits(self, value: Any) -> bool:
        last = "" if self.before is None else plain(self.before) or ""
        return type(value) is str and FILE_NAME.fullmatch(value) is not None and value > last

    def takes(self, value: Any) -> bool:
        """As any. Once bound, it lets go of the one before, and so of all before that."""
        is_it = super().takes(value)
        if self.value is not None:
            self.before = None
        return is_it


@dataclass(frozen=True)
class Around(Part):
    """A text that ends in a file name that the bus chose, such as its path; `cut` is missing at the end."""

    before: str
    name: Free
    cut: str = ""

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        begins = type(actual) is str and actual.startswith(self.before)
        name = str(actual).removeprefix(self.before) + self.cut
        if begins and self.name.takes(name):
            return None
        is_low = begins and FILE_NAME.fullmatch(name) is not None and plain(self.name) is None
        return Difference(path, str(self), as_json(actual), ("relay.route.18",) if is_low else rows)

    def __repr__(self) -> str:
        return f"{self.before!r}, then {self.name!r}" + (f" without {self.cut!r}" if self.cut else "")


def is_number(value: Any) -> bool:
    """Anything that counts something."""
    return type(value) is int and value > 0


SOME_NUMBER = Fits("a number", is_number)


def sha256(data: bytes) -> str:
    """In hexadecimal digits."""
    return hashlib.sha256(data).hexdigest()


@dataclass
class File:
    """A file in a message folder, or another thing under a file's name, which `odd` tells."""

    data: bytes
    mtime_ns: int
    inode: Any
    odd: str = ""  # symlink, not_regular or hard_link

    @property
    def looks(self) -> tuple[int, int, str]:
        """The features by which a change is noticed."""
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
    source: str  # the path of the message

    def told(self, why: tuple[str, ...]) -> dict[str, Any]:
        """As a listing tells it; `why` are the branches of the message."""
        return {
            "name": Cited(self.name, ("relay.route.18",)),
            "kind": "file",
            "data": Cited(self.data, ("relay.route.15", *why)),
            "inode": self.inode,
            "links": Cited(1, ("relay.route.23",)),
        }


@dataclass
class Agent:
    """A row of agents, and its folder."""

    registered_at: int
    status: str = "active"
    last_seen_at: int | None = None
    pid: Any = None
    state: str = ""  # saved by a continuity
    said: dict[str, Any] | None = None  # by its program, of its start, if it is one that says so


@dataclass
class Folder:
    """The content of agents/NAME. Inbox: the oldest first."""

    outbox: dict[str, File] = field(default_factory=dict)
    pending: dict[str, File] = field(default_factory=dict)
    inbox: list[Copy] = field(default_factory=list)
    last_copy: CopyName | None = None
    odd: str = ""  # a symlink in its place
    is_whole: bool = False  # has it an inbox?
    is_inbox_gone: bool = False  # taken away, and nothing has come since: it may be made again at any time
    blocked: str = ""  # something else in the inbox's place: symlink or not_regular
    blocked_since: int = 0  # which thing: the how many-th of the store


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
    tried_at: int | None = None  # the time of a failed attempt that another may follow

    @property
    def looks(self) -> tuple[int, int, str]:
        return self.size, self.mtime_ns, self.inode.name

    @property
    def message_id(self) -> str:
        return f"{self.agent}/{self.file.removesuffix('.msg')}"

    @property
    def path(self) -> str:
        return f"agents/{self.agent}/outbox/{self.file}"

    @property
    def source(self) -> str:
        """The file that it is about."""
        return self.path

    name_in_ledger = path

    def told(self, why: tuple[str, ...], id_: str) -> dict[str, Any]:
        """The whole row but its id, which may have gaps; `why` are the branches that made it so."""
        return {
            "message_id": Cited(id_, ("relay.log.32",)),
            "agent_name": Cited(self.agent, ("relay.log.19",)),
            "direction": Cited("outbox", ("relay.log.20",)),
            "file_path": Cited(Below(self.path), ("relay.log.21", "relay.log.31")),
            "file_size": Cited(self.size, ("relay.log.22", *why)),
            "file_mtime_ns": Cited(self.mtime_ns, ("relay.log.23", *why)),
            "file_inode": Cited(Told(self.inode), ("relay.log.24",)),
            "checksum": Cited(Told(self.checksum) if self.checksum else None, ("relay.log.25",)),
            "status": Cited(self.status, ("relay.log.26", "relay.retry.02", "relay.export.01", *why)),
            "message_type": Cited(self.kind, ("relay.log.27", "relay.log.34", *why)),
            "target": Cited(self.target, ("relay.log.28", *why)),
            "discovered_at": Cited(self.discovered_at, ("relay.log.29", "relay.log.31", *why)),
            "processed_at": Cited(self.processed_at, ("relay.log.30", *why)),
            "retry_count": Cited(self.retry_count, ("relay.retry.01", *why)),
            "last_error": Cited(
                None if self.last_error is None else Reason(self.last_error), ("relay.retry.09", "relay.retry.10", *why)
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
    source: str  # the path of the message
    is_lost: bool = False  # the inbox took nothing

    @property
    def status(self) -> str:
        """Of the copy alone: the message completes in either case."""
        return "failed" if self.is_lost else "completed"

    @property
    def name_in_ledger(self) -> str:
        """The known part: the bus chose the rest."""
        return f"copy for {self.recipient}, {len(self.data)} bytes"

    def told(self, why: tuple[str, ...], id_: Any) -> dict[str, Any]:
        """The whole row; `why` are the branches of the message."""
        return {
            "file_path": Cited(
                Around(f"agents/{self.recipient}/inbox/", self.name), ("relay.route.17", "relay.route.18")
            ),
            "message_id": Cited(id_, ("relay.log.32",)),
            "agent_name": Cited(self.recipient, ("relay.route.19",)),
            "direction": Cited("inbox", ("relay.log.20", "relay.route.19")),
            "file_size": Cited(len(self.data), ("relay.route.15", *why)),
            "file_mtime_ns": SOME_NUMBER,
            "file_inode": Cited(Told(self.inode), ("relay.log.24",)),
            "checksum": Cited(Told(sha256(self.data)), ("relay.route.15", *why)),
            "status": Cited(self.status, ("relay.route.19",)),
            "message_type": Cited(self.kind, ("relay.route.19", *why)),
            "target": Cited(self.target, ("relay.route.19", *why)),
            "discovered_at": Cited(self.at, ("relay.route.19",)),
            "processed_at": Cited(self.at, ("relay.route.19",)),
            "last_error": Reason("inbox_lost") if self.is_lost else None,
        }


def name_of_row(row: Any) -> str:
    """The name of a row as a bus tells it: its file's path below the root, or the owner of a copy's inbox."""
    path = str(row.get("file_path"))
    if copy := re.search("agents/([^/]+)/inbox/[^/]+$", path):
        return f"copy for {copy[1]}, {row.get('file_size')} bytes"
    in_outbox = re.search("agents/[^/]+/outbox/[^/]+$", path)
    return in_outbox[0] if in_outbox else path


@dataclass(frozen=True)
class Below(Part):
    """A path below the root; the root before it is another way to tell it."""

    path: str

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        if actual == self.path:
            return None
        is_absolute = type(actual) is str and actual.startswith("/") and actual.endswith(f"/{self.path}")
        return Difference(path, as_json(self.path), as_json(actual), ("relay.log.31",) if is_absolute else rows)

    def __repr__(self) -> str:
        return as_json(self.path)


@dataclass(frozen=True)
class Listed(Part):
    """Members by name, in any order if no row sets it. One that is missing, or too many, breaks its name's rows."""

    members: list[tuple[str, Any]]
    rows_of: Callable[[str], tuple[str, ...]]
    name_of: Callable[[Any], str] = itemgetter("name")
    in_order: tuple[str, ...] = ()

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        try:
            seen = [self.name_of(member) for member in actual]
        except (AttributeError, KeyError, TypeError):
            return Difference(path, "a list with names", as_json(actual)[:300], rows)
        wanted = [name for name, _ in self.members]
        if wanted == seen:
            pairs = [*zip(self.members, actual, strict=True)]
        else:  # those that are there may say more than the missing ones
            once = {name for name in wanted if wanted.count(name) == seen.count(name) == 1}
            pairs = [((name, member), actual[seen.index(name)]) for name, member in self.members if name in once]
        for (name, expected), other in pairs:
            if difference := differs(expected, other, f"{path}[{name}]"):
                return difference if difference.rows else replace(difference, rows=self.rows_of(name))
        missing, added = Counter(wanted) - Counter(seen), Counter(seen) - Counter(wanted)
        for name in sorted({*missing, *added}):
            fault = "is missing" if name in missing else "is too many"
            return Difference(path, f"{len(wanted)} of them", f"{len(seen)}: {name} {fault}", self.rows_of(name))
        return (
            None
            if wanted == seen or not self.in_order
            else Difference(path, as_json(wanted)[:600], as_json(seen)[:600], self.in_order)
        )

    def __repr__(self) -> str:
        return as_json([member for _, member in self.members])


UNTOLD = "a day that nobody has told"


def moving(path: str) -> str:
    """The subject of the branches that move a handled file."""
    return f"the moving of {path}"


@dataclass(frozen=True)
class Kept(Part):
    """The archive: agent/file → day and content."""

    files: dict[str, tuple[str, bytes]]
    why: dict[str, tuple[str, ...]]
    handled: tuple[str, ...]  # branches of the files that the last pass handled, for a file that should not be there

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        seen = {row["path"].partition("/")[2]: (row["path"].partition("/")[0], row["data"]) for row in actual}
        for name in sorted(self.files.keys() | seen.keys()):
            wanted, other = self.files.get(name), seen.get(name)
            if wanted == other or (wanted and other and (wanted[0], wanted[1]) == (UNTOLD, other[1])):
                continue
            agent, _, file = name.rpartition("/")
            source = f"agents/{agent}/outbox/{file}"
            why = self.why.get(source, self.handled)
            if wanted and other:
                why = ("relay.export.03",) if wanted[1] == other[1] else ("relay.export.07", *why)
            else:
                moved = self.why.get(moving(source)) if wanted else None
                why = ("relay.log.07", "relay.export.05", "relay.export.07", *(why if moved is None else moved))
            return Difference(f"{path}.{name}", as_json(wanted), as_json(other), why)
        return None


@dataclass(frozen=True)
class Reason(Part):
    """A word of the list, with anything behind a colon."""

    word: str

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        if type(actual) is str and re.fullmatch(re.escape(self.word) + "(:.*)?", actual, re.DOTALL):
            return None
        return Difference(path, as_json(self.word), as_json(actual), rows)

    def __repr__(self) -> str:
        return as_json(self.word)


@dataclass
class Ledger:
    """A copy of the ledger: all that it knows at one moment."""

    rows: list[Row | CopyRow]
    agents: dict[str, Agent]
    channels: set[tuple[str, str]]
    refused: list[Refused]
    known: dict[tuple[str, str], Any]

    def copied(self) -> Ledger:
        """One that goes its own way; values of the bus's choice stay the same ones."""
        agents = {name: replace(agent) for name, agent in self.agents.items()}
        rows = [replace(row) for row in self.rows]
        return Ledger(rows, agents, set(self.channels), list(self.refused), dict(self.known))


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
    why: dict[str, tuple[str, ...]]  # of the thing at a path

    def differs(self, actual: Any, path: str, rows: tuple[str, ...]) -> Difference | None:
        try:
            seen = [Refused(row["at_ms"], row["event"], row["path"]) for row in actual]
        except (KeyError, TypeError):
            return Difference(path, str(self), as_json(actual), rows)
        seen = self._in_text(seen)
        missing, added = Counter(self.records) - Counter(seen), Counter(seen) - Counter(self.records)
        if not added and missing:
            rows = tuple(dict.fromkeys(row for record in _sorted(missing) for row in self._rows(record, None)))
            shown = f"{len(seen)}: {_sorted(missing)[0]} is missing"
            return Difference(path, f"{len(self.records)} of them", shown, rows)
        for wanted, other in itertools.zip_longest(_sorted(missing), _sorted(added)):
            return Difference(path, as_json(wanted), as_json(other), self._rows(wanted, other))
        return None

    def _in_text(self, seen: list[Refused]) -> list[Refused]:
        """Replace paths that are not UTF-8 by the expected ones: a bus may tell such bytes in any form."""
        forms = {
            record.path: re.compile(
                "".join(".+" if "\udc80" <= char <= "\udcff" else re.escape(char) for char in record.path)
            )
            for record in self.records
            if re.search("[\udc80-\udcff]", record.path)
        }
        return [
            replace(row, path=next((path for path, form in forms.items() if form.fullmatch(str(row.path))), row.path))
            for row in seen
        ]

    def _rows(self, wanted: Refused | None, other: Refused | None) -> tuple[str, ...]:
        """The rows of the first missing record, or of the thing that was no reason for a record."""
        if wanted and other and wanted.event == other.event:
            return ("relay.limit.16",)
        if wanted is not None and (other is None or wanted.at_ms <= other.at_ms):
            is_agent = wanted.event == "symlink" and wanted.path.count("/") == 1
            return ("relay.limit.10" if is_agent else EVENT_ROWS[wanted.event],)
        assert other is not None
        if other.event == "rate_limited":  # says nothing of the agent's other sentences
            return (EVENT_ROWS[other.event],)
        return (
            EVENT_ROWS.get(other.event, "relay.limit.16"),
            *self.why.get(other.path.removeprefix("agents/") if other.path.count("/") == 1 else other.path, ()),
        )

    def __repr__(self) -> str:
        return as_json(list(self.records))


def _sorted(records: Iterable[Refused]) -> list[Refused]:
    return sorted(records, key=lambda record: (record.at_ms, record.event, record.path))


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
