"""The second pair of eyes: the facts of the files, read in a process that may die of it."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from buschaos.inspector import Inspector
from buschaos.subjects.worker import files


def store(folder: Path) -> Path:
    """A folder with a database of two messages."""
    with closing(sqlite3.connect(folder / "bus.db")) as connection, connection:
        connection.execute("CREATE TABLE messages (seq INTEGER PRIMARY KEY, id TEXT)")
        connection.executemany("INSERT INTO messages VALUES (?, ?)", [(1, "a"), (3, "b")])
    return folder


def test_it_tells_the_log_and_its_health(tmp_path: Path) -> None:
    """Seq and id, and SQLite's judgement."""
    with Inspector("worker") as eyes:
        facts = eyes.look(store(tmp_path))
    assert (facts["integrity"], facts["log"]) == ("ok", [[1, "a"], [3, "b"]])


def test_an_empty_folder_is_no_problem(tmp_path: Path) -> None:
    """A bus need not keep its store in the seed's files."""
    with Inspector("worker") as eyes:
        facts = eyes.look(tmp_path)
    assert facts == {"integrity": None, "log": None, "blobs": {}, "lines": None, "bad_lines": [], "torn_workers": []}


def test_a_file_that_is_no_database_is_told(tmp_path: Path) -> None:
    """As a fact, not an exception."""
    (tmp_path / "bus.db").write_bytes(b"not a database" * 100)
    assert "cannot be read" in files.facts(tmp_path)["integrity"]


def test_a_damaged_page_is_told(tmp_path: Path) -> None:
    """By integrity_check, or by not being readable."""
    database = store(tmp_path) / "bus.db"
    data = bytearray(database.read_bytes())
    data[4096:4196] = b"\xff" * 100
    database.write_bytes(data)
    assert files.facts(tmp_path)["integrity"] != "ok"


def test_blobs_are_held_against_their_names(tmp_path: Path) -> None:
    """Temporary files do not count."""
    (tmp_path / "blobs").mkdir()
    good = f"sha256-{hashlib.sha256(b'data').hexdigest()}"
    for name in (good, "sha256-00", ".tmp-1"):
        (tmp_path / "blobs" / name).write_bytes(b"data")
    assert files.facts(tmp_path)["blobs"] == {good: "ok", "sha256-00": "corrupt"}


@pytest.mark.parametrize("bad", ['{"seq": 2, "id": "b"}', '{"seq": 2\n', "[]\n", '{"id": "b"}\n'])
def test_only_whole_lines_are_lines(tmp_path: Path, bad: str) -> None:
    """A torn tail, half an object, another shape."""
    (tmp_path / "bus.jsonl").write_text('{"seq": 1, "id": "a"}\n' + bad)
    facts = files.facts(tmp_path)
    assert facts["lines"] == [(1, "a")]
    assert len(facts["bad_lines"]) == 1


def test_torn_workers_are_told(tmp_path: Path) -> None:
    """workers/NAME.json holds an object or is torn."""
    (tmp_path / "workers").mkdir()
    (tmp_path / "workers" / "good.json").write_text(json.dumps({"state": "WORKING"}))
    (tmp_path / "workers" / "torn.json").write_text('{"state": "WOR')
    assert files.facts(tmp_path)["torn_workers"] == ["torn.json"]


def test_death_of_the_looker_is_a_finding_and_the_next_look_works(tmp_path: Path) -> None:
    """SIGBUS from a damaged -shm file must not end the run."""
    with Inspector("worker") as eyes:
        eyes.look(tmp_path)
        assert eyes._process is not None
        os.kill(eyes._process.pid, signal.SIGKILL)
        assert "exit status -9" in eyes.look(tmp_path)["died"]
        assert eyes.look(store(tmp_path))["integrity"] == "ok"
