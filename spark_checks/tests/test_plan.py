"""The physical plan of the screen: events are shuffled once, sorted once, and pass one window."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from busproof.checks import lease, order
from busproof.systems import SYSTEMS
from busspark.compact import compact
from busspark.judge import streams_of
from busspark.screen.rows import rows_of
from busspark.screen.window import screened


@pytest.mark.parametrize("system", ["worker", "comms", "timeline", "topics"])
def test_events_are_shuffled_once(
    spark: SparkSession, recorded: Callable[[str], Path], tmp_path: Path, system: str
) -> None:
    """No single partition, and nothing made many of a number that a bus chose."""
    compact([recorded(system)], tmp_path)
    checks = set(SYSTEMS[system].checks.values())
    rows = rows_of(streams_of(spark, str(tmp_path), system), checks)
    assert rows is not None
    frame = screened(rows, is_dense=order.check_dense in checks, may_repeat=lease.check_deliveries not in checks)
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert plan.count(" Exchange ") == plan.count(" Exchange hashpartitioning(g") == 1
    assert plan.count(" Window ") == 1
    assert plan.count(" Sort ") == 1
    assert "SinglePartition" not in plan
    assert " Generate " not in plan
