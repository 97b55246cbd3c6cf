"""Keys: where they come from, how long they are, and how they are changed while agents run."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from refbus import cli
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus

OLD, NEW, OTHER = ("0a" * 32, "0b" * 32, "0c" * 32)


def read(folder: Path, key: str, *others: str) -> list[Any]:
    """The payloads, and in place of a withheld one its error."""
    with WorkerBus(folder, signing_key=key, verifying_keys=others) as bus:
        return [message.get("payload_error") or message["payload"] for message in bus.poll("reader")["messages"]]


def test_keys_are_rotated_without_a_message_that_anybody_doubts(tmp_path: Path) -> None:
    """Both verify, and the first signs; when the old one has gone, so has the trust in what it signed."""
    for number, keys in enumerate([(OLD,), (OLD, NEW), (NEW, OLD)]):
        with WorkerBus(tmp_path, signing_key=keys[0], verifying_keys=keys[1:]) as bus:
            bus.publish("a", {"type": "note", "payload": number})
    assert read(tmp_path, OLD, NEW) == read(tmp_path, NEW, OLD) == [0, 1, 2]
    assert read(tmp_path, NEW) == ["bad_signature", "bad_signature", 2]
    assert read(tmp_path, OLD) == [0, 1, "bad_signature"]
    assert read(tmp_path, OTHER) == ["bad_signature"] * 3


def test_status_shows_no_payload_that_somebody_changed(tmp_path: Path) -> None:
    """A payload that the log withholds is no more to be believed there."""
    with WorkerBus(tmp_path, signing_key=NEW) as bus:
        for payload in ({"to": "WORKING"}, {"to": "DONE"}):
            bus.publish("a", {"type": "state_change", "payload": payload})
        with contextlib.closing(sqlite3.connect(tmp_path / "bus.db", isolation_level=None)) as db:
            db.execute('UPDATE messages SET payload = \'{"to": "FAILED"}\' WHERE seq = 1')
        assert [row["payload"] for row in bus.status()["rows"]] == [{"to": "DONE"}, None]


@pytest.mark.parametrize("keys", [(None, [NEW]), (OLD, NEW), (OLD, [""]), (OLD, [None]), (OLD, ["zz"]), (OLD, None)])
def test_what_is_no_key_is_refused(tmp_path: Path, keys: tuple[Any, Any]) -> None:
    """Also beside a good one, and the text of one key is no list of keys."""
    with pytest.raises(InvalidArgument):
        WorkerBus(tmp_path, signing_key=keys[0], verifying_keys=keys[1])


def test_a_command_takes_its_keys_from_a_file_or_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where nobody else sees them. The file comes first, and its first key signs."""
    keys = tmp_path / "keys"
    keys.write_text(f"{NEW}\n{OLD}\n")
    store = ["worker", "--store", str(tmp_path / "store")]
    monkeypatch.setenv("REFBUS_SIGNING_KEY", OLD)
    assert cli.main([*store, "publish", "--as", "a", "note", "1"]) == 0
    assert cli.main([*store, "--signing-key-file", str(keys), "publish", "--as", "a", "note", "2"]) == 0
    capsys.readouterr()
    assert cli.main([*store, "--signing-key-file", str(keys), "poll", "--as", "b"]) == 0
    assert [json.loads(line)["payload"] for line in capsys.readouterr().out.splitlines()] == [1, 2]
    assert read(tmp_path / "store", NEW) == ["bad_signature", 2]


@pytest.mark.parametrize("key", ["", "0a", "0a" * 31, f"{OLD} 0a", "z" * 64])
@pytest.mark.parametrize("given", ["file", "environment", "argument"])
def test_a_command_takes_no_key_that_can_be_guessed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str, key: str
) -> None:
    """At least 32 bytes, each of them; an empty environment says nothing, an empty file or argument is a mistake."""
    (tmp_path / "keys").write_text(key)
    words = {"file": ["--signing-key-file", str(tmp_path / "keys")], "argument": ["--signing-key", key]}.get(given, [])
    if given == "environment":
        monkeypatch.setenv("REFBUS_SIGNING_KEY", key)
    code = cli.main(["worker", "--store", str(tmp_path / "store"), *words, "publish", "--as", "a", "note"])
    assert code == (0 if given == "environment" and not key else 1)
