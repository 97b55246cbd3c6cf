"""Parquet streams → the facts that the Python checks sort, so that both engines can judge the same folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from busproof.checks.comms_facts import Answer, Claim, CommsFacts, Completion, Received, Send
from busproof.checks.facts import Ack, Facts, Hold, Poll, Publish, Stored


def system_of(folder: Path) -> str:
    """Which system's streams a folder holds."""
    return "comms" if (folder / "sends").is_dir() else "worker"


def read_facts(folder: Path) -> Any:
    """All of it in memory: for histories that fit."""

    def rows(name: str) -> Iterator[dict[str, Any]]:
        for batch in pq.ParquetDataset(folder / name).read().to_batches():
            yield from batch.to_pylist()

    return _comms(rows) if system_of(folder) == "comms" else _worker(rows)


def _comms(rows: Callable[[str], Iterator[dict[str, Any]]]) -> CommsFacts:
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


def _worker(rows: Callable[[str], Iterator[dict[str, Any]]]) -> Facts:

    about = next(rows("about"))
    export = next(rows("export"), None)
    return Facts(
        publishes=[Publish(**row) for row in rows("publishes")],
        polls=[
            Poll(
                row["begin"], row["end"], row["agent"], row["limit"],
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
    )  # fmt: skip
