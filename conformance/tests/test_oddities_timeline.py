"""The doctor finds what is odd in a timeline.db, and nothing in a sound one."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet, reference
from busproof.oddities import timeline
from busproof.play.scenarios.timeline.common import request


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three messages and an answer on main, two of them forked, by the reference."""
    store = tmp_path_factory.mktemp("store")
    fleet = Fleet([reference("timeline")], system="timeline")
    door = fleet.door(0, store, {})
    for n in range(3):
        door.call("send", {"key": request(n, timeline="my_main"), "payload": n})
    door.call("fetch", {"filter": {"type": "request"}})
    door.call("reply", {"key": request(1, timeline="my_main"), "payload": "one"})
    fork = {"timeline": "b.c", "submission": "s", "agent_name": "a", "parent": "my_main", "at": 2}
    door.call("fork", fork)
    fleet.give_back(door, retired=False)
    fleet.close()
    return store / "timeline.db"


def findings_of(path: Path, *changes: str, into: Path, now_ms: int = 0) -> list[str]:
    """The findings of all looks at a changed copy."""
    copy = into / "timeline.db"
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as db:
        source.backup(db)
        for change in changes:
            db.execute(change)
        db.commit()
        db.row_factory = sqlite3.Row
        looks = (*timeline.ODDITIES, *timeline.NOTES)
        return [text for look in looks for text in look(db, into, now_ms)]


def test_a_sound_record_has_nothing_odd(written: Path, tmp_path: Path) -> None:
    assert findings_of(written, into=tmp_path) == []


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            "UPDATE messages SET payload = '7' WHERE number = 2",
            "message 2 of timeline my_main is not what was recorded",
        ),
        ("DELETE FROM messages WHERE number = 2", "message 3 of timeline my_main follows number 1"),
        ("DELETE FROM messages WHERE number = 4", "timeline my_main says that it ends at 4"),
        ("UPDATE timelines SET at = 9 WHERE parent IS NOT NULL", "a fork beyond the end of its parent"),
        ("UPDATE timelines SET parent = 'x' WHERE parent IS NOT NULL", "a fork of a timeline that is not there"),
        ("UPDATE messages SET hash = 'x' WHERE number = 2", "a fork that does not follow its parent's hash"),
        ("UPDATE messages SET type = 'invoke' WHERE number = 1", "of another type"),
        ("DELETE FROM timelines WHERE parent IS NULL", "a message of a timeline that is not in timelines"),
        ("UPDATE deliveries SET position = 99", "a delivery of a message that is not there"),
        ("DELETE FROM consumers", "a delivery beyond what its consumer was handed"),
        ("UPDATE messages SET time_us = 5 WHERE number = 2", "time goes back"),
    ],
)
def test_each_oddity_is_told(written: Path, tmp_path: Path, change: str, words: str) -> None:
    findings = findings_of(written, change, into=tmp_path)
    assert any(words in text for text in findings), findings


def test_overdue_work_is_a_note(written: Path, tmp_path: Path) -> None:
    (note,) = findings_of(written, into=tmp_path, now_ms=2**45)
    assert "1 messages of consumer" in note and "overdue" in note
