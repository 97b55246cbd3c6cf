"""receive_order in Spark: each row of an answer against its neighbour."""

from __future__ import annotations

from pyspark.sql import Window
from pyspark.sql import functions as F

from busproof.checks.calls import Completeness
from busproof.checks.verdict import Verdict, judged
from busspark.checks.collect import violations, witnesses
from busspark.comms_streams import CommsStreams


def check(streams: CommsStreams, about: Completeness) -> Verdict:
    """See busproof.checks.receive_order, which says why."""
    received = streams.received
    following = F.lead(F.struct("place", "priority", "timestamp")).over(Window.partitionBy("end").orderBy("place"))
    pairs = received.withColumn("next", following).where(
        "next.priority > priority OR next.priority = priority AND next.timestamp < timestamp"
    )
    found = witnesses(
        violations(streams.answers.where("rows > limit"), "over_limit", ["end"], "rows", "limit"),
        violations(received.where("to_agent <> agent"), "misreceived", ["end"], "place"),
        violations(received.where("NOT channel_asked"), "channel_not_asked", ["end"], "place"),
        violations(pairs, "out_of_order", ["end"], "place", "next.place"),
    )
    return judged("receive_order", found, streams.answers.count(), about.unknown_because)
