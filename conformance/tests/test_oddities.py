"""`busproof doctor --bus sqlite:…` on a messages.db: each sickness is told by its name, and health is silent."""

import json
import shutil
import sqlite3
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from busproof.bus.base import Door
from busproof.bus.fleet import Fleet, reference
from busproof.contract.common import T0_MS
from busproof.oddities.examine import examine

DAY_MS = 24 * 3_600_000
ARTIFACT = ".claude/artifacts/bob/t/result.json"


def messages_db(project: Path) -> Path:
    """Where the seed has it."""
    return project / ".claude" / "communications" / "messages.db"


@pytest.fixture(scope="module", params=[reference("comms"), "sqlite:"], ids=["reference", "participant"])
def healthy(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project after some work: waiting, in hand, done, failed, dead, shared; an artifact where the bus has them."""
    return worked_on(request.param, tmp_path_factory.mktemp("healthy"))


@pytest.fixture
def project(healthy: Path, tmp_path: Path) -> Path:
    """A copy, to fall ill."""
    return Path(shutil.copytree(healthy, tmp_path / "project"))


def worked_on(bus: str, folder: Path) -> Path:
    """A project that a bus worked on."""
    fleet = Fleet([bus], system="comms")
    door = fleet.door(0, folder, {})
    _work(door, is_whole=bus == reference("comms"))
    fleet.give_back(door, retired=False)
    fleet.close()
    return folder


def _work(door: Door, is_whole: bool) -> None:
    now_ms = T0_MS
    door.call("clock.set", {"now_ms": now_ms})

    def send(**more: object) -> str:
        message = {"from_agent": "ada", "message_type": "note", "payload": {"n": 1}, **more}
        return str(door.call("send_message", message)["message_id"])

    def end(name: str, agent: str = "bob", **more: object) -> None:
        door.call("claim_message", {"agent_id": agent, "message_id": name})
        door.call("complete_message", {"agent_id": agent, "message_id": name, **more})

    dead = send(to_agent="bob")
    for _ in range(3):
        end(dead, error="no such tool")
        now_ms += 10_000
        door.call("clock.set", {"now_ms": now_ms})
    send(to_agent="bob")
    end(send(to_agent="bob"))
    end(send(to_agent="bob"), error="later")
    end(send(), agent="cy")
    door.call("claim_message", {"agent_id": "bob", "message_id": send(to_agent="bob")})
    if is_whole:
        content = {"agent_id": "bob", "task_id": "t", "content": {"n": 1}}
        path = door.call("write_artifact", content)["artifact_path"]
        send(to_agent="ada", payload={"artifact_path": path})
        for agent in ("ada", "bob", "cy"):
            door.call("send_heartbeat", {"agent_id": agent, "status": "active"})


def examined(path: Path, capsys: pytest.CaptureFixture[str], now_ms: int = T0_MS + 31_000) -> tuple[int, list[str]]:
    """Exit code, and the oddities and notes except that about SQLite's version."""
    code = examine(path, now_ms=now_ms)
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  ")]
    return code, [line for line in lines if "WAL-reset" not in line]


def test_a_busy_project_has_nothing_odd(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Work under way is no sickness; the dead letter is worth a note."""
    code, lines = examined(project, capsys)
    notes = [line for line in lines if "never sent a heartbeat" not in line]
    assert code == 0, lines
    assert len(notes) == 1 and "dead letters: 1 of 'no such tool'" in notes[0]


def test_the_file_its_folder_and_the_project_are_one(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Any of the three may be named; the tables tell the system."""
    seen = [examined(path, capsys) for path in (project, messages_db(project), messages_db(project).parent)]
    assert seen[0] == seen[1] == seen[2]
    copy = project / "as the mail brought it.bin"
    copy.write_bytes(messages_db(project).read_bytes())
    examine(copy)
    assert "as a comms bus" in capsys.readouterr().out


def test_what_nobody_takes_up_is_stuck(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Half an hour later: a claim whose holder died, and a failure that is due."""
    code, lines = examined(project, capsys, T0_MS + DAY_MS // 48)
    assert code == 1
    for status in ("processing", "failed"):
        (line,) = [line for line in lines if f"stuck in {status}" in line]
        assert "to bob, 1 (" in line
    assert any("agent bob" in line and "messages wait for it" in line for line in lines)


def test_what_expired_is_a_note(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A day later all of it is past its TTL: for the clean-up, and not stuck."""
    code, lines = examined(project, capsys, T0_MS + DAY_MS)
    assert code == 0, lines
    assert any("past their TTL and were not cleaned up" in line for line in lines)


def sql(statement: str) -> Callable[[Path], None]:
    """A sickness of the database."""

    def infect(project: Path) -> None:
        with closing(sqlite3.connect(messages_db(project), isolation_level=None)) as db:
            db.executescript(statement)

    return infect


def file(name: str, text: str) -> Callable[[Path], None]:
    """A sickness beside the database."""

    def infect(project: Path) -> None:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(text)

    return infect


def link(project: Path) -> None:
    """An artifact that is somebody else's file."""
    (project / ".claude/artifacts/mallory").symlink_to("/etc")


def row(payload: str = "{}", at: str = "2026-01-10T14:00:00.000000Z", status: str = "pending") -> str:
    """A message x, as a stranger may insert it."""
    return (
        "INSERT INTO messages (id, type, version, timestamp, from_agent, channel, payload, created_at, status)"
        f" VALUES ('x', 't', '1.0', '{at}', 'a', 'c', '{payload}', '{at}', '{status}')"
    )


SICK: dict[str, tuple[Callable[[Path], None], str]] = {
    "version": (file(".claude/communications/protocol_version.txt", "2.0"), "protocol_version.txt says '2.0'"),
    "index": (sql("DROP INDEX idx_ready_messages"), "index idx_ready_messages is missing"),
    "table": (sql("DROP TABLE dead_letter_queue"), "table dead_letter_queue is missing"),
    "column": (sql("ALTER TABLE agent_status ADD COLUMN mood TEXT"), "table agent_status has columns"),
    "journal": (sql("PRAGMA journal_mode = DELETE"), "not a write-ahead log"),
    "payload": (sql(row("[1]")), "1 (x): payload is no JSON object"),
    "no JSON": (sql(row("{no")), "1 (x): payload is no JSON object"),
    "priority": (sql("UPDATE messages SET priority = 'high' WHERE to_agent IS NULL"), "priority is no integer"),
    "status": (sql(row(status="new")), "status is not one of the seed's"),
    "local time": (sql("UPDATE messages SET timestamp = replace(timestamp, 'T', ' ')"), "not ISO 8601 with T and Z"),
    "precision": (sql(row(at="2026-01-10T14:00:00Z")), "not in the order of time (C7)"),
    "taken broadcast": (sql("UPDATE messages SET status = 'done' WHERE to_agent IS NULL"), "took from all the others"),
    "seed's failure": (
        sql(
            "UPDATE messages SET last_delivered_at = '2026-01-10T13:00:00Z' WHERE status = 'failed';"
            " DELETE FROM message_deliveries WHERE status = 'failed'"
        ),
        "stuck in failed since 2026-01-10T13",
    ),
    "not buried": (
        sql("UPDATE message_deliveries SET failures = 3 WHERE status = 'failed'"),
        "and no dead letter (C1)",
    ),
    "orphan": (
        sql("INSERT INTO message_deliveries VALUES ('gone', 'a', 'done', 1, 0, '', NULL)"),
        "messages that are gone: 1 (gone)",
    ),
    "both": (sql("UPDATE dead_letter_queue SET id = (SELECT max(id) FROM messages)"), "dead letters at once"),
    "letter": (sql("UPDATE dead_letter_queue SET original_message = '{'"), "nobody can send it again: 1"),
    "counter": (
        sql("UPDATE agent_status SET messages_pending = 7 WHERE agent_id = 'bob'"),
        "messages_pending of bob is 7, and 1",
    ),
    "no row": (sql("DELETE FROM agent_status WHERE agent_id = 'bob'"), "messages wait for bob"),
    "torn": (file(ARTIFACT, '{"n": '), "the artifact bob/t/result.json is torn"),
    "scratch": (file(".claude/artifacts/bob/t/result.json.tmp", "{"), "writers that died: 1 (bob/t/result.json.tmp)"),
    "link": (link, "mallory is a symbolic link, to /etc"),
    "outside": (
        sql("UPDATE messages SET payload = json_object('artifact_path', '.claude/artifacts/../../x')"),
        "outside of the artifacts (C9)",
    ),
    "missing": (
        sql("UPDATE messages SET payload = json_object('artifact_path', '.claude/artifacts/a/t/r.json')"),
        "refers to .claude/artifacts/a/t/r.json, which is not there",
    ),
}


@pytest.mark.parametrize("name", SICK)
def test_each_sickness_is_told(name: str, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 and its name; and the database stays as it was."""
    infect, says = SICK[name]
    infect(project)
    before = messages_db(project).read_bytes()
    code, lines = examined(project, capsys)
    assert code == 1
    assert any(says in line and line.startswith("  ODD") for line in lines), lines
    assert messages_db(project).read_bytes() == before


def test_a_broken_page_is_told(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Overwritten in the middle; and a file that is no database at all."""
    sql("PRAGMA wal_checkpoint(TRUNCATE)")(project)
    path = messages_db(project)
    path.write_bytes(path.read_bytes()[:4096] + b"\xff" * (path.stat().st_size - 4096))
    code, lines = examined(project, capsys)
    assert code == 1
    assert any("integrity" in line or "cannot be read" in line for line in lines)
    path.write_text("no database, but long enough that SQLite would read a header of it" * 20)
    code, lines = examined(project, capsys)
    assert (code, "cannot be read" in lines[0]) == (1, True)


def test_a_view_in_the_place_of_a_table_is_told_and_not_followed(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It may have no end."""
    endless = "WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n) SELECT id FROM n"
    with closing(sqlite3.connect(messages_db(project))) as db:
        db.execute("ALTER TABLE messages RENAME TO old")
        db.execute(f"CREATE VIEW messages AS {endless}")
    assert examine(messages_db(project)) == 1
    assert "1 (messages) are views" in capsys.readouterr().out


def test_an_empty_bucket_and_one_of_tomorrow_are_notes(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Buckets in the file, as the reference keeps them."""
    create = "CREATE TABLE IF NOT EXISTS token_buckets (agent_id TEXT PRIMARY KEY, tokens REAL, at_us INTEGER);"
    at = (T0_MS + 31_000) * 1_000
    sql(f"{create} INSERT INTO token_buckets VALUES ('dan', 0.4, {at}), ('eve', 0, {at + 10**10})")(project)
    code, lines = examined(project, capsys)
    assert code == 0
    assert any("the bucket of dan is empty (0.40 tokens)" in line for line in lines)
    assert any("the bucket of eve was filled 10000 s in the future" in line for line in lines)


def test_dead_letters_are_counted_by_their_reason(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The most frequent first."""
    letters = "".join(
        f"INSERT INTO dead_letter_queue VALUES ('{n}', '{json.dumps({})}', 'reason {n % 7}', '2026', 3);"
        for n in range(20)
    )
    sql(letters)(project)
    _, lines = examined(project, capsys)
    reasons = [line for line in lines if "dead letters" in line]
    assert "3 of 'reason 0'" in reasons[0]
    assert "3 more reasons" in reasons[-1]


def test_the_naive_bus_shows_its_faults(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The naive bus's store, without an extra table: a dead claimer's message and a failed one are stuck for ever."""
    adapter = Path(__file__).parents[1] / "examples" / "naive_comms" / "adapter.py"
    project = worked_on(f"exec:{sys.executable} {adapter}", tmp_path)
    code, lines = examined(project, capsys, T0_MS + DAY_MS)
    assert code == 1
    for says in (
        "stuck in processing",
        "stuck in failed",
        "took from all the others: 1",
        "messages wait for bob, which has no row",
    ):
        assert any(says in line for line in lines), (says, lines)
