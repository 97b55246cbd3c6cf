"""The rows that say "any program" are decided by the search: it finds a naive bus, and no dialect fails them."""

import sys
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.faults.record import faults
from busproof.run.result import RowResult
from busproof.run.runner import run_item

ROOT = Path(__file__).parents[1]


def searched(spec: str, system: str, seed: int = 1) -> dict[str, RowResult]:
    """The rows that one search decides."""
    fleet = Fleet([spec], system=system)
    try:
        return {result.requirement: result for result in run_item(fleet, "explore", seed=seed)}
    finally:
        fleet.close()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_search_finds_the_naive_bus_broken(seed: int) -> None:
    """With any seed, and tells how to see it again."""
    row = searched(f"exec:{sys.executable} {ROOT / 'examples/naive_comms/adapter.py'}", "comms", seed)["comms.log.70"]
    assert row.outcome == "fail"
    assert "busproof explore comms --bus 'exec:" in row.why
    assert row.why.endswith("--calls 1")


@pytest.mark.nightly
def test_a_fault_fails_the_rows_of_its_noun(warm: Warm) -> None:
    """The programs that do not meet the fault decide the other rows, or these stay undecided."""
    rows = searched(faults("worker")["claims_everything"].spec(warm), "worker")
    assert rows["worker.lease.25"].outcome == "fail"
    assert rows["worker.cursor.18"].outcome in ("pass", "inconclusive")


@pytest.mark.parametrize(
    ("system", "dialect"),
    [
        ("worker", "lease_ends_late"),
        pytest.param("comms", "no_retry_delay", marks=pytest.mark.nightly),
        pytest.param("comms", "ties_are_newest_first", marks=pytest.mark.nightly),
    ],
)
def test_a_dialect_fails_no_row_of_the_search(warm: Warm, system: str, dialect: str) -> None:
    """A RESOLVED choice never fails a MUST; its own row tells of it."""
    rows = searched(faults(system)[dialect].spec(warm), system)
    assert {row.outcome for row in rows.values()} == {"pass"}
