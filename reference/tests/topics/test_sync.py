"""sync: one transaction that sends, acknowledges and receives; dense numbers; idempotent sends."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Join = Callable[..., Any]


def test_an_id_that_is_taken_is_not_given_again(join: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 2**16 that begin with a given second. The first message of the second outbox has been inserted."""
    drawn = {0: [], 1: ["0123456789"], 2: ["9876543210", "0123456789"]}
    monkeypatch.setattr("refbus.topics.log.ids_of_time", lambda _now, count: drawn[count])
    alice, bob = join("alice"), join("bob")
    sent = alice.sync("1")["sent"] + alice.sync("2", "3")["sent"]
    ids = [record["message"]["message_id"] for record in sent]
    assert ids[0] == "0123456789" and len(set(ids)) == 3
    assert [(message["message_id"], message["seq"]) for message in bob.sync()["received"]] == [
        *zip(ids, (1, 2, 3), strict=True)
    ]


def test_what_a_stranger_wrote_is_read(join: Join, tmp_path: Path) -> None:
    """A participant with SQLite alone: no counter row, bytes that are no text, metadata that is no object."""
    alice = join("alice")
    alice.sync("1")
    file = sqlite3.connect(tmp_path / "bus.sqlite", isolation_level=None)
    file.execute("DELETE FROM topic_seq")
    for seq, body, metadata in ((2, "CAST(x'ff41' AS TEXT)", "'[]'"), (3, "x'ff42'", "'{'")):
        file.execute(
            f"INSERT INTO messages VALUES ('m{seq}', ?, {seq}, 'eve', 'message', NULL, {body}, {metadata}, NULL, 0)",
            (alice.topic_id,),
        )
    file.close()
    received = alice.sync("4")["received"]
    assert [(m["seq"], m["content_markdown"], m["metadata"]) for m in received] == [
        (2, "\ufffdA", None),
        (3, "\ufffdB", None),
    ]
    assert join("bob").seqs() == [1, 2, 3, 4]
