"""What every check needs to know of the whole history."""

from __future__ import annotations

from busproof.checks.calls import Completeness
from busspark.calls import Frames


def about(streams: Frames) -> Completeness:
    """Is it whole, and where is its final state?"""
    (row,) = streams.about.collect()
    return Completeness(is_whole=bool(row.is_whole), dump_at=row.dump_at)
