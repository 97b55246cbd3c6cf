"""A check that never failed is not a check: each chaos row of the catalogue is failed by a planted fault."""

from __future__ import annotations

import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from buschaos import report
from buschaos.crashpoints import in_the_middle
from buschaos.gone import CASES
from buschaos.run import Settings, run
from buschaos.subjects import SUBJECTS
from busproof.catalogue import catalogue

# row → the planted fault that fails it, and as much of a run as shows it
FAILED_BY: dict[str, tuple[str, dict[str, Any]]] = {
    "worker.log.03": ("answers_before_commit", {"points": True, "only": "publish"}),
    "worker.log.54": ("answers_before_commit", {"kills": 16}),
    "worker.log.55": ("swallows_full_disk", {"disk_full": True, "only": "publish", "levels": (0,)}),
    "worker.blob.16": ("writes_blobs_in_place", {"points": True, "only": "save_blob"}),
    "worker.export.12": ("exports_in_two_steps", {"points": True, "only": "export_to_jsonl"}),
    "comms.log.71": ("comms_buries_in_two_steps", {"points": True, "only": "complete_message to the dead letters"}),
    "comms.log.72": ("comms_answers_before_commit", {"kills": 16}),
    "comms.log.73": ("comms_swallows_full_disk", {"disk_full": True, "only": "send_message", "levels": (0,)}),
    "comms.blob.12": ("comms_artifact_in_place", {"points": True, "only": "write_artifact again"}),
    "topics.log.73": ("topics_answers_before_commit", {"points": True, "only": "cursor_reset"}),
    "topics.log.75": ("topics_stores_late", {"kills": 8}),
    "topics.log.76": ("topics_dies_of_a_full_disk", {"disk_full": True, "levels": (0,), "errors": ()}),
    "topics.log.77": ("topics_swallows_full_disk", {"disk_full": True, "levels": (0,), "errors": ()}),
    "topics.cursor.48": ("topics_consumes_in_two_steps", {"points": True, "only": "sync that receives"}),
    "topics.cursor.50": ("topics_moves_cursors_late", {"kills": 8}),
    "topics.cursor.49": ("topics_consumes_what_was_cancelled", {"gone": True, "cases": CASES[:1]}),
}


def chaos_rows() -> list[str]:
    """Rows of the catalogue that only a nemesis can decide."""
    return [row.id for system in SUBJECTS for row in catalogue(system).values() if row.kind == "chaos"]


def outcomes(bus: str, out: Path, system: str, only: str = "", **how: Any) -> dict[str, str]:
    """Row → outcome of a small run."""
    settings = Settings(
        specs=[bus],
        out=out,
        system=system,
        seed=1,
        torn=in_the_middle,
        operations=tuple(op for op in SUBJECTS[system].operations if op.name == only),
        **{"errors": (errno.ENOSPC,), **how},
    )
    return {row.requirement: row.outcome for row in report.rows(run(settings), system)}


def test_every_chaos_row_has_a_fault() -> None:
    """None is believed that was never seen failing."""
    assert sorted(FAILED_BY) == sorted(chaos_rows())


@pytest.mark.parametrize("row", sorted(FAILED_BY))
def test_the_fault_fails_its_row(tmp_path: Path, faulty: Callable[[str], str], row: str) -> None:
    """And the harmless bus passes the same run."""
    fault, how = FAILED_BY[row]
    system = row.partition(".")[0]
    worst = "warn" if catalogue(system)[row].level == "RESOLVED" else "fail"
    assert outcomes(faulty(fault), tmp_path / "faulty", system, **how)[row] == worst
    harmless = "topics_harmless" if system == "topics" else "harmless"
    assert outcomes(faulty(harmless), tmp_path / "harmless", system, **how)[row] == "pass"


def test_a_fault_of_one_noun_leaves_the_rows_of_others_alone(tmp_path: Path, faulty: Callable[[str], str]) -> None:
    """A torn blob is no torn export; but the log answers for all."""
    found = outcomes(faulty("writes_blobs_in_place"), tmp_path, "worker", points=True, only="save_blob")
    assert found == {"worker.log.03": "fail", "worker.blob.16": "fail", "worker.export.12": "pass"}
