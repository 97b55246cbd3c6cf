"""cursor_monotonic in Spark: running maxima of the acknowledged acks of each agent."""

from __future__ import annotations

from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.asof import before
from busspark.checks.collect import violations, witnesses
from busspark.streams import Streams


def check(streams: Streams, about: Completeness) -> Verdict:
    """See busproof.checks.cursor_monotonic, which says why."""
    acked = streams.acks.where("outcome = 'ok'")
    # Of equal acks the first one is the witness: the largest pair of seq and minus its event.
    entries = acked.selectExpr("agent", "end AS time", "struct(seq, -end AS event) AS value")
    polls = streams.polls.join(streams.redriven, "agent", "left_anti").where("size(rows) > 0")
    asked = polls.selectExpr("agent", "begin AS time", "end", "array_min(transform(rows, r -> r.seq)) AS lowest")
    again = before(entries, asked, ["agent"]).where("lowest <= best.seq")
    answers = acked.where("answer IS NOT NULL").selectExpr("agent", "begin AS time", "end", "answer")
    back = before(entries, answers, ["agent"]).where("answer < best.seq")
    frames = [
        violations(again, "redelivered", [-F.col("best.event"), "end"], "lowest", "best.seq"),
        violations(back, "ack_went_back", [-F.col("best.event"), "end"], "answer", "best.seq"),
    ]
    if about.dump_at is not None:
        tops = [streams.stored.agg(F.max("seq")), streams.publishes.agg(F.max("seq"))]
        newest = max(top.collect()[0][0] or 0 for top in tops)
        frames.append(violations(acked.where(F.col("seq") > newest), "ack_beyond", ["end"], "seq", newest))
        final = (
            entries.where(F.col("time") < about.dump_at)
            .groupBy("agent")
            .agg(F.max("value").alias("best"))
            .join(streams.cursors, "agent", "left")
            .withColumn("position", F.coalesce("last_acked_seq", F.lit(0)))
            .where("position < best.seq")
        )
        events = [-F.col("best.event"), F.lit(about.dump_at)]
        frames.append(violations(final, "cursor_lost", events, "position", "best.seq"))
    found = witnesses(*frames)
    return judged("cursor_monotonic", found, streams.acks.count(), about.unknown_because or about.no_dump)
