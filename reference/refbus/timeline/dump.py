"""The whole state of the store: for resolving what a fault left unknown."""

from __future__ import annotations

from typing import Any, TypedDict

from refbus.timeline.fork import Row, as_row
from refbus.timeline.message import Message, as_message
from refbus.timeline.store import Store

PAGE = 1000


class Dumped(TypedDict):
    """dump: every message by timeline and number, the timelines, messages in hands, and the store's health (`ok`)."""

    messages: list[Message]
    timelines: list[Row]
    deliveries: list[dict[str, Any]]
    integrity: str


class Dump:
    """dump."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def dump(self) -> Dumped:
        """All rows that say what happened."""
        queue = self.store.queue
        branches = queue.branches()
        messages: list[Message] = []
        for branch in branches:
            last = -1
            while page := queue.read(branch.timeline, last, PAGE):
                messages += [as_message(node) for node in page]
                if len(page) < PAGE:
                    break
                last = page[-1].number
        return {
            "messages": messages,
            "timelines": [as_row(branch) for branch in branches],
            "deliveries": queue.held(),
            "integrity": queue.integrity(),
        }
