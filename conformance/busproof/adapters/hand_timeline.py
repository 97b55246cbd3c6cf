"""The kit's hand on a record of `timeline`: it holds the file's write lock, so that calls race for it."""

from __future__ import annotations

from busproof.adapters.hand import Hand


class TimelineHand(Hand):
    """What the record holds, `dump` tells."""

    DATABASE = "timeline.db"
