"""Parquet streams → the facts that the Python checks sort, so that both engines can judge the same folder."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from busproof.checks.comms_facts import Answer, Claim, CommsFacts, Completion, Received, Send
from busproof.checks.facts import Ack, Facts, Hold, Poll, Publish, Stored
from busproof.checks.topics_facts import Sent, StoredMessage, Synced, TopicsFacts

Rows = Callable[[str], Iterator[dict[str, Any]]]


def system_of(folder: Path) -> str:
    """Which system's streams a folder holds."""
    for stream, system in (("sends", "comms"), ("synced", "topics")):
        if (folder / stream).is_dir():
            return system
    return "worker"


def read_facts(folder: Path) -> Any:
    """All of it in memory: for histories that fit."""

    def rows(name: str) -> Iterator[dict[str, Any]]:
        for batch in pq.ParquetDataset(folder / name).read().to_batches():
            yield from batch.to_pylist()

    return {"worker": _worker, "comms": _comms, "topics": _topics}[system_of(folder)](rows)


def _comms(rows: Rows) -> CommsFacts:
    about = next(rows("about"))
    return CommsFacts(
        sends=[Send(**row) for row in rows("sends")],
        received=[Received(**row) for row in rows("received")],
        answers=[Answer(**row) for row in rows("answers")],
        claims=[Claim(**row) for row in rows("claims")],
        completions=[Completion(**row) for row in rows("completions")],
        redriven={row["message"] for row in rows("redriven")},
        messages=[row["id"] for row in rows("messages")],
        letters=[row["id"] for row in rows("letters")],
        dump_at=about["dump_at"],
        newest_ms=about["newest_ms"] or 0,
        is_whole=about["is_whole"],
    )


def _topics(rows: Rows) -> TopicsFacts:
    about = next(rows("about"))
    got: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
    for row in rows("got"):
        got[row["end"]].append((row["place"], row["seq"], row["sender"]))
    kept = ("begin", "end", "topic", "reader", "after", "auto_advance", "ack_through", "max_items", "include_self")
    synced = [
        Synced(**{name: row[name] for name in kept}, got=tuple(m[1:] for m in sorted(got[row["end"]])))
        for row in rows("synced")
    ]
    return TopicsFacts(
        sent=[Sent(**row) for row in rows("sent")],
        synced=sorted(synced, key=lambda sync: sync.end),
        unfollowed={(row["reader"], row["topic"]) for row in rows("unfollowed")},
        stored=[StoredMessage(**row) for row in rows("stored")],
        dump_at=about["dump_at"],
        is_whole=about["is_whole"],
    )


def _worker(rows: Rows) -> Facts:
    about = next(rows("about"))
    export = next(rows("export"), None)
    return Facts(
        publishes=[Publish(**row) for row in rows("publishes")],
        polls=[
            Poll(
                row["begin"],
                row["end"],
                row["agent"],
                row["limit"],
                tuple((r["seq"], r["to_agent"]) for r in row["rows"]),
            )
            for row in rows("polls")
        ],
        acks=[Ack(**row) for row in rows("acks")],
        holds=[Hold(**row) for row in rows("holds")],
        stored=[Stored(**row) for row in rows("stored")],
        cursors={row["agent"]: row["last_acked_seq"] for row in rows("cursors")},
        export=(export["at"], export["lines"], export["torn"]) if export else None,
        dump_at=about["dump_at"],
        redriven_agents={row["agent"] for row in rows("redriven")},
        is_whole=about["is_whole"],
    )
