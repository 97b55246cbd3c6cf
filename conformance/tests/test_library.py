"""Doctor warns of the SQLite that wrote a file, where that version can lose what was committed."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from busproof.bus.fleet import reference
from busproof.oddities import library
from busproof.oddities.library import Version, resets_wrongly
from busproof.run.doctor import examine


@pytest.mark.parametrize(
    ("version", "is_faulty"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 40, 1), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 45, 0), True),
        ((3, 50, 6), True),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
        ((3, 53, 0), False),
    ],
)
def test_which_versions_reset_the_log_wrongly(version: Version, is_faulty: bool) -> None:
    """Two branches were repaired on their own."""
    assert resets_wrongly(version) == is_faulty


def written(path: Path, version: int, mode: str = "WAL") -> Path:
    """A database that says that this version wrote it last."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute(f"PRAGMA journal_mode = {mode}")
        db.execute("CREATE TABLE t (n)")
    with path.open("r+b") as file:
        file.seek(96)
        file.write(version.to_bytes(4, "big"))
    return path


def test_a_file_tells_who_wrote_it(tmp_path: Path) -> None:
    """Only where it has a write-ahead log; a file that is no database tells nothing."""
    assert library.writer(written(tmp_path / "a.db", 3_044_006)) == (3, 44, 6)
    assert library.writer(written(tmp_path / "b.db", 3_044_006, "DELETE")) is None
    (tmp_path / "c").write_bytes(b"SQLite format 3\0")
    assert library.writer(tmp_path / "c") is None


def test_a_file_of_a_faulty_version_is_warned_of(tmp_path: Path) -> None:
    """By its name, whatever SQLite this Python has; one of a repaired version is not."""
    old, new = written(tmp_path / "old.db", 3_051_002), written(tmp_path / "new.db", 3_051_003)
    texts = list(library.warnings([old, new]))
    assert any(text.startswith("old.db was last written by SQLite 3.51.2, which has the WAL-reset") for text in texts)
    assert not any("3.51.3," in text for text in texts)


def test_where_nothing_is_kept_in_sqlite_nobody_is_warned(tmp_path: Path) -> None:
    """Nor of the SQLite of this Python, which nobody uses there."""
    (tmp_path / "bus.log").write_bytes(b"a line\n")
    assert list(library.warnings([tmp_path / "bus.log", written(tmp_path / "rolled.db", 3_051_002, "DELETE")])) == []


def test_doctor_warns_of_what_an_adapter_writes_with(capsys: pytest.CaptureFixture[str]) -> None:
    """The reference writes with the SQLite of this Python."""
    assert examine(reference("worker"), "worker") == 0
    out = capsys.readouterr().out
    assert ("WAL-reset" in out) == resets_wrongly(sqlite3.sqlite_version_info[:3])
