"""Parquet streams → the facts that the Python checks sort, so that both engines can judge the same folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from busproof.checks.facts import Ack, Facts, Hold, Poll, Publish, Stored


def read_facts(folder: Path) -> Facts:
    """All of it in memory: for histories that fit."""

    def rows(name: str) -> Iterator[dict[str, Any]]:
        for batch in pq.ParquetDataset(folder / name).read().to_batches():
            yield from batch.to_pylist()

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
