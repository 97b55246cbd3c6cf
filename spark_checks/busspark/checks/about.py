"""What every check needs to know of the whole history."""

from __future__ import annotations

from dataclasses import dataclass

from busspark.calls import Frames


@dataclass(frozen=True)
class About:
    """One row, collected."""

    is_whole: bool
    dump_at: int | None

    @property
    def unknown_because(self) -> str:
        """The same words as the Python checks."""
        return "" if self.is_whole else "the history has no footer: it was cut"

    @property
    def no_dump(self) -> str:
        """Why what needs the final state cannot be told."""
        return "" if self.dump_at is not None else "the history has no final dump"


def about(streams: Frames) -> About:
    """Is it whole, and where is its final state?"""
    (row,) = streams.about.collect()
    return About(bool(row.is_whole), row.dump_at)
