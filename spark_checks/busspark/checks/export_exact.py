"""export_exact in Spark: the file's lines against the final state."""

from __future__ import annotations

from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.streams import Streams


def check(streams: Streams, about: Completeness) -> Verdict:
    """See busproof.checks.export_exact, which says why."""
    looked = streams.export.selectExpr("at", "size(lines) AS n").collect()
    if not looked:
        return judged("export_exact", [], 0, "the history has no export to look at")
    at = F.lit(looked[0].at)
    lines = streams.export.select(F.explode("lines").alias("seq"))
    counts = lines.groupBy("seq").agg(F.count("*").alias("n"))
    neighbours = streams.export.where("size(lines) > 1").selectExpr(
        "inline(transform(sequence(0, size(lines) - 2), i -> struct(lines[i] AS a, lines[i + 1] AS b)))"
    )
    found = witnesses(
        violations(streams.export.where("torn"), "export_torn", ["at"]),
        violations(counts.where("n > 1"), "export_doubled", [at], "seq", "n"),
        violations(neighbours.where("b < a"), "export_unordered", [at], "a", "b"),
        violations(streams.stored.join(counts, "seq", "left_anti"), "export_missing", [at], "seq"),
    )
    return judged("export_exact", found, looked[0].n + 1, about.unknown_because or about.no_dump)
