"""topic_durable in Spark: what was acknowledged or sent joined with the final state."""

from __future__ import annotations

from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.topics_streams import TopicsStreams


def check(streams: TopicsStreams, about: Completeness) -> Verdict:
    """See busproof.checks.topic_durable, which says why."""
    acknowledged = streams.sent.where("outcome = 'ok' AND message_id IS NOT NULL")
    found = []
    if about.dump_at is not None:
        stored = streams.stored.select("topic", "message_id", F.col("seq").alias("stands"))
        there = acknowledged.where(F.col("end") <= about.dump_at).join(stored, ["topic", "message_id"], "left")
        at, name = F.lit(about.dump_at), ["topic", "sender", "key"]
        keyed = streams.stored.where("key IS NOT NULL")
        twice = keyed.groupBy(*name).agg(F.count("*").alias("times")).where("times > 1")
        possible = streams.sent.where("outcome <> 'fail'").select(*name).distinct()
        refused = streams.sent.where("outcome = 'fail'").groupBy(*name).agg(F.max("end").alias("refused"))
        strange = keyed.join(possible, name, "left_anti").join(refused, name, "left")
        found = witnesses(
            violations(there.where("stands IS NULL"), "lost", ["end"], F.coalesce("seq", F.lit(0))),
            violations(there.where("stands <> seq"), "seq_changed", ["end"], "seq", "stands"),
            violations(twice, "row_doubled", [at], "times"),
            violations(strange.where("refused IS NOT NULL"), "refused_but_stored", ["refused", at], "seq"),
            violations(strange.where("refused IS NULL"), "phantom", [at], "seq"),
        )
    return judged("topic_durable", found, acknowledged.count(), about.unknown_because or about.no_dump)
