"""Faults of timeline, cursor."""

import contextlib
import os
import time
from dataclasses import replace
from typing import Any

from plant import fault, patch, reword, rewrite
from waits import timed_before_the_lock

from refbus.kernel import wake
from refbus.kernel.errors import InvalidArgument, NotFound
from refbus.kernel.store import Store
from refbus.timeline import cursor, filters, sqlite
from refbus.timeline.filters import Filter
from refbus.timeline.sqlite import SqliteQueue, _parts

CONTROL = "log.one_head"


@fault("timeline.cursor.03", item="corpus:program_09")
def acks_are_forgotten():
    """An acknowledged message comes again when its time is over."""

    def looked_at(queue: SqliteQueue, delivery: str) -> None:
        _parts(delivery)

    patch(SqliteQueue, ack=looked_at)


@fault("timeline.cursor.21")
def acks_are_not_confirmed():
    """On NATS an ack is published, and answered before the server has it."""
    from refbus.timeline.jetstream import JetStreamQueue, _parts

    def ack(queue: JetStreamQueue, delivery: str) -> None:
        _parts(delivery)
        client = queue.client
        client._run(client._connection.publish(delivery, b"+ACK"), 2.0)

    patch(JetStreamQueue, ack=ack)


@fault("timeline.cursor.21")
def acks_of_nobody_are_answered():
    """On NATS an ack that no consumer heard is answered as done."""
    from refbus.timeline.jetstream import JetStreamQueue, _parts

    _ack = JetStreamQueue.ack

    def ack(queue: JetStreamQueue, delivery: str) -> None:
        _parts(delivery)
        with contextlib.suppress(InvalidArgument):
            _ack(queue, delivery)

    patch(JetStreamQueue, ack=ack)


@fault("timeline.cursor.13", item="corpus:program_03")
def any_delivery_will_do():
    """ack takes a delivery that no fetch gave."""
    parts = sqlite._parts

    def lenient(delivery: object) -> tuple[str, int, int]:
        try:
            return parts(delivery)
        except InvalidArgument:
            return "", 0, 0

    patch(sqlite, _parts=lenient)


@fault("timeline.cursor.24")
def any_service_will_do():
    """A worker is given requests for every service, whichever its filter names."""
    SERVICE = 3  # its place among the tokens of a request
    glob_of = Filter.glob.fget

    def glob(wanted: Filter) -> str:
        if len(wanted.tokens) <= SERVICE:
            return str(glob_of(wanted))
        return str(glob_of(replace(wanted, tokens=(*wanted.tokens[:SERVICE], None, *wanted.tokens[SERVICE + 1 :]))))

    patch(Filter, glob=property(glob))


@fault("timeline.cursor.06", item="corpus:program_02")
def comes_a_millisecond_late():
    """A message comes again a millisecond after its time."""
    init = SqliteQueue.__init__

    def longer(queue: SqliteQueue, *args: Any, ack_wait_ms: int, **kwargs: Any) -> None:
        init(queue, *args, ack_wait_ms=ack_wait_ms + 1, **kwargs)

    patch(SqliteQueue, __init__=longer)


@fault("timeline.cursor.15", item="corpus:consumers_have_one_name")
def consumers_of_a_process():
    """Each process has its own consumers, so a message that one worker has in hand, or has done, comes to another."""
    consumer = filters.Filter.consumer.fget
    patch(filters.Filter, consumer=property(lambda wanted: f"{os.getpid()}-{consumer(wanted)}"))


@fault("timeline.cursor.11")
def does_not_wait():
    """A fetch that should wait answers at once."""
    take = SqliteQueue.take

    def at_once(queue: SqliteQueue, wanted: Filter, wait_s: float = 0) -> Any:
        return take(queue, wanted)

    patch(SqliteQueue, take=at_once)


@fault("timeline.cursor.04", item="corpus:program_02")
def every_delivery_is_the_first():
    """delivery_count is always 1."""
    as_fetched = cursor._as_fetched
    patch(cursor, _as_fetched=lambda taken: {**as_fetched(taken), "delivery_count": 1})


@fault("timeline.cursor.08", item="corpus:program_01")
def groups_share_their_work():
    """A message goes to one group only."""
    take = SqliteQueue.take

    def without_group(queue: SqliteQueue, wanted: Filter, wait_s: float = 0) -> Any:
        return take(queue, replace(wanted, group=None), wait_s)

    patch(SqliteQueue, take=without_group)


@fault("timeline.cursor.10", item="corpus:program_03")
def keys_lose_their_timeline():
    """A worker is told the timeline main, whichever it is."""
    as_fetched = cursor._as_fetched

    def on_main(taken: Any) -> Any:
        message = as_fetched(taken)
        return {**message, "key": {**(message["key"] or {}), "timeline": "main"}}

    patch(cursor, _as_fetched=on_main)


@fault("timeline.cursor.14", item="corpus:program_01")
def late_acks_are_refused():
    """An ack by a worker whose time was over is refused."""
    ack = SqliteQueue.ack

    def in_time(queue: SqliteQueue, delivery: str) -> None:
        if queue.store.db.row(
            "SELECT 1 FROM deliveries WHERE consumer = ? AND position = ? AND delivery_count = ?", _parts(delivery)
        ):
            return ack(queue, delivery)
        raise NotFound("this delivery is over")

    patch(SqliteQueue, ack=in_time)


@fault("timeline.cursor.20")
def late_naks_count():
    """A nak gives a message back, no matter who has it by now, on either backend."""
    from refbus.timeline.jetstream import JetStreamQueue

    def whoever_has_it(queue: SqliteQueue, delivery: str) -> None:
        consumer, position, _ = _parts(delivery)
        queue.store.db.write(
            "UPDATE deliveries SET visible_at_us = 0 WHERE consumer = ? AND position = ?", (consumer, position)
        )

    patch(SqliteQueue, nak=whoever_has_it)
    patch(JetStreamQueue, _is_last=lambda queue, delivery, info: True)


@fault("timeline.cursor.22", chaos={"waits": True})
def listens_when_it_has_looked():
    """A worker looks, and only then listens to the folder's events: one that came before rings no bell."""

    def wait_for(store: Store, look: Any, wait_s: float) -> Any:
        deadline = time.monotonic() + wait_s
        if node := look():
            return node
        with store.waiters.borrow() as waiter:
            while not node and (left_s := deadline - time.monotonic()) > 0:
                waiter.wait(left_s)
                node = look()
        return node

    # the bell alone
    patch(wake, SLEEP_S_MAX=3600.0)
    patch(Store, wait_for=wait_for)


@fault("timeline.cursor.02")
def looks_before_it_takes():
    """The next message is looked up before the lock is taken."""
    _next, _seen = sqlite._next, dict[str, int]()

    def of_the_look(tx: Any, name: str, wanted: Any) -> int | None:
        if name not in _seen:
            rowid = _next(tx, name, wanted)
            if rowid is not None:
                _seen[name] = rowid
            return rowid
        return _seen.pop(name)

    patch(sqlite, _next=of_the_look)


@fault("timeline.cursor.12", item="corpus:program_23")
def nak_changes_nothing():
    """A message that was given back comes when its time is over."""

    def looked_at(queue: SqliteQueue, delivery: str) -> None:
        _parts(delivery)

    patch(SqliteQueue, nak=looked_at)


@fault(
    "timeline.cursor.18", chaos={"holds": True, "only": "fetch", "against": "a fetch after the time-out that it got"}
)
def naks_of_the_past():
    """A nak gives a message back though it is in another worker's hands by now."""

    def whoever_has_it(queue: SqliteQueue, delivery: str) -> None:
        consumer, position, _ = _parts(delivery)
        queue.store.db.write(
            "UPDATE deliveries SET visible_at_us = 0 WHERE consumer = ? AND position = ?", (consumer, position)
        )

    patch(SqliteQueue, nak=whoever_has_it)


@fault("timeline.cursor.07", item="corpus:program_02")
def new_work_comes_first():
    """Messages that nobody had yet are handed out before those that came back."""
    rewrite(
        sqlite.SqliteQueue.take,
        "_due(tx, name) or (_next(tx, name, wanted), 0)",
        "(_next(tx, name, wanted), 0) if _next(tx, name, wanted) else _due(tx, name) or (None, 0)",
    )


@fault("timeline.cursor.09", item="corpus:program_04")
def one_floor_for_a_type():
    """All consumers of a type share one record of handed-out messages."""
    consumer = Filter.consumer

    def of_the_type(wanted: Filter) -> str:
        return f"{wanted.kind.__name__}{wanted.group or ''}"

    take = SqliteQueue.take

    def together(queue: SqliteQueue, wanted: Filter, wait_s: float = 0) -> Any:
        Filter.consumer = property(of_the_type)
        try:
            return take(queue, wanted, wait_s)
        finally:
            Filter.consumer = consumer

    patch(SqliteQueue, take=together)


@fault("timeline.log.44", "timeline.cursor.17", chaos={"holds": True, "only": "fetch, abandoned"})
def takes_what_was_due():
    """An abandoned message is looked up before the lock is taken: two workers may both get it."""
    _due, _seen = sqlite._due, dict[str, Any]()

    def of_the_look(tx: Any, name: str) -> Any:
        if name not in _seen:
            due = _due(tx, name)
            if due is not None:
                _seen[name] = due
            return due
        return _seen.pop(name)

    patch(sqlite, _due=of_the_look)


@fault("timeline.cursor.05")
def the_dead_keep_theirs():
    """A message that a dead worker had in hand never comes again."""
    patch(sqlite, _due=lambda tx, consumer: None)


@fault("timeline.cursor.23")
def two_have_it_in_hand():
    """A message that was fetched is there for the next worker at once."""
    SqliteQueue.ack_wait_us = property(lambda _: 0, lambda _, value: None)


@fault("timeline.cursor.19")
def waits_for_a_write():
    """A fetch that waits looks again only when somebody has written: time alone gives it nothing."""
    take = SqliteQueue.take

    def after_a_write(queue: SqliteQueue, wanted: Any, wait_s: float = 0) -> Any:
        seen: int | None = None

        def look() -> Any:
            nonlocal seen
            before, seen = seen, queue.store.version()
            return None if seen == before else take(queue, wanted)

        return queue.store.wait_for(look, wait_s) if wait_s > 0 else take(queue, wanted)

    patch(SqliteQueue, take=after_a_write)


@fault("timeline.cursor.01", item="corpus:program_02")
def what_is_in_hands_is_anybodys():
    """A message that a worker has is given to the next one that asks."""
    SqliteQueue.ack_wait_us = property(lambda _: 0, lambda _, value: None)


@fault("timeline.cursor.25")
def times_before_the_lock():
    """A fetch takes the time before it waits for the file: its message comes again too soon."""
    timed_before_the_lock()


@fault("timeline.cursor.01", item="corpus:each_group_settles_for_itself.aged")
def floors_of_32_bits():
    """A consumer's floor is kept in 31 bits."""
    rewrite(SqliteQueue.take, "(name, position))", "(name, position & 0x7FFFFFFF))")


@fault("timeline.cursor.01", item="corpus:taken_out_while_in_hand", author="public report, lorawan-stack #5321")
def hands_on_what_is_gone():
    """A message that was removed from the file is handed on when its time is over: the fetch fails, each time."""
    reword(sqlite, "_DUE", "messages.position = deliveries.position AND typeof(number) = 'integer'", "1")
