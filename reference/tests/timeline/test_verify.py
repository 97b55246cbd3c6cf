"""A changed byte anywhere in the record is found."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from reference.tests.timeline.conftest import OpenBus, delegation, invoke, request

from refbus.kernel.errors import BusError, Corrupt, NotFound
from refbus.timeline.bus import TimelineBus

OLLAMA = {"type": "request", "service": "infer", "backend": "ollama"}
# All that is stored, but position: that is the order of arrival over all timelines, and only its order means anything.
COLUMNS = ["timeline", "number", "submission", "type", "subject", "nonce", "state", "payload", "time_us", "previous"]
COLUMNS += ["hash"]
HEADS = ["timeline", "parent", "at", "number", "hash"]


def grow(bus: TimelineBus) -> None:
    """A record with every type of message and two timelines."""
    bus.send(invoke(), {"ask": "what?"})
    bus.send(request(), {"q": 1})
    bus.reply(request(), {"a": 1})
    bus.send(delegation(), "task", "n1")
    bus.reply(delegation(), "done", "n1", {"k": 1})
    bus.fork("side", "s1", "ada", "main", 3)
    bus.send(request("side", sequence=2), {"q": 2})
    bus.reply(invoke(), "bye", state=[1])


def changed(value: Any, data: st.DataObject) -> Any:
    """The value with one byte changed; a number, another."""
    if isinstance(value, int):
        return value ^ (1 << data.draw(st.integers(0, 20)))
    at = data.draw(st.integers(0, len(value) - 1))
    other = data.draw(st.sampled_from("abx019.%{}\"' ").filter(lambda char: char != value[at]))
    return value[:at] + other + value[at + 1 :]


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_changed_byte_is_found_wherever_it_is(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    """In any column of any message, and of any head."""
    folder = tmp_path_factory.mktemp("tampered")
    with TimelineBus(folder) as bus:
        grow(bus)
        assert bus.verify() == {"ok": True, "checked": 8, "faults": []}
        with contextlib.closing(sqlite3.connect(folder / "timeline.db", isolation_level=None)) as db:
            table, columns = data.draw(st.sampled_from([("messages", COLUMNS), ("timelines", HEADS)]))
            column = data.draw(st.sampled_from(columns))
            rows = (
                db.execute(f"SELECT rowid, {column} FROM messages WHERE {column} IS NOT NULL").fetchall()
                if (table == "messages")
                else db.execute(f"SELECT timeline, {column} FROM timelines WHERE {column} IS NOT NULL").fetchall()
            )
            row, value = data.draw(st.sampled_from(rows))
            key = "rowid" if table == "messages" else "timeline"
            with contextlib.suppress(sqlite3.IntegrityError):  # two alike are refused by the file itself
                db.execute(f"UPDATE {table} SET {column} = ? WHERE {key} = ?", (changed(value, data), row))
                assert not bus.verify()["ok"], (table, column, row, value)


def test_a_message_that_was_taken_away_is_found(bus: TimelineBus, backend: str, store: Path) -> None:
    """In the middle by the gap, at the end by the head. JetStream: the stream denies it, so a copy is made without."""
    grow(bus)
    if backend == "sqlite":
        for number in (2, 6):
            with contextlib.closing(sqlite3.connect(store / "timeline.db", isolation_level=None)) as db:
                db.execute("DELETE FROM messages WHERE timeline = 'main' AND number = ?", (number,))
            assert not bus.verify("main")["ok"]
    else:
        rewritten(bus, lambda seq, _headers, data: None if seq == 2 else data)
        assert not bus.verify("main")["ok"]


@pytest.mark.parametrize("field", ["payload", "hash", "previous", "number", "time", "nonce", "state"])
def test_a_changed_byte_in_a_stream_is_found(bus: TimelineBus, backend: str, field: str) -> None:
    """The server guards its files; this is somebody who may write to it."""
    if backend == "sqlite":
        return  # the property above
    grow(bus)
    header = {"hash": "Hash", "previous": "Previous", "number": "Number", "time": "Time-Us", "nonce": "Nonce"}
    name = f"Timeline-{header.get(field, 'State')}"
    tampered = []

    def tamper(seq: int, headers: dict[str, str], data: bytes) -> bytes:
        if field == "payload" and seq == 2:
            return data.replace(b"1", b"2")
        if field != "payload" and name in headers and not tampered:
            tampered.append(seq)
            headers[name] = ("1" if headers[name][0] != "1" else "2") + headers[name][1:]
        return data

    rewritten(bus, tamper)
    assert not bus.verify()["ok"]


def rewritten(bus: TimelineBus, change: Callable[[int, dict[str, str], bytes], bytes | None]) -> None:
    """The stream, made anew with what `change` leaves of each message."""
    queue: Any = bus.store.queue
    kept = queue.stream.page(1, "vlinder.>")
    queue.client.ask("$JS.API.STREAM.DELETE.VLINDER", b"", 10.0)
    queue.stream.create()
    for raw in kept:
        headers = {name: value for name, value in raw.headers.items() if name.startswith("Timeline-")}
        data = change(raw.seq, headers, raw.data)
        if data is not None:
            queue.client.ask(raw.subject, data, headers=headers)


def test_the_unchanged_copy_of_a_stream_is_sound(bus: TimelineBus, backend: str) -> None:
    """So the test above finds the change, not the copy."""
    grow(bus)
    if backend == "nats":
        rewritten(bus, lambda _seq, _headers, data: data)
    assert bus.verify() == {"ok": True, "checked": 8, "faults": []}


def test_a_replay_is_every_byte_and_refuses_what_was_changed(bus: TimelineBus, backend: str, store: Path) -> None:
    """Twice the same, equal to the log; and no damaged byte is played."""
    grow(bus)
    replayed = bus.replay("main", "s1")
    assert replayed == bus.replay("main", "s1")
    assert replayed["messages"] == bus.log("main", "s1")["messages"]
    assert replayed["complete"] == bus.log("main")["messages"][-1]
    if backend == "sqlite":
        with contextlib.closing(sqlite3.connect(store / "timeline.db", isolation_level=None)) as db:
            db.execute("UPDATE messages SET payload = '{\"q\": 2}' WHERE subject LIKE '%.req.%' AND number = 2")
        with pytest.raises(Corrupt):
            bus.replay("main", "s1")
        assert bus.log("main")["messages"][1]["payload"] == {"q": 2}


def test_a_damaged_message_hides_no_other(bus: TimelineBus, backend: str, store: Path) -> None:
    """It says that it is damaged."""
    grow(bus)
    if backend == "sqlite":
        with contextlib.closing(sqlite3.connect(store / "timeline.db", isolation_level=None)) as db:
            db.execute("UPDATE messages SET payload = '{' WHERE number = 2")
    else:
        rewritten(bus, lambda seq, _headers, data: b"{" if seq == 2 else data)
    messages = bus.log("main")["messages"]
    assert ["payload_error" in message for message in messages] == [False, True, False, False, False, False]
    with pytest.raises(BusError):
        bus.replay("main", "s1")


def stored_as_blob(folder: Path, table: str, column: str, where: str) -> None:
    """The same bytes, and SQLite no longer calls them text, or a number."""
    with contextlib.closing(sqlite3.connect(folder / "timeline.db", isolation_level=None)) as db:
        db.execute(f"UPDATE {table} SET {column} = CAST({column} AS BLOB) WHERE {where}")


@pytest.mark.parametrize("column", ["subject", "nonce", "state", "payload", "time_us", "previous", "hash"])
def test_a_column_of_another_type_is_shown_as_text(column: str, tmp_path: Path) -> None:
    """It says that it is damaged, and hides no other; a call that would be given it as an answer is refused."""
    with TimelineBus(tmp_path) as bus:
        grow(bus)
        bus.reply(delegation(), "done", "n2", {"k": 1})
        number = 4 if column == "nonce" else 5
        before = bus.log("main")["messages"]
        stored_as_blob(tmp_path, "messages", column, f"timeline = 'main' AND number = {number}")
        for after in (bus.log("main")["messages"], json.loads(json.dumps(bus.dump()))["messages"]):
            damaged = [message["number"] for message in after if "payload_error" in message]
            assert damaged == [number] and len(after) >= len(before)
        if column in ("subject", "state", "previous", "hash"):
            assert bus.log("main")["messages"][4][column] == before[4][column]  # type: ignore[literal-required]
        if column not in ("nonce", "subject"):
            with pytest.raises(Corrupt):
                bus.reply(delegation(), "done", "n1", {"k": 1})


@pytest.mark.parametrize("column", ["timeline", "submission", "type", "subject", "payload", "previous", "time_us"])
def test_a_column_of_another_type_is_a_fault(column: str, tmp_path: Path) -> None:
    """The same bytes as a BLOB are equal to nothing: verify says so, and where a reader still sees it, refuses it."""
    with TimelineBus(tmp_path) as bus:
        grow(bus)
        stored_as_blob(tmp_path, "messages", column, "number = 2")
        verified = bus.verify()
        assert not verified["ok"]
        if column not in ("timeline", "submission", "type"):
            assert {(fault["timeline"], fault["number"]) for fault in verified["faults"]} >= {("main", 2)}
            with pytest.raises(Corrupt):
                bus.replay("main", "s1")


def test_a_number_that_is_none_has_no_place_in_the_order(tmp_path: Path) -> None:
    """All others are read; verify finds the gap."""
    with TimelineBus(tmp_path) as bus:
        grow(bus)
        stored_as_blob(tmp_path, "messages", "number", "timeline = 'main' AND number = 2")
        assert [message["number"] for message in bus.log("main")["messages"]] == [1, 3, 4, 5, 6]
        assert [message["number"] for message in bus.log("side")["messages"]] == [1, 3, 4, 5]
        assert {(fault["timeline"], fault["number"]) for fault in bus.verify()["faults"]} >= {("main", 3)}


@pytest.mark.parametrize("is_in_hands", [False, True])
def test_a_number_that_is_none_comes_to_no_worker(is_in_hands: bool, tmp_path: Path) -> None:
    """Not a second time either, if it was fetched before; the message behind it does."""
    with TimelineBus(tmp_path) as bus:
        for sequence in (1, 2):
            bus.send(request("main", sequence=sequence), sequence)
        if is_in_hands:
            held = bus.fetch(OLLAMA)["message"]
            assert held is not None and held["number"] == 1
            bus.nak(held["delivery"])
        stored_as_blob(tmp_path, "messages", "number", "timeline = 'main' AND number = 1")
        fetched = bus.fetch(OLLAMA)["message"]
        assert fetched is not None and fetched["number"] == 2


@pytest.mark.parametrize("column", HEADS)
def test_a_head_of_another_type_is_a_fault(column: str, tmp_path: Path) -> None:
    """A look at all timelines shows them; nothing is appended behind a head that nobody can read."""
    with TimelineBus(tmp_path) as bus:
        grow(bus)
        stored_as_blob(tmp_path, "timelines", column, "timeline = 'side'")
        assert len(json.loads(json.dumps(bus.timelines()))["timelines"]) == 2
        assert json.loads(json.dumps(bus.dump()))["integrity"]
        assert column in ("parent", "hash") or not json.loads(json.dumps(bus.verify()))["ok"]
        if column in ("number", "hash"):
            with pytest.raises(Corrupt):
                bus.send(request("side", sequence=9), "more")


@pytest.mark.parametrize("column", ["subject", "state"])
def test_a_damaged_result_is_nobodys_newest(column: str, tmp_path: Path) -> None:
    """The caller is not to blame. A newer one that can be read is the newest all the same."""
    ada, bob = invoke()["agent"], delegation()["target"]
    with TimelineBus(tmp_path) as bus:
        grow(bus)
        newest = bus.state("main", ada)
        with contextlib.closing(sqlite3.connect(tmp_path / "timeline.db", isolation_level=None)) as db:
            db.execute(f"UPDATE messages SET {column} = CAST('%%' AS BLOB) WHERE timeline = 'main' AND number = 5")
        assert bus.state("main", ada) == newest
        with pytest.raises(Corrupt):
            bus.state("main", bob)


def test_a_parent_that_is_no_name_hides_no_other_timeline(tmp_path: Path) -> None:
    """The caller is not to blame: there is no such timeline."""
    with TimelineBus(tmp_path) as bus:
        grow(bus)
        with contextlib.closing(sqlite3.connect(tmp_path / "timeline.db", isolation_level=None)) as db:
            db.execute("UPDATE timelines SET parent = '%%' WHERE timeline = 'side'")
    with TimelineBus(tmp_path) as bus:
        assert not bus.verify()["ok"]
        assert [row["parent"] for row in bus.dump()["timelines"] if row["timeline"] == "side"] == ["%%"]
        with pytest.raises(NotFound):
            bus.log("side")


@pytest.mark.parametrize("half", ["parent = 'side'", "at = 0", "at = 1"])
def test_half_a_fork_point_at_a_root_is_a_fault(half: str, tmp_path: Path) -> None:
    """Nobody reads it, so it hurts nobody until somebody writes the other half; it is no byte of the record."""
    with TimelineBus(tmp_path) as bus:
        grow(bus)
        with contextlib.closing(sqlite3.connect(tmp_path / "timeline.db", isolation_level=None)) as db:
            db.execute(f"UPDATE timelines SET {half} WHERE timeline = 'main'")
            for verified in (bus.verify(), bus.verify("main"), bus.verify("side")):
                assert {fault["timeline"] for fault in verified["faults"]} == {"main"}
            db.execute("UPDATE timelines SET parent = NULL, at = NULL WHERE timeline = 'main'")
        assert bus.verify()["ok"]


@pytest.mark.parametrize("parent", ["side", "below"])
def test_parents_that_go_in_a_circle_are_found_and_hang_nobody(parent: str, tmp_path: Path) -> None:
    """By a session that opens the record then, and by one that has read it before; mended, both find nothing."""
    with TimelineBus(tmp_path) as before:
        grow(before)
        before.fork("below", "s1", "ada", "side", 4)
        with contextlib.closing(sqlite3.connect(tmp_path / "timeline.db", isolation_level=None)) as db:
            db.execute("UPDATE timelines SET parent = ? WHERE timeline = 'side'", (parent,))
            with TimelineBus(tmp_path) as after:
                assert not before.verify()["ok"]
                assert not after.verify()["ok"]
                with pytest.raises(BusError):
                    after.log("below")
                db.execute("UPDATE timelines SET parent = 'main' WHERE timeline = 'side'")
                assert before.verify()["ok"]
                assert after.verify()["ok"]


@pytest.mark.parametrize("gone", ["side", "main"])
def test_messages_whose_timeline_is_gone_are_found(gone: str, tmp_path: Path) -> None:
    """Its row says where the chain ends; without it nobody would look for them."""
    with TimelineBus(tmp_path) as bus:
        grow(bus)
        with contextlib.closing(sqlite3.connect(tmp_path / "timeline.db", isolation_level=None)) as db:
            db.execute("DELETE FROM timelines WHERE timeline = ?", (gone,))
        faults = bus.verify()["faults"]
        assert (gone, "its timeline is not there") in [(fault["timeline"], fault["fault"]) for fault in faults]


def test_what_is_sent_while_somebody_verifies_is_no_fault(open_bus: OpenBus, monkeypatch: pytest.MonkeyPatch) -> None:
    """The head was read before it, and has moved on since."""
    bus, other = open_bus(), open_bus()
    grow(bus)
    queue, late = bus.store.queue, ["late-1", "late-2"]
    read = queue.read

    def read_late(*args: Any) -> Any:
        if late:
            other.send(invoke(submission=late.pop()))
        return read(*args)

    monkeypatch.setattr(queue, "read", read_late)
    verified = bus.verify()
    assert not late
    assert verified["faults"] == []
