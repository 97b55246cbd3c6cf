"""The oddities of a folder of `relay`: things that no agent and no orchestrator should have left there.

An agent's files are judged as an orchestrator would judge them, without one; and the ledger against the tree.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

from busproof.contract.relay import DEFAULTS
from busproof.oddities.common import some
from busproof.oracle.models.relay_text import FILE_NAME, is_agent_name, parsed

SETTLE_MS, HALF_MS, MESSAGE_BYTES_MAX = (DEFAULTS[name] for name in ("settle_ms", "orphan_ms", "message_bytes_max"))


def _permissions(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Only the owner may get in (5.1)."""
    folders = [folder, folder / "agents", *(path for path in _entries(folder / "agents") if path.is_dir())]
    files = [path for path in (folder / "ledger.db", folder / "config.json") if path.exists()]
    open_ = [str(path.relative_to(folder)) for path in [*folders, *files, *_messages(folder)] if _is_open(path)]
    if open_:
        yield f"others than the owner may get at {some(open_)}: folders are 700, files 600"


def _names(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Agents and files have valid names (3.3, 5.3)."""
    for path in _entries(folder / "agents"):
        if path.is_symlink():
            yield f"agents/{path.name} is a symbolic link: no orchestrator follows it"
        elif path.is_dir() and not is_agent_name(path.name):
            yield f"agents/{path.name!a} is no agent's name: nothing in it is read"
    for path in _messages(folder):
        if not FILE_NAME.fullmatch(path.name):
            yield f"{path.relative_to(folder)} is not called TIME-HEX.msg: no orchestrator takes it"


def _kinds(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """A message is a regular file with one name (6.5)."""
    for path in _messages(folder):
        is_what = path.lstat()
        if not stat.S_ISREG(is_what.st_mode):
            kind = "a symbolic link" if stat.S_ISLNK(is_what.st_mode) else "no regular file"
            yield f"{path.relative_to(folder)} is {kind}: it is never read"
        elif is_what.st_nlink > 1:
            yield f"{path.relative_to(folder)} has {is_what.st_nlink} names: it is never read"


def _contents(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """A file that waits in an outbox is a whole message (3.2)."""
    for path in _messages(folder):
        is_what = path.lstat()
        if not stat.S_ISREG(is_what.st_mode) or now_ms - is_what.st_mtime_ns // 1_000_000 < SETTLE_MS:
            continue
        if is_what.st_size > MESSAGE_BYTES_MAX:
            yield f"{path.relative_to(folder)} has {is_what.st_size} bytes, above {MESSAGE_BYTES_MAX}: it is never read"
            continue
        yield from (f"{path.relative_to(folder)} {fault}" for fault in _faults(path.read_bytes(), folder))


def _faults(data: bytes, folder: Path) -> Iterator[str]:
    message = parsed(data)
    if not data:
        yield "is empty: it fails as empty"
    elif message is None:
        yield f"is no message: it fails as malformed ({data[:60]!a})"
    elif not message.is_whole:
        yield "has another body than its CHECKSUM says: it fails as checksum_mismatch"
    elif message.attachment is not None:
        path = folder / "attachments" / message.attachment[:2] / message.attachment
        if not path.is_file() or path.is_symlink():
            yield f"refers to an attachment that is not there: {message.attachment}"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != message.attachment:
            yield f"refers to an attachment whose content has another hash: {message.attachment}"


def _ledger(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Rows and files tell the same (2.1)."""
    for row in db.execute("SELECT message_id, file_path, status, direction, retry_count, last_error FROM messages"):
        path = folder / row["file_path"]
        if row["status"] not in ("pending", "processing", "completed", "failed", "archived"):
            yield f"{row['message_id']} has status {row['status']!r}, which is none"
        if row["direction"] == "outbox" and row["status"] == "pending" and not path.exists():
            yield f"{row['message_id']} is pending, and its file is gone: {row['file_path']}"
        if row["status"] == "archived" and not list((folder / "archive").glob(f"*/*/{path.name}*")):
            yield f"{row['message_id']} is archived, and not in the archive (or its day was removed)"
        if row["status"] == "failed" and not row["last_error"]:
            yield f"{row['message_id']} failed, and nobody says why"


def _half_files(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    """Files that nobody has finished (6.1)."""
    half = [
        str(path.relative_to(folder))
        for path in folder.glob("agents/*/outbox/.pending/*")
        if now_ms - path.lstat().st_mtime_ns // 1_000_000 > HALF_MS
    ]
    if half:
        yield f"nobody has finished {some(half)}: an orchestrator deletes what is older than 30 s"


def _left_over(db: sqlite3.Connection, folder: Path, now_ms: int) -> Iterator[str]:
    processing = [row[0] for row in db.execute("SELECT message_id FROM messages WHERE status = 'processing'")]
    if processing:
        yield f"in hand: {some(processing)}; without an orchestrator that runs, the next one takes them up"
    failed = db.execute(
        "SELECT substr(last_error, 1, instr(last_error || ':', ':') - 1), count(*) FROM messages "
        "WHERE status = 'failed' GROUP BY 1"
    )
    for reason, count in failed:
        yield f"{count} failed: {reason}"


def _entries(folder: Path) -> list[Path]:
    return sorted(folder.iterdir()) if folder.is_dir() else []


def _messages(folder: Path) -> list[Path]:
    """All entries of the outboxes that end in .msg, of any kind."""
    homes = [path for path in _entries(folder / "agents") if path.is_dir() and not path.is_symlink()]
    outboxes = [home / "outbox" for home in homes if not (home / "outbox").is_symlink()]
    return [path for outbox in outboxes for path in _entries(outbox) if re.search(r"\.msg$", path.name)]


def _is_open(path: Path) -> bool:
    is_what = path.lstat()
    return not stat.S_ISLNK(is_what.st_mode) and bool(is_what.st_mode & 0o077)


ODDITIES = (_permissions, _names, _kinds, _contents, _ledger)
NOTES = (_half_files, _left_over)
