"""Which SQLite wrote a file last, and whether that version can lose committed pages when a log is reset.

The fault: a checkpoint that begins while another connection's commit starts the log anew may write an old figure into
the index of the log, and the next checkpoint then leaves out later commits. It is there from 3.7.0 to 3.51.2
except in two repaired branches. `python -m buschaos.walreset` shows it on the SQLite of this Python.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from pathlib import Path

Version = tuple[int, int, int]

_SINCE, _REPAIRED = (3, 7, 0), (3, 51, 3)
_REPAIRED_BRANCHES = ((3, 44, 6), (3, 50, 7))
_MAGIC, _AT_MODE, _AT_WRITER = b"SQLite format 3\0", 18, 96
_WAL, _HEADER = 2, 100


def resets_wrongly(version: Version) -> bool:
    """Has this SQLite the fault?"""
    repaired = any(branch[:2] == version[:2] and version >= branch for branch in _REPAIRED_BRANCHES)
    return _SINCE <= version < _REPAIRED and not repaired


def parsed(text: str) -> Version:
    """The version in the form that `sqlite_version()` tells."""
    major, minor, patch, *_ = map(int, text.split("."))
    return major, minor, patch


def is_database(path: Path) -> bool:
    """Does it begin like one?"""
    return _header(path).startswith(_MAGIC)


def has_log(path: Path) -> bool:
    """Is it a database with a write-ahead log?"""
    header = _header(path)
    return header.startswith(_MAGIC) and len(header) == _HEADER and header[_AT_MODE] == _WAL


def _header(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(_HEADER)


def writer(path: Path) -> Version | None:
    """The version that wrote a database with a write-ahead log last; None for any other file."""
    if not has_log(path):
        return None
    header = _header(path)
    number = int.from_bytes(header[_AT_WRITER:], "big")
    return number // 1_000_000, number // 1000 % 1000, number % 1000


def warnings(paths: Iterable[Path]) -> Iterator[str]:
    """One for each version with the fault among the writers of these files and the library of this Python.

    None where no file has a write-ahead log: there the fault has nothing to lose.
    """
    writers = {version: f"{path.name} was last written by" for path in paths if (version := writer(path))}
    if not writers:
        return
    writers.setdefault(sqlite3.sqlite_version_info[:3], "this Python has")
    for version, who in writers.items():
        if resets_wrongly(version):
            yield (
                f"{who} SQLite {'.'.join(map(str, version))}, which has the WAL-reset fault: two checkpoints and a "
                "commit at one moment lose what was committed. Repaired in 3.51.3 (and 3.50.7, 3.44.6)"
            )
