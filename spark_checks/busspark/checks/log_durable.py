"""log_durable in Spark: two sets compared by id."""

from __future__ import annotations

from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.log_durable import OWN_TYPES
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.streams import Streams


def check(streams: Streams, about: Completeness) -> Verdict:
    """See busproof.checks.log_durable, which says why."""
    if about.dump_at is None:
        return judged("log_durable", [], 0, "the history has no final dump")
    at = F.lit(about.dump_at)
    published = streams.publishes
    stored = streams.stored.groupBy("id").agg(F.min("seq").alias("now"), F.count("*").alias("n"))
    pairs = (
        published.where("outcome = 'ok' AND id IS NOT NULL AND seq IS NOT NULL")
        .groupBy("id", "seq")
        .agg(F.min("end").alias("end"))
        .join(stored, "id", "left")
    )
    silent = published.where("outcome = 'ok' AND seq IS NULL").join(stored, "id", "left_anti")
    tried = published.groupBy("id").agg(
        F.max(F.col("outcome") != "fail").alias("possible"),
        F.max(F.when(F.col("outcome") == "fail", F.col("end"))).alias("refused"),
    )
    any_row = bool(published.where("id IS NULL AND outcome <> 'fail'").limit(1).count())
    rows = (
        streams.stored.where(~F.col("type").isin(*OWN_TYPES))
        .join(tried.where("id IS NOT NULL"), "id", "left")
        .where("possible IS NULL OR NOT possible")
    )
    uninvited = rows.where("refused IS NULL") if not any_row else rows.where("FALSE")
    found = witnesses(
        violations(pairs.where("now IS NULL"), "lost", ["end"], "seq"),
        violations(pairs.where("now <> seq"), "seq_changed", ["end", at], "seq", "now"),
        violations(silent, "lost", ["end"]),
        violations(stored.where("n > 1"), "row_doubled", [at], "n"),
        violations(rows.where("refused IS NOT NULL"), "refused_but_stored", ["refused", at], "seq"),
        violations(uninvited, "phantom", [at], "seq"),
    )
    return judged("log_durable", found, published.count(), about.unknown_because)
