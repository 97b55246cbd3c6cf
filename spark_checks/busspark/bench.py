"""`python -m busspark.bench HISTORY`: compaction, the twin, Spark cold and warm, and DuckDB, side by side in one run.

CPU seconds are those of all processes that took part: on a busy machine they are the figures to trust.
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from statistics import median

from pyspark.sql import SparkSession

from busspark import twin
from busspark.compact import compact
from busspark.judge import judge
from busspark.session import spark_session

WARM = 5


def main() -> None:
    """Print a line for each."""
    parser = argparse.ArgumentParser(description="Measure all engines on one history of a worker bus.")
    parser.add_argument("history", type=Path)
    parser.add_argument("--no-twin", action="store_true", help="Spark and DuckDB alone")
    args = parser.parse_args()
    history, is_twin = args.history, not args.no_twin
    with tempfile.TemporaryDirectory() as scratch:
        with _measured("compact"):
            (about,) = compact([history], Path(scratch))
        print(f"{about.lines:,} events")
        in_python = None
        if is_twin:
            with _measured("twin"):
                in_python = dict(twin.judge(Path(scratch)))
        spark = spark_session(master="local[2]")
        with _measured("spark, cold", spark):
            judge(spark, scratch)
        warm = []
        for _ in range(WARM):
            with _measured("spark, warm", spark) as used:
                in_spark = judge(spark, scratch)
            warm += used
        print(f"{'median, warm':14} {median(warm):7.1f} s CPU")
        spark.stop()
        print("verdicts:", [verdict.verdict for verdict in next(iter(in_spark.values()))])
        if in_python is not None:
            print("the engines agree" if in_python == in_spark else "the engines DISAGREE")
        _duckdb(Path(scratch))


def _duckdb(streams: Path) -> None:
    """The same checks as SQL, a query each: bench.sql."""
    import duckdb

    with duckdb.connect(config={"threads": 2}) as db:
        for name in ("appended", "stored", "reads", "delivered", "acked", "positions", "holds", "exported"):
            db.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{streams}/worker/{name}/*.parquet')")
        queries = files("busspark").joinpath("bench.sql").read_text().split(";")
        for name in ("duckdb", "duckdb, again"):
            with _measured(name):
                rows = [db.execute(query).fetchone() for query in queries if query.strip()]
        print("duckdb finds", [row[0] for row in rows if row])


@contextmanager
def _measured(name: str, spark: SparkSession | None = None) -> Iterator[list[float]]:
    """Print the figures; in the end, the list that it yields holds the CPU seconds."""
    wall, cpu = time.monotonic(), _cpu_s(spark)
    kept: list[float] = []
    yield kept
    used, took = _cpu_s(spark) - cpu, time.monotonic() - wall
    kept.append(used)
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{name:14} {used:7.1f} s CPU {took:7.1f} s wall, Python's peak {peak_mb} MB", flush=True)


def _cpu_s(spark: SparkSession | None) -> float:
    """The CPU seconds of this process, of those that it has seen end, and of the JVM, which runs on."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = time.process_time() + ended.ru_utime + ended.ru_stime
    if spark is None:
        return own
    pid = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]
    user, system = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13]
    return own + (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
