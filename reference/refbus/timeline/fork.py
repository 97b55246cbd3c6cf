"""Forks: a new timeline that begins in the middle of another, and the DAG of all of them (T8)."""

from __future__ import annotations

from typing import TypedDict

from refbus.kernel.rules import limit as limits
from refbus.timeline import keys, token
from refbus.timeline.lineage import Lineage
from refbus.timeline.message import draft
from refbus.timeline.queue import Branch, Origin
from refbus.timeline.store import Store


class Forked(TypedDict):
    """fork: the new timeline's first message."""

    timeline: str
    parent: str
    at: int
    number: int
    hash: str
    duplicate: bool


class Row(TypedDict):
    """A timeline. Parent and `at` are None for a root; number and hash are its last message's."""

    timeline: str
    parent: str | None
    at: int | None
    number: int
    hash: str


class Timelines(TypedDict):
    """timelines."""

    timelines: list[Row]


class Forks:
    """fork and timelines."""

    def __init__(self, store: Store, lineage: Lineage) -> None:
        self.store, self.lineage = store, lineage

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Forked:
        """Begin `timeline` behind message `at` of the parent, as the parent sees it; 0: before its first.

        The parent is not written to: the fork message is the first of the new timeline, numbered at + 1.
        Errors: NOT_FOUND for the parent or the message; ID_CONFLICT where the timeline exists, unless it began so.
        """
        key = keys.of(keys.Fork, timeline, submission, agent_name)
        token.name("parent", parent)
        limits.integer("at", at)
        start = self.lineage.place(parent, at)
        message = draft(key, {"parent": parent, "at": at})
        node, duplicate = self.store.queue.append(message, Origin(token.encode(parent), at), start)
        return {
            "timeline": timeline,
            "parent": parent,
            "at": at,
            "number": node.number,
            "hash": node.hash,
            "duplicate": duplicate,
        }

    def timelines(self) -> Timelines:
        """All timelines by name, each with where it began: the DAG."""
        rows = [as_row(branch) for branch in self.store.queue.branches()]
        return {"timelines": sorted(rows, key=lambda row: row["timeline"])}


def as_row(branch: Branch) -> Row:
    """A timeline as its reader sees it."""
    parent, at = branch.origin or (None, None)
    return {
        "timeline": token.shown(branch.timeline),
        "parent": None if parent is None else token.shown(parent),
        "at": at,
        "number": branch.last.number,
        "hash": branch.last.hash,
    }
