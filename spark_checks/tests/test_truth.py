"""Every kind of violation that the generator plants is found, and nothing else: by both engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from busproof.checks import Verdict
from busspark import twin
from busspark.compact import compact
from busspark.generate.stage import Fault, generate
from busspark.generate.worker import Worker
from busspark.judge import judge


def unexplained(verdicts: list[Verdict], truth: list[Fault]) -> list[str]:
    """Violations that nobody planted."""
    events = {(kind, fault.event) for fault in truth for kind in (fault.kind, *fault.also)}
    seqs = {(kind, fault.seq) for fault in truth for kind in (fault.kind, *fault.also) if fault.seq}
    return [
        f"{witness.kind} {witness.events} {witness.a} {witness.b}"
        for verdict in verdicts
        for witness in verdict.witnesses
        if not any((witness.kind, event) in events for event in witness.events)
        and (witness.kind, witness.a) not in seqs
        and (witness.kind, witness.b) not in seqs
    ]


def missed(verdicts: list[Verdict], truth: list[Fault]) -> list[Fault]:
    """Planted faults that nobody found."""
    witnesses = [witness for verdict in verdicts for witness in verdict.witnesses]
    shown = {(witness.kind, event) for witness in witnesses for event in witness.events}
    told = {(witness.kind, number) for witness in witnesses for number in (witness.a, witness.b)}
    return [f for f in truth if (f.kind, f.event) not in shown and not (f.seq and (f.kind, f.seq) in told)]


def test_what_was_planted_is_found_and_nothing_else(tmp_path: Path, spark: SparkSession) -> None:
    """Sixty faults in 60,000 events, with one call in a hundred unanswered."""
    truth = generate(Worker(), 60_000, tmp_path / "faulty.jsonl", faults=60, seed=1)
    assert {fault.kind for fault in truth} >= {*Worker.lies, *Worker.last_lies}
    generate(Worker(), 60_000, tmp_path / "valid.jsonl", seed=2)
    compact([tmp_path / "faulty.jsonl", tmp_path / "valid.jsonl"], tmp_path / "streams")
    judged = judge(spark, str(tmp_path / "streams"))
    assert judged == dict(twin.judge(tmp_path / "streams"))
    assert missed(judged["worker", "faulty"], truth) == []
    assert unexplained(judged["worker", "faulty"], truth) == []
    assert {verdict.verdict for verdict in judged["worker", "valid"]} == {"valid"}


@pytest.mark.nightly
@pytest.mark.parametrize("events", [1_000_000, 10_000_000])
def test_so_it_is_at_any_size(tmp_path: Path, spark: SparkSession, events: int) -> None:
    """Logs of many slices."""
    truth = generate(Worker(), events, tmp_path / "faulty.jsonl", faults=200, seed=1)
    compact([tmp_path / "faulty.jsonl"], tmp_path / "streams")
    (verdicts,) = judge(spark, str(tmp_path / "streams")).values()
    assert missed(verdicts, truth) == []
    assert unexplained(verdicts, truth) == []
