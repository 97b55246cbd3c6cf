"""The physical plan of the screen: events are shuffled once, sorted once, and pass one window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from busproof.systems import SYSTEMS
from busspark.compact import compact
from busspark.judge import PARTITIONS, cut, screen_of, streams_of


@pytest.mark.parametrize("system", ["worker", "comms", "timeline", "topics"])
def test_events_are_shuffled_once(
    spark: SparkSession, recorded: Callable[[str], Path], tmp_path: Path, system: str
) -> None:
    """No single partition, and nothing made many of a number that a bus chose."""
    compact([recorded(system)], tmp_path)
    parted = spark.newSession()
    parted.conf.set(PARTITIONS, "4")  # of one alone, nothing is shuffled by key
    frame = screen_of(streams_of(parted, str(tmp_path), system), set(SYSTEMS[system].checks.values()))
    assert frame is not None
    plan = frame._jdf.queryExecution().executedPlan().toString()
    exchanges = [line for line in plan.splitlines() if " Exchange " in line]
    of_sums = [line for line in exchanges if " Exchange hashpartitioning(r" in line]
    assert len(exchanges) - len(of_sums) == plan.count(" Exchange hashpartitioning(g") == 1
    assert plan.count(" Window ") == 1
    assert plan.count(" Sort ") == 1
    assert "SinglePartition" not in plan
    assert " Generate " not in plan


def test_every_generated_method_is_small_enough_to_be_compiled(
    spark: SparkSession, recorded: Callable[[str], Path], tmp_path: Path
) -> None:
    """HotSpot interprets methods of more than 8,000 bytes of bytecode, which costs an order of magnitude."""
    compact([recorded("worker")], tmp_path)
    generating = spark.newSession()
    generating.conf.set("spark.sql.codegen.wholeStage", "true")
    generating.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY")
    frame = screen_of(streams_of(generating, str(tmp_path), "worker"), set(SYSTEMS["worker"].checks.values()))
    assert frame is not None
    stages = frame._jdf.queryExecution().debug().codegenToSeq()
    sizes = [stages.apply(n)._3().maxMethodCodeSize() for n in range(stages.size())]
    assert len(sizes) > 10
    assert max(sizes) < 8_000


def test_tasks_grow_with_the_events_unless_somebody_chose_their_number(spark: SparkSession) -> None:
    """Spark's own number, 200, is nobody's choice."""
    ours = spark.newSession()
    cores = spark.sparkContext.defaultParallelism
    for chosen, expected in (("200", cores + 3), ("7", 7)):
        ours.conf.set(PARTITIONS, chosen)
        cut(ours, 3_000_000)
        assert int(ours.conf.get(PARTITIONS) or 0) == expected
