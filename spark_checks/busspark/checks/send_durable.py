"""send_durable in Spark: acknowledged ids anti-joined with the final state."""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.comms_streams import CommsStreams


def check(streams: CommsStreams, about: Completeness) -> Verdict:
    """See busproof.checks.send_durable, which says why."""
    acknowledged = streams.sends.where("outcome = 'ok' AND id IS NOT NULL")
    first = F.min("end").over(Window.partitionBy("id"))
    again = acknowledged.withColumn("first", first).where("first <> end AND NOT is_chosen")
    frames = [violations(again, "id_given_twice", ["first", "end"])]
    if about.dump_at is not None:
        there = streams.messages.unionByName(streams.letters).distinct()
        lost = acknowledged.where(F.col("end") < about.dump_at).join(there, "id", "left_anti")
        lost = lost.crossJoin(streams.about.select("newest_ms"))
        frames.append(violations(lost.where("expires_ms IS NULL OR expires_ms > newest_ms"), "message_lost", ["end"]))
    unknown = about.unknown_because or about.no_dump
    return judged("send_durable", witnesses(*frames), streams.sends.count(), unknown)
