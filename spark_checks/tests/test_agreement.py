"""Spark and Python give the same verdicts and the same witnesses on the same history."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from busproof.checks import CHECKS, overall
from busproof.fleet import Fleet, reference
from busproof.history import Recorder, read, typed_columns
from busproof.mutant import mutants
from busproof.protocol.worker import CONTRACT as WORKER
from busproof.systems import play
from busproof.systems import run_checks as run_in_python
from busspark import comms_streams, generate, streams
from busspark.checks import run_checks as run_in_spark
from busspark.facts import read_facts

PLANTED_AT = 777


def recorded(bus: str, into: Path, system: str = "worker") -> Path:
    """A real history of a bus."""
    fleet = Fleet([bus], system=system)
    try:
        return play(fleet, seed=11, calls=240, into=into)
    finally:
        fleet.close()


def test_a_real_history_of_the_reference_is_valid_for_both(spark: SparkSession, tmp_path: Path) -> None:
    """The workload on the reference, recorded, judged twice, and once more from Parquet."""
    path = recorded(reference("worker"), tmp_path / "history.jsonl")
    in_python = run_in_python(read(path))
    history = streams.read(spark, path)
    assert run_in_spark(history) == in_python
    assert overall(in_python) == "valid"
    history.write(tmp_path / "parquet")
    facts = read_facts(tmp_path / "parquet")
    assert [check(facts) for check in CHECKS["worker"].values()] == in_python


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        ("seq_counts_down", "log_order"),
        ("loses_one_in_seven", "log_durable"),
        ("skips_a_message", "log_delivery"),
        ("ack_goes_back", "cursor_monotonic"),
        ("claims_everything", "lease_exclusive"),
        ("exports_only_broadcasts", "export_exact"),
    ],
)
def test_both_find_the_fault_of_a_mutant(spark: SparkSession, tmp_path: Path, mutant: str, check: str) -> None:
    """Real histories of broken buses: the check that must fail does, with the same witnesses on both sides."""
    bus = mutants("worker")[mutant].spec()
    path = recorded(bus, tmp_path / "history.jsonl")
    in_python = {verdict.check: verdict for verdict in run_in_python(read(path))}
    in_spark = {verdict.check: verdict for verdict in run_in_spark(streams.read(spark, path))}
    assert in_python[check].verdict == "invalid"
    assert in_spark == in_python


def test_a_claim_without_an_answer_excuses_a_later_renewal_for_both(spark: SparkSession, tmp_path: Path) -> None:
    """Its agent was killed in the middle of the claim, and came back."""
    path = tmp_path / "history.jsonl"
    with closing(Recorder(path, run="r", system="worker")) as recorder:
        for process, agent, op, outcome, reply in (
            (1, "a", "try_claim_task", "ok", {"claimed": True, "token": 1, "lease_until_ms": 10**15}),
            (1, "a", "release_claim", "ok", {"released": True}),
            (2, "b", "try_claim_task", "info", None),
            (3, "b", "renew_claim", "ok", {"renewed": True, "lease_until_ms": 10**15}),
        ):
            params = {"task_id": "t", "agent_id": agent}
            told = {"process": process, "op": op, "bus_ms": 1}
            recorder.record("invoke", **told, value=params, **typed_columns(WORKER, op, params, None))
            recorder.record(outcome, **told, value=reply, **typed_columns(WORKER, op, params, reply))
    in_python = run_in_python(read(path))
    in_spark = run_in_spark(streams.read(spark, path))
    assert in_spark == in_python
    assert "invalid" not in {verdict.verdict for verdict in in_spark}


def test_a_generated_history_is_valid_for_both(spark: SparkSession, tmp_path: Path) -> None:
    """Several buckets' worth of structure without a fault: no false alarm."""
    generate.valid(spark, 2_000).write(tmp_path)
    in_spark = run_in_spark(streams.read(spark, tmp_path))
    facts = read_facts(tmp_path)
    assert [check(facts) for check in CHECKS["worker"].values()] == in_spark
    assert {verdict.verdict for verdict in in_spark} == {"valid"}


@pytest.mark.parametrize("kind", sorted(generate.PLANTS))
def test_both_find_a_planted_fault(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """One planted fault of each kind is found, as that kind, by both, with the same witnesses."""
    generate.PLANTS[kind](generate.valid(spark, 2_000), PLANTED_AT).write(tmp_path)
    in_spark = run_in_spark(streams.read(spark, tmp_path))
    assert kind in {witness.kind for verdict in in_spark for witness in verdict.witnesses}
    facts = read_facts(tmp_path)
    assert [check(facts) for check in CHECKS["worker"].values()] == in_spark


def test_seq_order_is_stitched_across_buckets(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A message that came late is found even where its successors lie in other buckets."""
    monkeypatch.setattr("busspark.checks.log_order.BUCKET", 100)
    generate.PLANTS["order_reversed"](generate.valid(spark, 2_000), 799).write(tmp_path)
    in_spark = {verdict.check: verdict for verdict in run_in_spark(streams.read(spark, tmp_path))}
    in_python = CHECKS["worker"]["log_order"](read_facts(tmp_path))
    assert in_python.verdict == "invalid"
    assert {witness.a // 100 for witness in in_python.witnesses} > {8}
    assert in_spark["log_order"] == in_python


def test_a_cut_history_is_unknown_for_both(spark: SparkSession, tmp_path: Path) -> None:
    """Without its footer no history is valid; a line torn by a crash is left out, not fatal."""
    path = recorded(reference("worker"), tmp_path / "history.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:-1]) + json.dumps({"index": 10**6})[:10])
    in_python = run_in_python(read(path))
    assert run_in_spark(streams.read(spark, path)) == in_python
    assert overall(in_python) == "unknown"


def test_a_real_comms_history_of_the_reference_is_valid_for_both(spark: SparkSession, tmp_path: Path) -> None:
    """Twenty sessions, recorded, judged twice, and once more from Parquet."""
    path = recorded(reference("comms"), tmp_path / "history.jsonl", "comms")
    in_python = run_in_python(read(path))
    history = comms_streams.read(spark, path)
    assert run_in_spark(history) == in_python
    assert {verdict.verdict for verdict in in_python} == {"valid"}
    history.write(tmp_path / "parquet")
    facts = read_facts(tmp_path / "parquet")
    assert [check(facts) for check in CHECKS["comms"].values()] == in_python


@pytest.mark.parametrize(
    ("mutant", "check"),
    [
        ("loses_one_in_five", "send_durable"),
        ("lowest_first", "receive_order"),
        ("ignores_channels", "receive_order"),
        ("claims_everything", "claim_exclusive"),
        ("done_is_pending", "claim_exclusive"),
        ("buried_at_the_second_failure", "dead_letters_exact"),
        ("buried_at_the_fourth_failure", "dead_letters_exact"),
    ],
)
def test_both_find_the_fault_of_a_comms_mutant(spark: SparkSession, tmp_path: Path, mutant: str, check: str) -> None:
    """Real histories of broken buses: the check that must fail does, with the same witnesses on both sides."""
    bus = mutants("comms")[mutant].spec()
    fleet = Fleet([bus], system="comms")
    try:
        path = play(fleet, seed=11, calls=800, into=tmp_path / "history.jsonl")
    finally:
        fleet.close()
    in_python = {verdict.check: verdict for verdict in run_in_python(read(path))}
    in_spark = {verdict.check: verdict for verdict in run_in_spark(comms_streams.read(spark, path))}
    assert in_python[check].verdict == "invalid"
    assert in_spark == in_python
