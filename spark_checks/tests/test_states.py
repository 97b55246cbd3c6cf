"""`busproof audit` of the state that a bus left: its database, live or a copy, its folder, its export."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import nats
import pytest

from busproof.bus.base import Door
from busproof.bus.fleet import Fleet, reference
from busproof.bus.nats import NatsServer
from busproof.play.scenarios.timeline.common import request
from busspark.cli import main

Told = Callable[..., tuple[int, str]]


@pytest.fixture
def door(tmp_path: Path) -> Iterator[Door]:
    """A worker bus that is open, with ten messages, a reader, a lease and an export."""
    fleet = Fleet([reference("worker")], system="worker")
    (tmp_path / "store").mkdir()
    opened = fleet.door(0, tmp_path / "store", {})
    for number in range(10):
        opened.call("publish", {"agent_id": "ada", "message": {"type": "note", "id": f"m{number}"}})
    opened.call("ack", {"agent_id": "bob", "seq": 7})
    opened.call("try_claim_task", {"agent_id": "bob", "task_id": "t"})
    opened.call("export_to_jsonl", {})
    yield opened
    fleet.give_back(opened, retired=True)
    fleet.close()


@pytest.fixture
def audited(capsys: pytest.CaptureFixture[str]) -> Told:
    """Exit code and output of an audit."""

    def audit(*paths: object) -> tuple[int, str]:
        code = main([str(path) for path in paths])
        return code, capsys.readouterr().out

    return audit


def altered(database: Path, statement: str) -> None:
    """By a stranger's hand."""
    with closing(sqlite3.connect(database, isolation_level=None)) as db:
        db.executescript(statement)


def test_a_live_bus_is_judged_as_a_state_and_told_so(door: Door, tmp_path: Path, audited: Told) -> None:
    """Its folder, its database and its export; and nothing is left beside them."""
    store = tmp_path / "store"
    before = sorted(path.name for path in store.iterdir())
    for path in (store, store / "bus.db", store / "bus.jsonl"):
        code, out = audited(path)
        assert code == 0, out
        assert "VALID as a state" in out
        assert "without a history" in out
    assert sorted(path.name for path in store.iterdir()) == before


def test_what_is_not_committed_is_not_seen(door: Door, tmp_path: Path, audited: Told) -> None:
    """A writer in the middle of its transaction: the look is at one moment, before it."""
    with closing(sqlite3.connect(tmp_path / "store" / "bus.db", isolation_level=None)) as db:
        db.execute("BEGIN IMMEDIATE")
        db.execute("UPDATE cursors SET last_acked_seq = 99")
        assert audited(tmp_path / "store")[0] == 0
        db.execute("COMMIT")
        assert audited(tmp_path / "store")[0] == 1


SICK = {
    "a deaf agent": ("UPDATE cursors SET last_acked_seq = 99", "agent bob has acknowledged 99"),
    "a number nobody gave": ("UPDATE sqlite_sequence SET seq = 3", "above the last seq that was given"),
    "a number below 1": ("UPDATE messages SET seq = -1 WHERE seq = 1", "seqs below 1: 1 (-1)"),
    "a cursor below 0": ("UPDATE cursors SET last_acked_seq = -1", "cursors below 0: 1 (bob)"),
    "an export ahead": ("UPDATE export_state SET last_seq = 99", "beyond the last seq: 1 (99)"),
    "a lease that never was": ("UPDATE task_claims SET lease_until_ms = 1", "over before they began: 1 (t)"),
    "another message": ("UPDATE messages SET id = 'x' WHERE seq = 4", "bus.jsonl has another message: 1 (4)"),
}


@pytest.mark.parametrize("name", SICK)
def test_each_sickness_of_a_worker_is_told(name: str, door: Door, tmp_path: Path, audited: Told) -> None:
    """The verdict is invalid, with its name."""
    statement, says = SICK[name]
    altered(tmp_path / "store" / "bus.db", statement)
    code, out = audited(tmp_path / "store")
    assert code == 1
    assert says in out, out


EXPORTS: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "a line twice": (lambda lines: [*lines[:4], *lines[3:]], "seq that stand twice in bus.jsonl: 1 (4)"),
    "two lines exchanged": (lambda lines: [lines[1], lines[0], *lines[2:]], "after a higher one in bus.jsonl: 1 (1)"),
    "half a line": (lambda lines: [*lines[:3], lines[3][:9] + "\n", *lines[4:]], "line 4 of bus.jsonl is no whole"),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_each_fault_of_an_export_is_told(name: str, door: Door, tmp_path: Path, audited: Told) -> None:
    """Alone, and beside its database."""
    change, says = EXPORTS[name]
    export = tmp_path / "store" / "bus.jsonl"
    export.write_text("".join(change(export.read_text().splitlines(keepends=True))))
    for path in (export, tmp_path / "store"):
        code, out = audited(path)
        assert code == 1
        assert says in out, out


def test_a_line_that_is_on_its_way_is_no_fault(door: Door, tmp_path: Path, audited: Told) -> None:
    """The last one, not yet whole."""
    export = tmp_path / "store" / "bus.jsonl"
    export.write_text(export.read_text() + '{"seq": 11')
    assert audited(tmp_path / "store")[0] == 0


def test_a_trail_holds_each_event_once_among_the_lines_of_others(tmp_path: Path, audited: Told) -> None:
    """comms writes it, and so do hooks of the harness."""
    trail = tmp_path / "audit-trail.jsonl"
    events = [json.dumps({"audit_seq": number, "event": "sent"}) for number in (1, 2, 3)]
    trail.write_text("\n".join([events[0], "a hook was here", *events[1:]]) + "\n")
    assert audited(trail)[0] == 0
    trail.write_text("\n".join([*events, events[1]]) + "\n")
    code, out = audited(trail)
    assert code == 1
    assert "audit_seq that stand twice" in out


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """A timeline of three messages in a JetStream, and the folder that names it."""
    made = NatsServer()
    (tmp_path / "config.toml").write_text(f'[queue]\nbackend = "nats"\nnats_url = "{made.url}"\n')
    with closing(Fleet([reference("timeline")], system="timeline")) as fleet:
        door = fleet.door(0, tmp_path, {})
        for number in range(3):
            door.call("send", {"key": request(number, timeline="main"), "payload": number})
        fleet.give_back(door, retired=False)
    yield made
    made.close()


async def _publish(url: str, subject: str, headers: dict[str, str]) -> None:
    connection = await nats.connect(url)
    await connection.jetstream().publish(subject, b"1", headers=headers)
    await connection.close()


def test_a_jetstream_is_judged_as_a_state(server: NatsServer, tmp_path: Path, audited: Told) -> None:
    """By its address, and by the folder that names it: sound, and after a stranger took a number that was taken."""
    for place in (server.url, tmp_path):
        code, out = audited(place)
        assert code == 0, out
        assert "as the JetStream of a timeline bus" in out
    chained = {"Timeline-Time-Us": "1", "Timeline-Previous": "0" * 64, "Timeline-Hash": "f" * 64}
    headers = {"Timeline-Number": "2", **chained}
    asyncio.run(_publish(server.url, "vlinder.main.s.invoke.h.r.a", headers))
    for place in (server.url, tmp_path):
        code, out = audited(place)
        assert code == 1, out
        assert "INVALID as a state" in out


def test_a_server_that_is_not_there_is_told_in_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing is called valid."""
    assert main(["nats://127.0.0.1:1"]) == 2
    assert capsys.readouterr().err.startswith("busproof: nats://127.0.0.1:1: ")


def test_states_and_histories_are_audited_together(
    door: Door, tmp_path: Path, audited: Told, recorded: Callable[[str], Path]
) -> None:
    """The worst verdict decides; the JSON has both."""
    out = tmp_path / "verdict.json"
    altered(tmp_path / "store" / "bus.db", "UPDATE cursors SET last_acked_seq = 99")
    assert audited(recorded("worker"), tmp_path / "store", "--out", out)[0] == 1
    report = json.loads(out.read_text())
    assert len(report["runs"]) == len(report["states"]) == 1
    assert "agent bob" in report["states"][0]["odd"][0]
