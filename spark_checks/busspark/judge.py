"""The Spark engine: Spark finds the suspects in all runs at once, and the checks themselves judge these."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

from msgspec.structs import replace
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from busproof.oracle.checks import Check, Facts, Verdict, clocks, export, integrity, lease, order, untold
from busproof.oracle.checks.facts import FACTS, About, Export, Fact
from busproof.systems import SYSTEMS
from busspark.closer import Closer, by_run
from busspark.compact import Run, current
from busspark.counted import of_all
from busspark.ingest import ingested
from busspark.known import KNOWN, is_screened
from busspark.schema import fact_schema
from busspark.screen import window
from busspark.screen.edges import Suspicion, suspicions
from busspark.screen.rows import RUN, Streams, rows_of, sums_of

PARTITIONS = "spark.sql.shuffle.partitions"
EVENTS_OF_A_PARTITION = 1_000_000


def judge(
    spark: SparkSession, places: str | list[str], say: Callable[[str], None] = lambda _: None
) -> dict[Run, list[Verdict]]:
    """Integrity and all checks of every run in these places: one folder of compact streams, or raw histories."""
    ours = _of_our_own(spark)
    paths = [places] if isinstance(places, str) else places
    if len(paths) > 1 or not (systems := systems_in(ours, paths[0])):
        with ingested(ours, paths, say) as streams_by_system:
            return _judge_systems(ours, streams_by_system, None, say)
    here = None if "://" in paths[0] else Path(paths[0])
    return _judge_systems(ours, {system: streams_of(ours, paths[0], system) for system in systems}, here, say)


def _judge_systems(
    spark: SparkSession, by_system: Mapping[str, Streams], here: Path | None, say: Callable[[str], None]
) -> dict[Run, list[Verdict]]:
    return {
        (system, run): verdicts
        for system, streams in by_system.items()
        for run, verdicts in _judge_system(spark, streams, SYSTEMS[system].checks, here and here / system, say)
    }


def _of_our_own(spark: SparkSession) -> SparkSession:
    """A session on the same cluster; sums of hashes wrap here, which ANSI would forbid."""
    ours = spark.newSession()
    ours.conf.set("spark.sql.ansi.enabled", "false")
    ours.conf.set("spark.sql.caseSensitive", "true")
    # The window leaves its rows sorted by key, so they need no hash table to be summed up by it.
    ours.conf.set("spark.sql.execution.replaceHashWithSortAgg", "true")
    return ours


def cut(spark: SparkSession, events: int) -> None:
    """One task per core, and one more for every million events, unless somebody chose a number other than Spark's."""
    if spark.conf.get(PARTITIONS) == "200":
        spark.conf.set(PARTITIONS, str(spark.sparkContext.defaultParallelism + events // EVENTS_OF_A_PARTITION))


def systems_in(spark: SparkSession, folder: str) -> list[str]:
    """The systems whose streams are there, wherever the folder is."""
    there = spark._jvm.org.apache.hadoop.fs.Path(f"{folder}/*/about")  # type: ignore[union-attr]
    files = there.getFileSystem(spark._jsparkSession.sessionState().newHadoopConf())
    names = (about.getPath().getParent().getName() for about in files.globStatus(there) or ())
    return sorted(name for name in names if name in SYSTEMS)


def streams_of(spark: SparkSession, folder: str, system: str) -> dict[str, DataFrame]:
    """A frame for each stream, with the column `run`."""

    def read(name: str, fact: type[Fact]) -> DataFrame:
        schema = StructType([StructField("run", StringType()), *fact_schema(fact)])
        return spark.read.schema(schema).parquet(f"{folder}/{system}/{name}")

    return {name: read(name, fact) for name, fact in FACTS.items()}


def _judge_system(
    spark: SparkSession, streams: Streams, checks: Mapping[str, Check], here: Path | None, say: Callable[[str], None]
) -> Iterator[tuple[str, list[Verdict]]]:
    hashes: dict[str, int] = {}
    known: dict[str, About] = {}
    for row in streams["about"].selectExpr("*", f"{RUN} AS r").collect():
        columns = row.asDict()
        run = columns.pop("run")
        hashes[run], known[run] = columns.pop("r"), About(**columns)
    current(known)
    _compare_clocks(streams, known)
    events = sum(about.lines for about in known.values())
    say(f"spark: one pass over {events:,} events of {len(known)} runs")
    cut(spark, events)
    by_hash = screened(streams, set(checks.values()))
    suspected = {run: by_hash[hashed] for run, hashed in hashes.items()}
    exports = {row.run: Export(row.at, row.torn) for row in streams["exports"].collect()}
    whole_runs = {run: (about, suspected[run]) for run, about in known.items() if not about.damage}
    closer = Closer(streams, checks, whole_runs, here)
    for run, about in known.items():
        whole = integrity.check(Facts(malformed=closer.malformed.get(run, []), about=[about]))
        if about.damage:
            yield run, [whole, *untold(checks)]
            continue
        verdicts = [whole]
        for name, check in checks.items():
            if not is_screened(check, about):
                verdicts.append(closer.look(run, check))
                continue
            # Without an export there is nothing to compare.
            is_called = suspected[run].bits & KNOWN[check].called_by
            is_suspect = is_called and not (check is export.check and run not in exports)
            if is_suspect:
                say(f"spark: {name}: something is suspect in {run}")
            looked = [exports[run]] if run in exports else []
            verdict = closer.look(run, check) if is_suspect else check(Facts(about=[about], exports=looked))
            verdicts.append(of_all(verdict, check, about, has_export=bool(looked)))
        yield run, verdicts


def _compare_clocks(streams: Streams, known: dict[str, About]) -> None:
    """A run whose clocks disagree is damaged."""
    tried = streams["appended"].withColumn("message", F.expr("coalesce(name, id)"))
    key = ["run", "lane", "message"]
    early = F.broadcast(tried.where("shown IS NOT NULL").select(key).distinct())
    tries = tried.join(early, key, "leftsemi").select(streams["appended"].columns)
    for run, facts in by_run({"appended": tries}).items():
        if not known[run].damage and (damage := clocks.disagree(facts)):
            known[run] = replace(known[run], damage=damage)


def screen_of(streams: Streams, checks: set[Check]) -> DataFrame | None:
    """The question to Spark; None if the screen knows none of these checks."""
    rows = rows_of(streams, checks)
    if rows is None:
        return None
    seen = window.screened(rows, may_repeat=lease.check_deliveries not in checks)
    return window.and_sums(seen, sums_of(streams, checks))


def screened(streams: Streams, checks: set[Check]) -> Mapping[int, Suspicion]:
    """The suspicions, by the hash of the run."""
    frame = screen_of(streams, checks)
    if frame is None:
        return defaultdict(Suspicion)
    return suspicions(_told(frame), is_dense=order.check_dense in checks)


def _told(frame: DataFrame) -> Iterator[SimpleNamespace]:
    for batch in frame.toArrow().to_batches():
        columns = batch.to_pydict()
        for row in zip(*columns.values(), strict=True):
            yield SimpleNamespace(**dict(zip(columns, row, strict=True)))
