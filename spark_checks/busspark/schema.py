"""Spark's schemas, derived from the declarations that are their only source: the event's model, and the facts."""

from __future__ import annotations

import types
from dataclasses import fields
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from pyspark.sql.types import BooleanType, DataType, LongType, StringType, StructField, StructType

from busproof.history import Event

_TYPES: dict[Any, DataType] = {int: LongType(), str: StringType(), bool: BooleanType()}


def event_schema() -> StructType:
    """Columns of an event. `value` is read as its JSON text."""
    return StructType([StructField(name, _spark_type(field.annotation)) for name, field in Event.model_fields.items()])


def required_of_events() -> list[str]:
    """Columns without which a line is no event."""
    return [name for name, field in Event.model_fields.items() if field.is_required()]


def fact_schema(fact: type) -> StructType:
    """Columns of a fact."""
    hints = get_type_hints(fact)
    return StructType([StructField(field.name, _spark_type(hints[field.name])) for field in fields(fact)])


def _spark_type(annotation: Any) -> DataType:
    if get_origin(annotation) is Literal:
        return StringType()
    if get_origin(annotation) in (Union, types.UnionType):
        (inner,) = (argument for argument in get_args(annotation) if argument is not type(None))
        return _spark_type(inner)
    return _TYPES.get(annotation, StringType())
