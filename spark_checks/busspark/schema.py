"""Spark's schema of a history, derived from the pydantic model, which is its only source."""

from __future__ import annotations

import types
from typing import Any, Literal, Union, get_args, get_origin

from pyspark.sql.types import BooleanType, DataType, LongType, StringType, StructField, StructType

from busproof.history import Event

_TYPES: dict[Any, DataType] = {int: LongType(), str: StringType(), bool: BooleanType()}


def event_schema() -> StructType:
    """Columns of an event. `value` is read as its JSON text."""
    return StructType([StructField(name, _spark_type(field.annotation)) for name, field in Event.model_fields.items()])


def _spark_type(annotation: Any) -> DataType:
    if get_origin(annotation) is Literal:
        return StringType()
    if get_origin(annotation) in (Union, types.UnionType):
        (inner,) = (argument for argument in get_args(annotation) if argument is not type(None))
        return _spark_type(inner)
    return _TYPES.get(annotation, StringType())
