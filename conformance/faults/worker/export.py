"""Faults of worker, export."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import sqlite3
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from plant import fault, patch, reword, rewrite, wrap

from refbus.kernel import jsonl
from refbus.kernel.db import Database
from refbus.kernel.errors import Busy
from refbus.kernel.files import write_all
from refbus.kernel.jsonl import JsonlFile
from refbus.worker import bus, export
from refbus.worker.bus import WorkerBus
from refbus.worker.export import Export
from refbus.worker.message import as_row

CONTROL = "export.lines"


def appended_after(bus: WorkerBus, last: int) -> dict[str, Any]:
    """An export as the seed has it (W7): what comes after this seq is appended, and then remembered."""
    rows = bus.db.rows("SELECT * FROM messages WHERE seq > ? ORDER BY seq", (last,))
    with (bus.folder / "bus.jsonl").open("a") as file:
        for row in rows:
            file.write(json.dumps(as_row(row)) + "\n")
    last = rows[-1][0] if rows else last
    bus.db.write("UPDATE export_state SET last_seq = ?", (last,))
    return {"last_seq": last}


@fault("worker.export.14")
def a_rotated_file_is_written_again():
    """Where bus.jsonl was moved away, everything is exported again."""

    wrap(JsonlFile, bring_up_to_date=lambda whole, self, exported_to=0: whole(self))


@fault("worker.export.01", control="log.fields", item="corpus:another_program_acknowledges")
def archived_are_not_exported():
    """A message that was archived before it was exported is never exported."""
    reword(export, "_NEXT_ROWS", "archived_messages", "messages", "UNION ALL", "UNION")


@fault(
    "worker.log.66",
    chaos={
        "holds": True,
        "only": "export_to_jsonl",
        "against": "the same by another, after a death in it",
        "twice": 1000,
    },
)
def breaks_a_stale_lock():
    """A lock file whose maker is dead is removed, and made anew: two that both saw the dead one remove each other's."""

    @contextlib.contextmanager
    def locked(self: JsonlFile) -> Iterator[None]:
        """A link that names its maker: made whole or not at all."""
        path = Path(f"{self._lock_path}.made")
        for _ in range(20):
            try:
                path.symlink_to(str(os.getpid()))
                break
            except FileExistsError:
                if is_alive(path):
                    time.sleep(0.01)
                else:
                    path.unlink(missing_ok=True)
        else:
            raise Busy("another exporter holds the lock")
        yield
        path.unlink(missing_ok=True)

    def is_alive(path: Path) -> bool:
        """Does its maker live?"""
        try:
            os.kill(int(path.readlink().name), 0)
        except (ProcessLookupError, FileNotFoundError):
            return False
        return True

    def at_the_end(fd: int, data: bytes) -> None:
        """As a file that is opened for appending."""
        os.lseek(fd, 0, os.SEEK_END)
        write_all(fd, data)

    patch(JsonlFile, locked=locked)
    patch(jsonl, write_all=at_the_end)


@fault("worker.export.07", item="corpus:06120")
class ExportCountsLines(WorkerBus):
    """The last exported seq is the number of lines."""

    def export_to_jsonl(self) -> dict[str, Any]:
        path = self.folder / "bus.jsonl"
        return appended_after(self, len(path.read_text().splitlines()) if path.exists() else 0)


@fault("worker.export.06", item="corpus:another_program_acknowledges")
class ExportForgetsItsState(WorkerBus):
    """export_state is not written."""

    def export_to_jsonl(self) -> dict[str, Any]:
        reply = super().export_to_jsonl()
        self.db.write("UPDATE export_state SET last_seq = 0")
        return reply


@fault("worker.export.10")
class ExportersDoNotWait(WorkerBus):
    """Exporters read the new messages, and then append them, without a lock."""

    def export_to_jsonl(self) -> dict[str, Any]:
        return appended_after(self, self.db.row("SELECT last_seq FROM export_state")[0])


@fault("worker.export.03", control="export.blob_references")
class ExportsBackwards(WorkerBus):
    """Each export writes its newest message first."""

    def export_to_jsonl(self) -> dict[str, Any]:
        reply = super().export_to_jsonl()
        path = self.folder / "bus.jsonl"
        path.write_text("".join(path.read_text().splitlines(keepends=True)[::-1]))
        return reply


@fault("worker.export.02", control="export.in_turn")
def exports_bare_ids():
    """A line holds seq and id only."""
    patch(export, _line=lambda row: json.dumps({"seq": row[0], "id": row[1]}) + "\n")


@fault("worker.export.05", "worker.export.11", control="export.blob_references")
class ExportsEverythingAgain(WorkerBus):
    """Every export writes the whole log."""

    def export_to_jsonl(self) -> dict[str, Any]:
        return appended_after(self, 0)


@fault("worker.export.08", "worker.export.09", item="corpus:06228+exports_after_harm")
class ExportsInTwoSteps(ExportersDoNotWait):
    """Append, then remember: the seed's own export (W7)."""


@fault("worker.export.01", "worker.export.13", control="export.blob_references")
def exports_only_broadcasts():
    """Addressed messages are not exported."""
    reword(export, "_NEXT_ROWS", "WHERE seq > :last", "WHERE to_agent IS NULL AND seq > :last")


@fault("worker.export.04")
class ExportsResolvedPayloads(WorkerBus):
    """Blob references are resolved in the export."""

    def export_to_jsonl(self) -> dict[str, Any]:
        reply = super().export_to_jsonl()
        path = self.folder / "bus.jsonl"
        rows = [json.loads(line) for line in path.read_text().splitlines()]
        for row in rows:
            if row["payload_ref"]:
                row["payload"], row["payload_ref"] = self.blobs.load_text(row["payload_ref"]), None
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return reply


@fault("worker.export.12", control="cursor.poll_does_not_advance", chaos={"points": True, "only": "export_to_jsonl"})
class ExportsThenRecords(WorkerBus):
    """The seed's own export (W7). The file grows, then the database hears of it: a kill doubles lines."""

    # Appends the messages that `export_state` lacks.

    def export_to_jsonl(self) -> dict[str, Any]:
        (last_seq,) = self.db.row("SELECT last_seq FROM export_state WHERE id = 1")
        rows = self.db.rows("SELECT seq, id, payload FROM messages WHERE seq > ? ORDER BY seq", (last_seq,))
        with open(self.folder / "bus.jsonl", "a", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(dict(zip(("seq", "id", "payload"), row, strict=True))) + "\n")
        if rows:
            time.sleep(0.005)  # as on a slow disk
            last_seq = rows[-1][0]
            self.db.write("UPDATE export_state SET last_seq = ? WHERE id = 1", (last_seq,))
        return {"last_seq": last_seq}


@fault("worker.export.12", chaos={"points": True, "only": "export_to_jsonl"})
def joins_torn_lines():
    """The next export goes on where a torn line ends: two half lines become one that is none."""

    def no_repair(self: JsonlFile, fd: int) -> tuple[int, int]:
        """The size as it is; the last seq that a whole line tells."""
        last_seq = 0
        for line in Path(self._path).read_bytes().splitlines():
            with contextlib.suppress(ValueError, KeyError, TypeError):
                last_seq = json.loads(line)["seq"]
        return os.fstat(fd).st_size, last_seq

    patch(JsonlFile, _repair=no_repair)


@fault("worker.export.12", chaos={"points": True, "only": "export_to_jsonl"})
def leaves_its_lock_file():
    """The lock of an export is a file that its maker removes. A killed maker leaves it for ever."""

    @contextlib.contextmanager
    def locked(self: JsonlFile) -> Iterator[None]:
        """Made by the process that comes first."""
        path = f"{self._lock_path}.made"
        for _ in range(50):
            try:
                os.close(os.open(path, os.O_CREAT | os.O_EXCL))
                break
            except FileExistsError:
                time.sleep(0.01)
        else:
            raise Busy("another exporter holds the lock")
        yield
        os.unlink(path)

    patch(JsonlFile, locked=locked)


@fault("worker.export.15", "worker.log.65", chaos={"power": 60})
def lines_before_rows():
    """The export makes lines durable whose rows are not. A power cut takes these back, and seqs are given again."""
    patch(Database, make_durable=lambda self: None)


@fault("worker.export.16")
class LocksOnlyWhileItReads(WorkerBus):
    """The lock is given back before the lines are written: an exporter that waited reads the same messages."""

    def export_to_jsonl(self) -> dict[str, Any]:
        with JsonlFile(self.folder / "bus.jsonl", self.folder / "export.lock", None).locked():
            (last,) = self.db.row("SELECT last_seq FROM export_state")
            rows = self.db.rows("SELECT * FROM messages WHERE seq > ? ORDER BY seq", (last,))
        time.sleep(0.02)  # a slow disk
        with (self.folder / "bus.jsonl").open("a") as file:
            file.writelines(json.dumps(as_row(row)) + "\n" for row in rows)
        last = rows[-1][0] if rows else last
        self.db.write("UPDATE export_state SET last_seq = max(last_seq, ?)", (last,))
        return {"last_seq": last}


@fault(
    "worker.log.66",
    chaos={"holds": True, "only": "export_to_jsonl", "against": "a publish, an export, and bus.jsonl is moved away"},
)
def looks_before_it_has_the_lock():
    """The number of the last exported line is read before the lock: an exporter that waited goes on from an old one."""
    rewrite(
        export.Export.export_to_jsonl,
        """\
        with file.locked():
            stated, given = self._store.db.row(_STATED_AND_GIVEN)
""",
        """\
        stated, given = self._store.db.row(_STATED_AND_GIVEN)
        with file.locked():
""",
    )


@fault("worker.log.66", chaos={"holds": True, "only": "export_to_jsonl"})
def loses_its_lock():
    """The export's lock belongs to the process, and is lost when a second descriptor of its file is closed."""

    @contextlib.contextmanager
    def locked(self: JsonlFile) -> Iterator[None]:
        """Locks, then looks who it is."""
        with open(self._lock_path, "a+", encoding="utf-8") as file:
            fcntl.lockf(file, fcntl.LOCK_EX)
            Path(self._lock_path).read_text(encoding="utf-8")
            yield

    def at_the_end(fd: int, data: bytes) -> None:
        """As a file that is opened for appending."""
        os.lseek(fd, 0, os.SEEK_END)
        write_all(fd, data)

    patch(JsonlFile, locked=locked)
    patch(jsonl, write_all=at_the_end)


@fault("worker.log.66", chaos={"holds": True, "only": "export_to_jsonl", "against": "a publish and an export"})
def notes_without_the_lock():
    """The number of the last exported line is noted when the lock was given back: a slow exporter sets it back."""
    WAS = """\
            if stated != last_seq:
                file.make_durable()
                self._store.db.write("""
    rewrite(export.Export.export_to_jsonl, WAS, textwrap.indent(textwrap.dedent(WAS), " " * 8))


@fault("worker.export.02", control="log.fields", item="corpus:another_program_acknowledges")
def payloads_are_null():
    """Every line of the export has a payload of null."""
    _line = export._line
    patch(export, _line=lambda row: _line((*row[:-2], None, row[-1])))


@fault("worker.export.12", control="log.fields", chaos={"points": True, "only": "export_to_jsonl"})
def reads_a_copy():
    """The export reads a copy of the database file. Messages still in the log beside it are missing."""

    class ReadsACopy(Export):
        """Copies the file, as a backup would."""

        def lines_after(self, last_seq: int) -> tuple[list[str], int]:
            copy = self._store.folder / "export.copy"
            shutil.copyfile(self._store.folder / "bus.db", copy)
            with contextlib.closing(sqlite3.connect(copy)) as connection:
                try:
                    (newest,) = connection.execute("SELECT coalesce(max(seq), 0) FROM messages").fetchone()
                except sqlite3.Error:
                    newest = 0
            copy.unlink()
            lines, upto = super().lines_after(last_seq)
            return (lines, upto) if newest > last_seq else ([], last_seq)

    patch(bus, Export=ReadsACopy)


@fault("worker.log.66", chaos={"holds": True, "twice": 24, "only": "export_to_jsonl"})
def removes_its_lock():
    """The lock's file is removed after each export: an exporter that waits has the old one, a later one makes a new
    one.
    """
    locked = JsonlFile.locked

    @contextlib.contextmanager
    def locked_and_removed(self: JsonlFile) -> Iterator[None]:
        with locked(self):
            yield
            self._lock_path.unlink(missing_ok=True)

    patch(JsonlFile, locked=locked_and_removed)


@fault(
    "worker.log.66",
    chaos={
        "holds": True,
        "only": "export_to_jsonl",
        "against": "an export, a publish, and an export later",
        "twice": 24,
    },
)
def removes_the_exports_lock():
    """The file of the export's lock is removed when it is given back: one that waited and a newcomer are both
    inside.
    """
    _locked = JsonlFile.locked

    @contextlib.contextmanager
    def locked(self: JsonlFile) -> Iterator[None]:
        """And tidies up."""
        with _locked(self):
            yield
            self._lock_path.unlink(missing_ok=True)

    patch(JsonlFile, locked=locked)


@fault("worker.export.12", control="log.fields", chaos={"points": True, "only": "export_to_jsonl"})
class WritesAllAgain(WorkerBus):
    """Each export empties the file and writes it from the start. A kill between leaves readers nothing."""

    # Truncates first.

    def export_to_jsonl(self) -> dict[str, Any]:
        rows = self.db.rows(
            "SELECT seq, id, payload FROM messages UNION SELECT seq, id, payload FROM archived_messages ORDER BY seq"
        )
        with open(self.folder / "bus.jsonl", "w", encoding="utf-8") as file:
            for row in rows:
                file.write(json.dumps(dict(zip(("seq", "id", "payload"), row, strict=True))) + "\n")
        last_seq = rows[-1][0] if rows else 0
        self.db.write("INSERT OR REPLACE INTO export_state (id, last_seq) VALUES (1, ?)", (last_seq,))
        return {"last_seq": last_seq}
