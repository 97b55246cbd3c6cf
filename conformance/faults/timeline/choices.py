"""Choices of timeline where its seed is silent: nobody may blame them."""

import base64
import binascii
from typing import Any

from plant import fault, patch, reword

from refbus.kernel.errors import InvalidArgument, NotFound
from refbus.timeline import log, sqlite, token
from refbus.timeline.bus import TimelineBus
from refbus.timeline.filters import Filter
from refbus.timeline.lineage import Lineage, Span
from refbus.timeline.message import Place
from refbus.timeline.sqlite import SqliteQueue


@fault()
def a_log_shows_ten():
    """log shows ten messages by default."""
    patch(log, LIMIT=10)


@fault()
def a_store_of_its_own():
    """No tables that anybody knows, and ack_wait_ms by the session's clock all the same."""
    patch(TimelineBus, FEATURES=tuple(name for name in TimelineBus.FEATURES if name != "sqlite"))


@fault()
def back_in_the_order_of_coming_back():
    """Among messages that came back, fetch gives first the one that was given back, or ran out, first."""
    # The moment of a nak is kept below zero: it is over, whatever the clock shows later.
    reword(sqlite, "_DUE", "ORDER BY position LIMIT 1", "ORDER BY abs(visible_at_us), position LIMIT 1")

    def nak(self: sqlite.SqliteQueue, delivery: str) -> None:
        with self.store.transaction() as tx:
            tx.execute(
                "UPDATE deliveries SET visible_at_us = -?"
                " WHERE consumer = ? AND position = ? AND delivery_count = ? AND visible_at_us > 0",
                (tx.now_us, *sqlite._parts(delivery)),
            )

    patch(sqlite.SqliteQueue, nak=nak)


@fault()
def deliveries_have_no_form():
    """The delivery that fetch gives to ack with is a text in Base64, padded, which tells nobody anything."""

    def opened(delivery: Any) -> Any:
        if type(delivery) is not str:
            return delivery
        try:
            return base64.b64decode(delivery.encode(), validate=True)[::-1].decode()
        except (binascii.Error, UnicodeError):
            raise InvalidArgument("no delivery") from None

    class Choice(TimelineBus):
        def fetch(self, filter: Any, group: Any = None, wait_ms: Any = 0) -> dict[str, Any]:
            reply = super().fetch(filter, group, wait_ms)
            if reply["message"] is not None:
                hidden = base64.b64encode(reply["message"]["delivery"].encode()[::-1]).decode()
                reply["message"]["delivery"] = hidden
            return reply

        def ack(self, delivery: Any) -> dict[str, Any]:
            return super().ack(opened(delivery))

        def nak(self, delivery: Any) -> dict[str, Any]:
            return super().nak(opened(delivery))

    return Choice


@fault()
def forks_of_a_name_alone():
    """A timeline that nobody has written to is there all the same: it can be forked before its first message (T17)."""
    place = Lineage.place

    def spans(lineage: Lineage, timeline: str) -> list[Span]:
        seen: list[Span] = []
        met: set[str] = set()
        at, upto = lineage._branch(token.encode(timeline)), None
        while at.timeline not in met:
            met.add(at.timeline)
            after = 0 if at.origin is None else at.origin.at
            if upto is None or upto > after:
                seen.append(Span(at.timeline, after, upto))
            if at.origin is None:
                return seen[::-1]
            upto = after if upto is None else min(upto, after)
            try:
                at = lineage._branch(at.origin.parent)
            except NotFound:
                return seen[::-1]
        raise NotFound("its parents go in a circle")

    patch(
        Lineage,
        spans=spans,
        place=lambda lineage, timeline, number: place(lineage, timeline, number) if number else Place(),
    )


@fault()
def given_back_before_run_out():
    """Among messages that came back, fetch gives those that were given back, by age, before those that ran out."""
    reword(sqlite, "_DUE", "ORDER BY position LIMIT 1", "ORDER BY visible_at_us, position LIMIT 1")


@fault()
def groups_begin_now():
    """A group gets the messages that are sent after it first asked, not the record before that (T14)."""
    take = SqliteQueue.take
    BEGIN = "INSERT OR IGNORE INTO consumers (consumer, floor) SELECT ?, coalesce(max(position), 0) FROM messages"

    def from_now(queue: SqliteQueue, wanted: Filter, wait_s: float = 0) -> Any:
        if wanted.group is not None:
            queue.store.db.write(BEGIN, (wanted.consumer,))
        return take(queue, wanted, wait_s)

    patch(SqliteQueue, take=from_now)
