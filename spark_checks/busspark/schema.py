"""Spark's schemas, derived from the declarations of the facts, which are their only source."""

from __future__ import annotations

import msgspec
from pyspark.sql.types import BooleanType, LongType, StringType, StructField, StructType

from busproof.oracle.checks.facts import Fact

_TYPES = {int: LongType(), str: StringType(), bool: BooleanType()}


def fact_schema(fact: type[Fact]) -> StructType:
    """Columns of a fact."""
    return StructType(
        [StructField(field.name, _TYPES[_kind(str(field.type))]) for field in msgspec.structs.fields(fact)]
    )


def _kind(annotation: str) -> type:
    return next(kind for kind in (bool, int, str) if kind.__name__ in annotation)
