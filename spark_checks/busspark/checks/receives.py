"""receives in Spark: each message of an answer against its neighbour, and against what was sent."""

from __future__ import annotations

from pyspark.sql import functions as F

from busproof.checks.facts import About
from busproof.checks.verdict import Verdict, judged
from busspark.checks.answers import neighbours
from busspark.checks.collect import violations, witnesses
from busspark.frames import Frames


def check(frames: Frames, about: About) -> Verdict:
    """See busproof.checks.receives, which says why."""
    reads = frames.reads.select("end", "reader")
    pairs = neighbours(frames, "place", "priority", "sent_at").where(
        "next.priority > priority OR next.priority = priority AND next.sent_at < sent_at"
    )
    counts = frames.delivered.groupBy("end").agg(F.count("*").alias("n"), F.count_distinct("id").alias("ids"))
    sent = frames.appended.where("outcome <> 'fail'").select(F.coalesce("name", "id").alias("id")).distinct()
    nobodys = frames.delivered.join(sent, "id", "left_anti")
    if sent.where("id IS NULL").limit(1).count():
        nobodys = nobodys.where("FALSE")
    another = frames.delivered.join(reads, "end").where("addressee <> reader")
    found = witnesses(
        violations(frames.reads.where("rows > limit"), "over_limit", ["end"], "rows", "limit"),
        violations(another, "misreceived", ["end"], "place"),
        violations(frames.delivered.where("NOT is_asked"), "channel_not_asked", ["end"], "place"),
        violations(nobodys, "received_from_nobody", ["end"], "place"),
        violations(counts.where("ids < n"), "received_twice", ["end"], "n", "ids"),
        violations(pairs, "out_of_order", ["end"], "place", "next.place"),
    )
    return judged("receives", found, frames.reads.count(), about.unknown_because)
