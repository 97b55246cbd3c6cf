"""The state of a `topics` database: read from outside, compared, and judged by all that must be true in any case."""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from buschaos import reading
from buschaos.state import Evidence, Problem, Promise, decoded, short
from buschaos.tape import image
from busproof.contract.history import Event
from busproof.contract.topics import DB_NAME

# The query for each of the seed's tables. A topic goes by its name: its id was the server's choice.
_TABLES = {
    "topics": "SELECT * FROM topics ORDER BY name",
    "topic_seq": "SELECT * FROM topic_seq",
    "messages": "SELECT * FROM messages ORDER BY topic_id, seq",
    "cursors": "SELECT * FROM cursors ORDER BY topic_id, agent_name",
    "agent_name_reservations": "SELECT * FROM agent_name_reservations ORDER BY topic_id, agent_name",
}
_CHOSEN = ("message_id", "reclaim_token", "created_at", "closed_at", "updated_at", "last_claimed_at")


def read(store: Path) -> dict[str, Any]:
    """The seed's tables; one that is not there is empty.

    Read in a copy: the next server must find the files as the victim left them, its write-ahead log to recover and
    all. `-shm` stays behind: it is derived from the log, and half grown it would end its reader.
    """
    with tempfile.TemporaryDirectory(prefix="busproof-look-") as folder:
        copy = Path(folder) / "store"
        image.copy(store, copy, ignore=shutil.ignore_patterns("*-shm"))
        if not (copy / DB_NAME).exists():
            return {table: [] for table in _TABLES}
        with contextlib.closing(sqlite3.connect(copy / DB_NAME)) as connection:
            connection.row_factory = sqlite3.Row
            there = {row[0] for row in connection.execute("SELECT name FROM sqlite_master")}
            return {
                table: [dict(row) for row in connection.execute(sql)] if table in there else []
                for table, sql in _TABLES.items()
            }


def facts(store: Path) -> dict[str, Any]:
    """Is the database whole?"""
    return {"integrity": reading.integrity(store / DB_NAME)}


def comparable(dump: dict[str, Any], known_ids: set[str], clock: str) -> dict[str, Any]:
    """A dump without the values that two runs of the same calls may not share: ids and tokens of the bus, times."""
    names = {row["topic_id"]: row["name"] for row in dump["topics"]}

    def clean(column: str, value: Any) -> Any:
        if column in _CHOSEN:
            return None if value is None else "*"
        return names.get(value, value) if column == "topic_id" else value

    return {
        table: [{column: clean(column, value) for column, value in row.items()} for row in rows]
        for table, rows in dump.items()
        if table in _TABLES
    }


def promises(events: Iterable[Event]) -> list[Promise]:
    """Every message that a sync told as sent."""
    return [
        Promise(record["message"]["message_id"], record["message"]["seq"], record["message"])
        for event in events
        if event.type == "ok" and event.op == "sync"
        for record in event.value["sent"]
    ]


def problems(evidence: Evidence) -> list[Problem]:
    """The problems of a database."""
    if "died" in evidence.facts:
        return [Problem("log", evidence.facts["died"])]
    wrong = []
    # If a bus shows its state and has no tables, the file under that name is its own affair.
    if evidence.dump is not None and (integrity := evidence.facts["integrity"]) not in (None, "ok"):
        wrong.append(Problem("log", f"integrity_check: {integrity}"))
    if evidence.dump is not None:
        wrong += _kept_promises(evidence.dump, evidence.promises)
        wrong += _sequences(evidence.dump)
        wrong += _keys(evidence.dump)
    return wrong


def _kept_promises(dump: dict[str, Any], kept: list[Promise]) -> Iterable[Problem]:
    stored = {row["message_id"]: row for row in dump["messages"]}
    for promise in kept:
        row = stored.get(promise.id)
        if row is None:
            yield Problem("log", f"lost: {promise.id} was told as sent, and is not there")
            continue
        promised = {**promise.message, "metadata": promise.message.get("metadata")}
        there = {**row, "metadata": None if row["metadata_json"] is None else decoded(row["metadata_json"])}
        for column in ("seq", "sender", "content_markdown", "metadata", "client_message_id"):
            if promised.get(column) != there[column]:
                yield Problem("log", f"changed: {promise.id} has {column} {short(there[column])}")


def _keys(dump: dict[str, Any]) -> Iterable[Problem]:
    keys = Counter((row["topic_id"], row["sender"], row["client_message_id"]) for row in dump["messages"])
    for (_, sender, key), times in keys.items():
        if key is not None and times > 1:
            yield Problem("log", f"doubled: {key} of {sender} is stored {times} times")


def _sequences(dump: dict[str, Any]) -> Iterable[Problem]:
    """Dense from 1; the next number is the next; no cursor stands beyond the newest."""
    seqs: dict[str, list[int]] = defaultdict(list)
    for row in dump["messages"]:
        seqs[row["topic_id"]].append(row["seq"])
    for topic, numbers in seqs.items():
        if sorted(numbers) != list(range(1, len(numbers) + 1)):
            yield Problem("log", f"topic {topic} has the numbers {short(sorted(numbers))}, not 1 to {len(numbers)}")
    for row in dump["topic_seq"]:
        if row["next_seq"] != len(seqs[row["topic_id"]]) + 1:
            yield Problem("log", f"next_seq is {row['next_seq']} with {len(seqs[row['topic_id']])} messages")
    for row in dump["cursors"]:
        if row["last_seq"] > len(seqs[row["topic_id"]]):
            yield Problem("cursor", f"{row['agent_name']}'s cursor, {row['last_seq']}, is beyond the newest message")
