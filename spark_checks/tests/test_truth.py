"""Every kind of violation that the generator plants is found, and nothing else: by both engines."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from busproof.contract.history import scan
from busproof.oracle.checks import overall
from busproof.systems import run_checks
from busspark import closer, twin
from busspark.compact import compact
from busspark.generate import stage
from busspark.generate.comms import Comms
from busspark.generate.relay import Relay
from busspark.generate.stage import UNTOLD, Bus, Fault, generate
from busspark.generate.timeline import Timeline
from busspark.generate.topics import Topics
from busspark.generate.truth import missed, unexplained
from busspark.generate.worker import Worker
from busspark.judge import Run, judge

OTHERS: tuple[type[Bus], ...] = (Topics, Comms, Relay, Timeline)
# So many that each kind of a system finds its place.
EVENTS_OF: dict[type[Bus], int] = {Worker: 9_000, **dict.fromkeys(OTHERS, 3_000)}


def shown(bus: Bus) -> set[str]:
    """The kinds that its lies show as."""
    return {lie.removesuffix(UNTOLD) for lie in (*bus.lies, *bus.last_lies)}


def test_what_was_planted_is_found_and_nothing_else(
    tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sixty faults in 30,000 events, one call in a hundred unanswered, slices so small that all meet their edges.

    Spark looks at the suspects as it would in a run of any size, and the Python engine at everything, in memory.
    """
    monkeypatch.setattr(closer, "EVENTS_AT_ONCE", 0)
    for name in ("SLICE_OF_LOG", "SLICE_OF_VIEW"):
        monkeypatch.setattr(f"busspark.screen.rows.{name}", 64)
    truth = generate(Worker(), 30_000, tmp_path / "faulty.jsonl", faults=60, seed=1)
    assert {fault.kind for fault in truth} >= shown(Worker())
    generate(Worker(), 30_000, tmp_path / "valid.jsonl", seed=2)
    compact([tmp_path / "faulty.jsonl", tmp_path / "valid.jsonl"], tmp_path / "streams")
    judged = judge(spark, str(tmp_path / "streams"))
    assert judged == dict(twin.judge(tmp_path / "streams"))
    assert missed(judged["worker", "faulty"], truth) == []
    assert unexplained(judged["worker", "faulty"], truth) == []
    assert {verdict.verdict for verdict in judged["worker", "valid"]} == {"valid"}


@pytest.mark.parametrize("bus", OTHERS)
def test_so_it_is_in_python_of_the_others(tmp_path: Path, bus: type[Bus]) -> None:
    """The same, without Spark."""
    generate(bus(), 20_000, tmp_path / "valid.jsonl", seed=2)
    assert overall(run_checks(scan(tmp_path / "valid.jsonl"))) == "valid"
    truth = generate(bus(), 20_000, tmp_path / "faulty.jsonl", faults=60, seed=1)
    assert {fault.kind for fault in truth} == shown(bus())
    verdicts = run_checks(scan(tmp_path / "faulty.jsonl"))
    assert missed(verdicts, truth) == []
    assert unexplained(verdicts, truth) == []


def test_spark_finds_each_kind_by_itself(tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """One fault per history, every call answered: nothing else in it makes the screen look there."""
    monkeypatch.setattr(stage, "UNANSWERED", 0)
    truth: dict[Run, list[Fault]] = {}
    for make in (Worker, *OTHERS):
        for kind in (kind for kind in make().lies if not kind.endswith(UNTOLD)):
            bus = make()
            monkeypatch.setattr(bus, "lies", (kind,), raising=False)
            monkeypatch.setattr(bus, "last_lies", (), raising=False)
            path = tmp_path / f"{bus.system}-{kind}.jsonl"
            truth[bus.system, path.stem] = generate(bus, EVENTS_OF[make], path, faults=1, seed=1)
    compact(sorted(tmp_path.glob("*.jsonl")), tmp_path / "streams")
    judged = judge(spark, str(tmp_path / "streams"))
    assert [run for run, planted in truth.items() if not planted] == []
    assert [(run, planted) for run, planted in truth.items() if missed(judged[run], planted)] == []
    assert [run for run, planted in truth.items() if unexplained(judged[run], planted)] == []


@pytest.mark.nightly
@pytest.mark.parametrize("bus", [Worker, *OTHERS])
@pytest.mark.parametrize("events", [1_000_000, 10_000_000])
def test_so_it_is_at_any_size(tmp_path: Path, spark: SparkSession, events: int, bus: type[Bus]) -> None:
    """Logs of many slices."""
    truth = generate(bus(), events, tmp_path / "faulty.jsonl", faults=200, seed=1)
    compact([tmp_path / "faulty.jsonl"], tmp_path / "streams")
    (verdicts,) = judge(spark, str(tmp_path / "streams")).values()
    assert missed(verdicts, truth) == []
    assert unexplained(verdicts, truth) == []
