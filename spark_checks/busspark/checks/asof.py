"""The one join that the checks need: what was the largest value, or the last one, of a key before a moment.

Entries and questions are unioned, shuffled by key and sorted by time; a running aggregate answers every question in
that one pass. Times are event indexes, so an entry and a question never meet at the same one.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F


def before(entries: DataFrame, questions: DataFrame, keys: list[str], *, last: bool = False) -> DataFrame:
    """`questions` with a column `best`: the largest (or last) `entries.value` of the same keys with a smaller time.

    entries: keys, time, value. questions: keys, time, and whatever else it carries.
    """
    carried = [name for name in questions.columns if name not in (*keys, "time")]
    question = F.struct(*carried) if carried else F.struct(F.lit(0).alias("_"))
    asked = questions.select(*keys, "time", question.alias("question"))
    union = entries.select(*keys, "time", "value").unionByName(asked, allowMissingColumns=True)
    so_far = Window.partitionBy(*keys).orderBy("time").rowsBetween(Window.unboundedPreceding, Window.currentRow)
    aggregate: Column = F.last("value", ignorenulls=True) if last else F.max("value")
    answered = union.withColumn("best", aggregate.over(so_far)).where("question IS NOT NULL")
    return answered.select(*keys, "time", *(f"question.{name}" for name in carried), "best")
