"""log_delivery in Spark: a poll is a slice of its agent's view, so counting both finds what was left out.

How many messages of the view lie up to a seq is a running count; only where the counts differ does a second, narrow
query look for the missing seq.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.asof import before
from busspark.checks.collect import violations, witnesses
from busspark.streams import Streams


def check(streams: Streams, about: Completeness) -> Verdict:
    """See busproof.checks.log_delivery, which says why."""
    polls = streams.polls
    neighbours = polls.where("size(rows) > 1").selectExpr(
        "end", "inline(transform(sequence(0, size(rows) - 2), i -> struct(rows[i].seq AS a, rows[i + 1].seq AS b)))"
    )
    strangers = polls.selectExpr("end", "inline(filter(rows, r -> r.to_agent IS NOT NULL AND r.to_agent <> agent))")
    frames = [
        violations(neighbours.where("b <= a"), "unordered", ["end"], "a", "b"),
        violations(strangers, "misdelivered", ["end"], "seq"),
    ]
    if about.dump_at is not None:
        frames += _left_out_and_stale(streams)
    return judged("log_delivery", witnesses(*frames), polls.count(), about.unknown_because or about.no_dump)


def _left_out_and_stale(streams: Streams) -> list[DataFrame]:
    agents = streams.polls.select("agent").distinct()
    view = _for_each_reader(streams.stored.select("seq", "to_agent"), agents)
    asked = streams.polls.join(streams.redriven, "agent", "left_anti").selectExpr(
        "agent",
        "end AS time",
        "begin",
        "limit",
        "size(rows) AS n",
        "array_sort(array_distinct(transform(rows, r -> r.seq))) AS seqs",
    )
    acks = streams.acks.where("outcome <> 'fail'").selectExpr("agent", "begin AS time", "seq AS value")
    polls = before(acks, asked, ["agent"]).selectExpr(
        "agent", "time AS end", "begin", "limit", "n", "seqs", "coalesce(best, 0) AS cursor"
    )
    polls = polls.cache()
    return [_skipped(polls, view), _stale(streams, polls, agents)]


def _for_each_reader(rows: DataFrame, agents: DataFrame) -> DataFrame:
    """(agent, and the columns of rows) for its addressee, or for every reader."""
    one = rows.where("to_agent IS NOT NULL").withColumn("agent", F.col("to_agent")).join(agents, "agent", "left_semi")
    everybody = rows.where("to_agent IS NULL").crossJoin(F.broadcast(agents))
    return one.unionByName(everybody).drop("to_agent")


def _skipped(polls: DataFrame, view: DataFrame) -> DataFrame:
    # Between which seqs must everything be there: above the cursor, or above the message before the first delivered.
    bounds = polls.where("size(seqs) > 0").selectExpr(
        "agent",
        "end",
        "seqs",
        "seqs[size(seqs) - 1] AS last",
        "CASE WHEN cursor < seqs[0] THEN cursor ELSE seqs[0] - 1 END AS low",
    )
    counted = view.selectExpr("agent", "2 * seq AS time", "seq AS value")
    numbered = counted.withColumn("value", F.expr("row_number() OVER (PARTITION BY agent ORDER BY time)"))
    # Times are doubled, so that half a step above a seq asks for "up to and including".
    edges = bounds.selectExpr(
        "agent",
        "end",
        "inline(array(named_struct('edge', 'low', 'time', 2 * low + 1),"
        " named_struct('edge', 'last', 'time', 2 * last + 1)))",
    )
    upto = (
        before(numbered, edges, ["agent"])
        .groupBy("agent", "end")
        .agg(
            F.max(F.when(F.col("edge") == "last", F.coalesce("best", F.lit(0)))).alias("upto_last"),
            F.max(F.when(F.col("edge") == "low", F.coalesce("best", F.lit(0)))).alias("upto_low"),
        )
    )
    suspects = bounds.join(upto, ["agent", "end"]).where("upto_last - upto_low > size(seqs)")
    missing = (
        suspects.join(view, "agent")
        .where("seq > low AND seq <= last AND NOT array_contains(seqs, seq)")
        .groupBy("end")
        .agg(F.min("seq").alias("missing"), F.min("last").alias("last"))
    )
    return violations(missing, "skipped", ["end"], "missing", "last")


def _stale(streams: Streams, polls: DataFrame, agents: DataFrame) -> DataFrame:
    to = streams.stored.groupBy("seq").agg(F.last("to_agent").alias("to_agent"))
    acknowledged = streams.publishes.where("outcome = 'ok' AND seq IS NOT NULL").selectExpr("end AS time", "seq")
    told = _for_each_reader(acknowledged.join(to, "seq").selectExpr("time", "seq AS value", "to_agent"), agents)
    asked = polls.where("n < limit").selectExpr(
        "agent", "begin AS time", "end", "greatest(cursor, coalesce(seqs[size(seqs) - 1], 0)) AS reached"
    )
    late = before(told.select("agent", "time", "value"), asked, ["agent"]).where("best > reached")
    return violations(late, "stale", ["end"], "best")
