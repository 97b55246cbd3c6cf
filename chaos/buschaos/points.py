"""A point: one fault at one place of one operation. Every act is a set of points; `--at` names one of them.

The place is the ordinal of a change (`nemeses.syscalls.Change`), the answer included; 0 is right after the answer.
If nobody comes to harm and two only stand still, it is a place in both. A power cut and a lack of something strike no
single operation: the place is a step of the whole session, or the amount that is left.
"""

from __future__ import annotations

import errno
import re
import signal
from dataclasses import dataclass, replace
from typing import cast, get_args

from buschaos.nemeses import bpf
from buschaos.nemeses.syscalls import (
    ANSWER,
    PIPE,
    Change,
    Continue,
    Decide,
    End,
    Fail,
    Kill,
    Others,
    Short,
    Torn,
    Verdict,
)
from buschaos.tape.cuts import Cut, How, Model

AFTER_THE_ANSWER = 0
PID_TAKEN = "and its pid is another's now"
EXAMPLES = (
    "7:kill, 7:torn:512, 7:EIO, 7:EIO:sticky, 7:short:512, 7:short:512:sticky, 7:hold, 7:hold:5, 7:hold:then:12, "
    "7:others, 7:SIGTERM, 7:SIGINT, 7:SIGHUP, 7:EOF, 7:kill:then:2, 7:kill:pid, 7:pages, 7:pages:after, 2:descriptors, "
    "256:KiB, 43:cut:ext4:4096:24:without:3"
)
ENDS = {"EOF": None, **{number.name: number for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)}}


@dataclass(frozen=True)
class Point:
    """Place and fault. `is_sticky`: the error stays until the call is over; after a short write the disk is full.

    `then`: the place in the recovery by the next process at which that is killed, too; 0: nowhere.
    `is_pid_taken`: the number of the killed process is another's when the next one comes.
    """

    ordinal: int
    verdict: Verdict
    is_sticky: bool = False
    then: int = 0
    is_pid_taken: bool = False

    def decide(self, change: Change) -> Verdict:
        """The verdict on a change. A tear needs a write that is longer; if the write is not, it is a kill.

        If a write to be shortened is not longer, all of it is taken.
        """
        if change.ordinal != self.ordinal:
            return self._still(change) if self.is_sticky and change.ordinal > self.ordinal else Continue()
        match self.verdict:
            case Torn(size) if (change.size or 0) <= size:
                return Kill()
            case Short(size) if (change.size or 0) <= size:
                return Continue()
        return self.verdict

    def decide_call(self) -> Decide:
        """The same for all changes of one call: with its answer it is over, and no error stays longer."""
        once, is_over = replace(self, is_sticky=False), False

        def decide(change: Change) -> Verdict:
            nonlocal is_over
            is_over = is_over or change.path == ANSWER
            return (once if is_over else self).decide(change)

        return decide

    def _still(self, change: Change) -> Verdict:
        """The verdict on a later change."""
        match self.verdict:
            case Fail(number) if may_fail(change, number):
                return self.verdict
            case Short() if change.path not in (ANSWER, PIPE) and change.call in _FILLS:
                return Fail(errno.ENOSPC)
        return Continue()

    def describe(self, struck: Change | None) -> str:
        """For a reader. The change that was struck may differ from the one in the rehearsal: ids and pages vary."""
        if self.then:
            return (
                f"{replace(self, then=0).describe(struck)}, and the next one before change {self.then} of its recovery"
            )
        if self.is_pid_taken:
            return f"{replace(self, is_pid_taken=False).describe(struck)}, {PID_TAKEN}"
        match self.verdict:
            case End() if self.ordinal == AFTER_THE_ANSWER:
                return f"asked to end by {_name(self.verdict)} after the answer"
            case _ if struck is None:
                return "killed after the answer" if self.ordinal == AFTER_THE_ANSWER else "not struck"
            case Torn(size):
                return f"killed after {size} bytes of {struck}"
            case Fail(number):
                return f"{errno.errorcode[number]} {'from' if self.is_sticky else 'at'} {struck}"
            case Short(size) if self.is_sticky:
                return f"only {size} bytes taken by change {self.ordinal}, then a full disk, at last for {struck}"
            case Short(size):
                return f"only {size} bytes taken by {struck}"
            case Others():
                return f"while it stood before {struck} others worked"
            case End():
                return f"asked to end by {_name(self.verdict)} before {struck}"
            case _:
                return f"killed before {struck}"

    def __str__(self) -> str:
        """As `--at` takes it (`EXAMPLES`)."""
        match self.verdict:
            case Torn(size):
                fault = f"torn:{size}"
            case Fail(number):
                fault = errno.errorcode[number]
            case Short(size):
                fault = f"short:{size}"
            case Others():
                fault = "others"
            case End():
                fault = _name(self.verdict)
            case _:
                fault = "kill"
        if self.is_pid_taken:
            fault += ":pid"
        more = f":then:{self.then}" if self.then else ":sticky" if self.is_sticky else ""
        return f"{self.ordinal}:{fault}{more}"


@dataclass(frozen=True)
class Place:
    """The place at which the victim of a hold stands still, and the one of its peer, after it; 0: nowhere.

    `then`: the place at which the victim stands still once more, when the peer has made its first call.
    """

    ordinal: int
    peers: int = 0
    then: int = 0

    def __str__(self) -> str:
        """As `--at` takes it: 7:hold, 7:hold:5, 7:hold:then:12."""
        more = f":then:{self.then}" if self.then else f":{self.peers}" if self.peers else ""
        return f"{self.ordinal}:hold{more}"


@dataclass(frozen=True)
class Left:
    """So much of something is left: pages of a disk, before a session was opened or after; descriptors or memory."""

    amount: int
    of: str
    opened: str = "before"

    def __str__(self) -> str:
        """As `--at` takes it: 7:pages, 7:pages:after, 2:descriptors, 256:KiB."""
        return f"{self.amount}:{self.of.partition(' ')[0]}" + (":after" if self.opened == "after" else "")


@dataclass(frozen=True)
class Outage:
    """One cut of a recorded session of power loss: the number of the session, and what is left."""

    cut: Cut
    session: int = 0

    def __str__(self) -> str:
        """As `--at` takes it: 43:cut:ext4:4096:24:none, 43:cut:weak:512:7:without:3, 43:cut:lazy:4096:0:none:0@2."""
        at, model, block, names, how, which = self.cut
        session = f"@{self.session}" if self.session else ""
        return f"{at}:cut:{model}:{block}:{names}:{how.replace(' ', '-')}:{which}{session}"


At = Point | Place | Left | Outage
_LEFT = {"pages": "pages", "descriptors": "descriptors", "KiB": "KiB of memory"}
_CUT = re.compile(r"(\w+):(\d+):(\d+):([a-z-]+)(?::(\d+))?(?:@(\d+))?")


def parse(text: str) -> At:
    """A point from its text. Raises ValueError if it is none."""
    place, _, fault = text.partition(":")
    kind, _, more = fault.partition(":")
    if kind in _LEFT and (not more or (kind == "pages" and more == "after")):
        return Left(int(place), _LEFT[kind], more or "before")
    if kind == "cut" and (written := _CUT.fullmatch(more)):
        model, block, names, how, which, session = written.groups()
        if model in get_args(Model) and (how := how.replace("-", " ")) in get_args(How):
            cut = Cut(int(place), cast(Model, model), int(block), int(names), cast(How, how), int(which or 0))
            return Outage(cut, int(session or 0))
    if kind == "hold" and more.startswith("then:"):
        return Place(int(place), then=int(more.removeprefix("then:")))
    if kind == "hold":
        return Place(int(place), int(more or 0))
    if kind == "kill" and (again := re.fullmatch(r"(?:then:(\d+)|pid)?", more)):
        return Point(int(place), Kill(), then=int(again[1] or 0), is_pid_taken=more == "pid")
    if kind in ENDS and not more:
        return Point(int(place), End(ENDS[kind]))
    if kind == "others" and not more and int(place) != AFTER_THE_ANSWER:
        return Point(int(place), Others())
    if kind == "torn":
        return Point(int(place), Torn(int(more)))
    if kind == "short" and (written := re.fullmatch(r"(\d+)(:sticky)?", more)):
        return Point(int(place), Short(int(written[1])), is_sticky=bool(written[2]))
    number = getattr(errno, kind, None)
    if number is None or more not in ("", "sticky"):
        raise ValueError(f"{text!r} is no point: {EXAMPLES}")
    return Point(int(place), Fail(number), is_sticky=bool(more))


def _name(end: End) -> str:
    return next(name for name, number in ENDS.items() if number == end.signal)


def why_impossible(point: Point, changes: list[Change]) -> str:
    """The reason why an operation that makes these changes has no such point; empty: it has."""
    struck = next((change for change in changes if change.ordinal == point.ordinal), None)
    if struck is None:
        is_there = point.ordinal == AFTER_THE_ANSWER and isinstance(point.verdict, Kill | End)
        return "" if is_there else f"it makes {len(changes)} changes, its answer included"
    match point.verdict:
        case Torn(size) | Short(size) if size >= (struck.size or 0):
            return f"change {struck.ordinal}, {struck}, writes {struck.size or 'no'} bytes"
        case Fail(number) if not may_fail(struck, number):
            return f"change {struck.ordinal}, {struck}, cannot meet {errno.errorcode[number]}"
    return ""


_MAKES = (
    "openat",
    "open",
    "openat2",
    "creat",
    "mknod",
    "mknodat",
    "mkdir",
    "mkdirat",
    "link",
    "linkat",
    "symlink",
    "symlinkat",
)
_RENAMES = ("rename", "renameat", "renameat2")
_WRITES = ("write", "pwrite64", "writev", "pwritev", "pwritev2")
_GROWS = (*_WRITES, "ftruncate", "truncate", "fallocate", "sendfile")
_COPIES = ("copy_file_range", "splice")
_FILLS = (*_WRITES, "fallocate", "sendfile", *_COPIES)  # calls that need room: a file can still be cut, and synced
SYNCS = ("fsync", "fdatasync")
_REMOVES = ("unlink", "unlinkat", "rmdir")
PLACES_FILES = (*_RENAMES, *_REMOVES, "link", "linkat")
READS = bpf.READS

# The errors that a call can meet on a real system (its manual page), and so those that are injected.
CAN = {
    errno.ENOSPC: {*_MAKES, *_RENAMES, *_GROWS, *_COPIES, *SYNCS},
    errno.EDQUOT: {*_MAKES, *_RENAMES, *_GROWS, *_COPIES, *SYNCS},
    errno.EIO: {*_MAKES, *_RENAMES, *_GROWS, *_COPIES, *SYNCS, *_REMOVES, *READS},
    errno.EROFS: {*_MAKES, *_RENAMES, *SYNCS, *_REMOVES, "truncate"},
    errno.EMFILE: {"openat", "open", "openat2", "creat"},
    errno.EINTR: {"write", "pwrite64", "openat", "open", "fallocate", "ftruncate", "read", "pread64"},
}


def may_fail(change: Change, number: int) -> bool:
    """Can this call meet this error? An answer goes to no disk, and neither does what another process is told."""
    return change.path not in (ANSWER, PIPE) and change.call in CAN.get(number, {change.call})
