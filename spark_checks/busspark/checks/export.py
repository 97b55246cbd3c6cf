"""export in Spark: the file's lines against the final state."""

from __future__ import annotations

from itertools import pairwise

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames

BUCKET = 1_000_000


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.export, which says why."""
    looked = frames.exports.collect()
    if not looked:
        return judged("export", [], 0, "the history has no export to look at")
    at, lines, stored = F.lit(looked[0].at), frames.exported, frames.stored.where("seq IS NOT NULL").select("seq")
    counts = lines.groupBy("seq").agg(F.count("*").alias("n"))
    found = [
        violations(frames.exports.where("torn"), "export_torn", ["at"]),
        violations(counts.where("n > 1"), "export_doubled", [at], "seq", "n"),
        violations(stored.join(counts, "seq", "left_anti"), "export_missing", [at], "seq"),
        violations(_neighbours(frames).where("after < seq"), "export_unordered", [at], "seq", "after"),
    ]
    if about.dump_at is not None:
        found.append(violations(counts.join(stored, "seq", "left_anti"), "export_of_nothing", [at], "seq"))
    return judged("export", witnesses(*found), lines.count() + 1, about.unknown_because or about.no_dump)


def _neighbours(frames: Frames) -> DataFrame:
    """Each line with the one after it, in buckets of places; a bucket's first line stands in the one before it, too."""
    placed = frames.exported.selectExpr("place", "seq", f"place DIV {BUCKET} AS bucket")
    first = placed.groupBy("bucket").agg(F.min(F.struct("place", "seq")).alias("first")).orderBy("bucket").collect()
    edges = [(later.first.place, later.first.seq, one.bucket) for one, later in pairwise(first)]
    borrowed = frames.spark.createDataFrame(edges, "place LONG, seq LONG, bucket LONG")
    following = F.expr("lead(seq) OVER (PARTITION BY bucket ORDER BY place)")
    return placed.unionByName(borrowed).withColumn("after", following)
