"""What every check needs to know of the whole history."""

from __future__ import annotations

from dataclasses import dataclass

from busspark.streams import Streams


@dataclass(frozen=True)
class About:
    """One row, collected."""

    is_whole: bool
    dump_at: int | None

    @property
    def unknown_because(self) -> str:
        """The same words as the Python checks."""
        return "" if self.is_whole else "the history has no footer: it was cut"


def about(streams: Streams) -> About:
    """Is it whole, and where is its final state?"""
    (row,) = streams.about.collect()
    return About(bool(row.is_whole), row.dump_at)
