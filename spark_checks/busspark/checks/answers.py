"""Reads with what they delivered beside them."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from busspark.frames import Frames


def answers(frames: Frames) -> DataFrame:
    """Each read with `seqs`, sorted and each once, and `least` and `most` of them (null of none)."""
    of_read = frames.delivered.groupBy("end").agg(F.sort_array(F.collect_set("seq")).alias("seqs"))
    found = frames.reads.join(of_read, "end", "left")
    found = found.withColumn("seqs", F.coalesce("seqs", F.expr("CAST(array() AS ARRAY<BIGINT>)")))
    return found.withColumns({"least": F.array_min("seqs"), "most": F.array_max("seqs")})


def neighbours(frames: Frames, *columns: str) -> DataFrame:
    """Each delivered message with the `next` of the same read."""
    following = F.expr(f"lead(struct({', '.join(columns)})) OVER (PARTITION BY end ORDER BY place)")
    return frames.delivered.withColumn("next", following)
