"""polls in Spark: a poll is a slice of its reader's view, so counting both finds what was left out.

How many messages of the view lie up to a seq is a running count; only where the counts differ does a second, narrow
query look for the missing seq.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.answers import answers, neighbours
from busspark.checks.asof import before
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.polls, which says why."""
    strangers = frames.delivered.join(frames.reads.select("end", "reader"), "end").where("addressee <> reader")
    found = [
        violations(neighbours(frames, "seq").where("next.seq <= seq"), "unordered", ["end"], "seq", "next.seq"),
        violations(strangers, "misdelivered", ["end"], "seq"),
        violations(frames.reads.where("rows > limit"), "over_limit", ["end"], "rows", "limit"),
    ]
    if about.dump_at is not None:
        found += [_otherwise(frames), *_left_out_and_stale(frames)]
    return judged("polls", witnesses(*found), frames.reads.count(), about.unknown_because or about.no_dump)


def _otherwise(frames: Frames) -> DataFrame:
    stored = frames.stored.select("seq", "id", F.col("addressee").alias("to"))
    is_it = F.expr("d.seq = s.seq AND d.id = s.id AND d.addressee <=> s.to")
    strange = frames.delivered.where("id IS NOT NULL").alias("d").join(stored.alias("s"), is_it, "left_anti")
    return violations(strange, "delivered_otherwise", ["end"], "seq")


def _left_out_and_stale(frames: Frames) -> list[DataFrame]:
    readers = frames.reads.select("reader").distinct()
    view = _for_each_reader(frames.stored.select("seq", "addressee"), readers)
    asked = answers(frames).join(frames.jumps.select("reader"), "reader", "left_anti")
    asked = asked.selectExpr("reader", "end AS time", "begin", "limit", "rows", "seqs", "least", "most")
    acks = frames.acked.where("outcome <> 'fail'").selectExpr("reader", "begin AS time", "seq AS value")
    polls = before(acks, asked, ["reader"]).withColumn("cursor", F.coalesce("best", F.lit(0)))
    polls = polls.withColumnRenamed("time", "end").drop("best").cache()
    return [_skipped(polls, view), _stale(frames, polls, readers)]


def _for_each_reader(rows: DataFrame, readers: DataFrame) -> DataFrame:
    """(reader, and the columns of rows) for its addressee, or for every reader."""
    one = rows.where("addressee IS NOT NULL").withColumn("reader", F.col("addressee"))
    everybody = rows.where("addressee IS NULL").crossJoin(F.broadcast(readers))
    return one.join(readers, "reader", "left_semi").unionByName(everybody).drop("addressee")


def _skipped(polls: DataFrame, view: DataFrame) -> DataFrame:
    # Between which seqs must everything be there: above the cursor, or above the message before the first delivered.
    low = "CASE WHEN cursor < least THEN cursor ELSE least - 1 END AS low"
    bounds = polls.where("size(seqs) > 0").selectExpr("reader", "end", "seqs", "most", low)
    counted = view.selectExpr("reader", "2 * seq AS time", "seq AS value")
    numbered = counted.withColumn("value", F.expr("row_number() OVER (PARTITION BY reader ORDER BY time)"))
    # Times are doubled, so that half a step above a seq asks for "up to and including".
    edges = bounds.selectExpr(
        "reader",
        "end",
        "inline(array(named_struct('edge', 'low', 'time', 2 * low + 1),"
        " named_struct('edge', 'most', 'time', 2 * most + 1)))",
    )
    counts = before(numbered, edges, ["reader"]).groupBy("reader", "end")
    upto = counts.agg(
        F.max(F.when(F.col("edge") == "most", F.coalesce("best", F.lit(0)))).alias("upto_most"),
        F.max(F.when(F.col("edge") == "low", F.coalesce("best", F.lit(0)))).alias("upto_low"),
    )
    suspects = bounds.join(upto, ["reader", "end"]).where("upto_most - upto_low > size(seqs)")
    missing = (
        suspects.join(view, "reader")
        .where("seq > low AND seq <= most AND NOT array_contains(seqs, seq)")
        .groupBy("end")
        .agg(F.min("seq").alias("missing"), F.min("most").alias("most"))
    )
    return violations(missing, "skipped", ["end"], "missing", "most")


def _stale(frames: Frames, polls: DataFrame, readers: DataFrame) -> DataFrame:
    to = frames.stored.groupBy("seq").agg(F.last("addressee").alias("addressee"))
    acknowledged = frames.appended.where("outcome = 'ok' AND seq IS NOT NULL").selectExpr("end AS time", "seq")
    told = _for_each_reader(acknowledged.join(to, "seq").selectExpr("time", "seq AS value", "addressee"), readers)
    reached = "greatest(cursor, coalesce(most, 0)) AS reached"
    asked = polls.where("rows < limit").selectExpr("reader", "begin AS time", "end", reached)
    late = before(told.select("reader", "time", "value"), asked, ["reader"]).where("best > reached")
    return violations(late, "stale", ["end"], "best")
