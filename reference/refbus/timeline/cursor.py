"""Work queues: one worker of a type gets each message, and keeps it until it has acknowledged it."""

from __future__ import annotations

from typing import Any, TypedDict

from refbus.kernel.rules import limit as limits
from refbus.timeline import filters
from refbus.timeline.message import Message, as_message
from refbus.timeline.queue import Delivery
from refbus.timeline.store import Store

WAIT_MS_MAX = 24 * 60 * 60 * 1000


class Fetched(Message):
    """A message in the caller's hands: `delivery` is for ack and nak; `delivery_count` tells how often it came."""

    delivery: str
    delivery_count: int


class Fetch(TypedDict):
    """fetch: None where there is nothing."""

    message: Fetched | None


class Settled(TypedDict):
    """ack, nak: nothing to say."""


class Cursor:
    """fetch, ack and nak."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def fetch(self, filter: dict[str, Any], group: str | None = None, wait_ms: int = 0) -> Fetch:
        """The oldest message of the filter that nobody of the group has; it is the caller's until ack, or ack_wait_ms.

        A group is a durable consumer of its own and begins with the first message of all: a wildcard subscription is a
        group that nobody shares. Waits for wait_ms of real time. Errors: INVALID_ARGUMENT.
        """
        wanted = filters.from_dict(filter, group)
        limits.integer("wait_ms", wait_ms, 0, WAIT_MS_MAX)
        taken = self.store.queue.take(wanted, wait_ms / 1000)
        return {"message": None if taken is None else _as_fetched(taken)}

    def ack(self, delivery: str) -> Settled:
        """The message is done and never comes again. No effect on a delivery that is over. Errors: INVALID_ARGUMENT."""
        self.store.queue.ack(limits.text("delivery", delivery))
        return {}

    def nak(self, delivery: str) -> Settled:
        """Give it back: it may be fetched at once. No effect on a delivery that is over. Errors: INVALID_ARGUMENT."""
        self.store.queue.nak(limits.text("delivery", delivery))
        return {}


def _as_fetched(taken: Delivery) -> Fetched:
    return {**as_message(taken.node), "delivery": taken.token, "delivery_count": taken.deliveries}
