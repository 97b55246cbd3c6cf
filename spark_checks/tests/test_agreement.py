"""Spark and Python give the same verdicts and the same witnesses on the same history."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from busproof.checks import Verdict, judge_facts, overall
from busproof.fleet import Fleet
from busproof.history import scan
from busproof.mutant import mutants
from busproof.systems import SYSTEMS, play
from busproof.systems import run_checks as run_in_python
from busspark import generate
from busspark.checks import run_checks
from busspark.extract import read
from busspark.frames import facts_from_parquet, from_parquet

# Each planted fault has a place of its own, far from the others, and a task of its own.
PLANTED = {kind: 750 + 121 * number for number, kind in enumerate(sorted(generate.PLANTS))}


def run_in_spark(spark: SparkSession, path: Path, system: str) -> list[Verdict]:
    """All checks."""
    return run_checks(*read(spark, path, system))


@pytest.mark.parametrize("system", ["worker", "comms", "topics"])
def test_a_real_history_of_the_reference_is_valid_for_both(
    spark: SparkSession, recorded: Callable[[str], Path], tmp_path: Path, system: str
) -> None:
    """Recorded, judged twice, and once more from Parquet."""
    in_python = run_in_python(scan(recorded(system)))
    frames, damage = read(spark, recorded(system), system)
    assert run_checks(frames, damage) == in_python
    assert overall(in_python) == "valid"
    frames.write(tmp_path)
    assert judge_facts(facts_from_parquet(tmp_path), SYSTEMS[system].checks) == in_python


@pytest.mark.parametrize(
    ("system", "mutant", "check"), [("worker", "claims_everything", "lease"), ("comms", "loses_one_in_five", "durable")]
)
def test_both_find_the_fault_of_a_mutant(
    spark: SparkSession, tmp_path: Path, system: str, mutant: str, check: str
) -> None:
    """A real history of a broken bus: the check that must fail does, with the same witnesses on both sides."""
    fleet = Fleet([mutants(system)[mutant].spec()], system=system)
    try:
        path = play(fleet, seed=11, calls=240, into=tmp_path / "history.jsonl")
    finally:
        fleet.close()
    in_python = run_in_python(scan(path))
    assert {verdict.check: verdict.verdict for verdict in in_python}[check] == "invalid"
    assert run_in_spark(spark, path, system) == in_python


def test_a_generated_history_is_valid_for_both(spark: SparkSession, tmp_path: Path) -> None:
    """Several buckets' worth of structure without a fault: no false alarm."""
    generate.valid(spark, 2_000).write(tmp_path)
    in_spark = run_checks(from_parquet(spark, tmp_path))
    assert judge_facts(facts_from_parquet(tmp_path), SYSTEMS["worker"].checks) == in_spark
    assert {verdict.verdict for verdict in in_spark} == {"valid"}


def test_both_find_every_planted_fault(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of each kind in one history, and buckets so small that what came late reaches over their edges."""
    monkeypatch.setattr("busspark.checks.order.BUCKET", 100)
    monkeypatch.setattr("busspark.checks.export.BUCKET", 100)
    frames = generate.valid(spark, 3_200)
    for kind, at in PLANTED.items():
        frames = generate.PLANTS[kind](frames, at)
    frames.write(tmp_path)
    in_spark = run_checks(from_parquet(spark, tmp_path))
    found = {witness.kind for verdict in in_spark for witness in verdict.witnesses}
    assert found >= set(generate.PLANTS)
    assert judge_facts(facts_from_parquet(tmp_path), SYSTEMS["worker"].checks) == in_spark
    (order,) = [verdict for verdict in in_spark if verdict.check == "order"]
    late = {w.a // 100 for w in order.witnesses if w.kind == "order_reversed"}
    assert late > {PLANTED["order_reversed"] // 100}
