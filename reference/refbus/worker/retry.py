"""Redelivery: the processing loop's single pass, and the end of a message whose handler always fails (W11).

A delivery is counted before the handler runs, so that a handler which kills its process counts as well. A message
that was delivered deliveries_max times without being acknowledged becomes a dead letter: recorded, its agent's
cursor moves past it, and `redrive` puts it back in front.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from refbus.kernel.errors import InvalidArgument, after_a_part
from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import retry
from refbus.kernel.verdict import verdict
from refbus.worker.archive import bring_back
from refbus.worker.cursor import Cursors
from refbus.worker.reader import Reader
from refbus.worker.replies import DeadLetter, DeadLetters, Intervals, Message, Processed, Redriven
from refbus.worker.store import Store

Handler = Callable[[Message], None]


class Pass(NamedTuple):
    """The outcome of one pass of the loop."""

    handled: list[str]  # ids
    failed: str | None  # the id whose handler failed
    error: Exception | None  # and why


class Redelivery:
    """process_loop, poll_intervals, dead_letters and redrive."""

    def __init__(self, store: Store, cursors: Cursors, reader: Reader) -> None:
        self._store, self._cursors, self._reader = store, cursors, reader

    def process_loop(self, agent_id: str, limit: int = 100, fail_ids: Sequence[str] = ()) -> Processed:
        """One pass of `process` with a handler that fails on fail_ids. Errors: INVALID_ARGUMENT."""
        failing = _strings("fail_ids", [] if fail_ids == () else fail_ids)

        def handler(message: Message) -> None:
            if message["id"] in failing:
                raise RuntimeError("asked to fail")

        handled, failed, _ = self.process(agent_id, handler, limit=limit)
        return {"handled": handled, "failed": failed}

    def process(
        self,
        agent_id: str,
        handler: Handler,
        *,
        limit: int = 100,
        wait_ms: int = 0,
        is_stopped: Callable[[], bool] = lambda: False,
    ) -> Pass:
        """Poll, hand each message to the handler and acknowledge it; stop at the first failure.

        Errors: those of poll and ack; an error of the handler is in the reply.
        """
        handled: list[str] = []
        polled = self._cursors.poll(agent_id, limit, wait_ms)["messages"]
        is_changed = False
        with after_a_part(lambda: is_changed):
            for message in polled:
                if is_stopped():
                    break
                is_dead = self._count_delivery(agent_id, message["seq"])
                is_changed = is_changed or self._store.deliveries_max is not None
                if is_dead:
                    continue
                try:
                    handler(message)
                except Exception as error:
                    self._bury_if_dead(agent_id, message["seq"])
                    return Pass(handled, message["id"], error)
                handled.append(message["id"])
                self._cursors.ack(agent_id, message["seq"])
                is_changed = True
        return Pass(handled, None, None)

    def poll_intervals(self, polls: list[bool]) -> Intervals:
        """The sleep of the adaptive loop after each poll; True: it found messages. Errors: INVALID_ARGUMENT."""
        if type(polls) is not list or not all(type(has_messages) is bool for has_messages in polls):
            raise InvalidArgument("polls must be a list of true and false")
        intervals_ms: list[float] = []
        interval_ms = retry.POLL_ACTIVE_MS
        for has_messages in polls:
            interval_ms = retry.next_poll_ms(interval_ms, has_messages)
            intervals_ms.append(interval_ms)
        return {"intervals_ms": intervals_ms}

    def dead_letters(self, agent_id: str) -> DeadLetters:
        """The agent's dead letters, in seq order (W11). Errors: INVALID_ARGUMENT."""
        limits.name("agent_id", agent_id)
        rows = self._store.db.rows(_DEAD, (agent_id,))
        messages = self._reader.messages(row[:-2] for row in rows)
        return {"messages": [_dead_letter(message, *row[-2:]) for message, row in zip(messages, rows, strict=True)]}

    def redrive(self, agent_id: str, seq: int) -> Redriven:
        """Put a dead letter back in front of its agent, its deliveries forgotten. Errors: INVALID_ARGUMENT."""
        limits.name("agent_id", agent_id)
        limits.integer("seq", seq)
        with self._store.transaction() as tx:
            key = (agent_id, seq)
            if not tx.execute("DELETE FROM dead_letters WHERE agent_id = ? AND seq = ?", key).rowcount:
                return verdict(Redriven(redriven=False))
            tx.execute("INSERT OR REPLACE INTO redriven (agent_id, seq) VALUES (?, ?)", key)
        return verdict(Redriven(redriven=True))

    def _count_delivery(self, agent_id: str, seq: int) -> bool:
        """Count one more delivery; True: it had too many already and is a dead letter now."""
        if self._store.deliveries_max is None:
            return False
        if self._bury_if_dead(agent_id, seq):
            return True
        self._store.db.write(
            """
            INSERT INTO deliveries (agent_id, seq, deliveries) VALUES (?, ?, 1)
            ON CONFLICT (agent_id, seq) DO UPDATE SET deliveries = deliveries + 1
            """,
            (agent_id, seq),
        )
        return False

    def _bury_if_dead(self, agent_id: str, seq: int) -> bool:
        if self._store.deliveries_max is None:
            return False
        with self._store.transaction() as tx:
            key = (agent_id, seq)
            row = tx.row("SELECT deliveries FROM deliveries WHERE agent_id = ? AND seq = ?", key)
            if row is None or not retry.is_dead(row[0], self._store.deliveries_max):
                return False
            tx.execute("INSERT OR REPLACE INTO dead_letters VALUES (?, ?, ?, ?)", (*key, row[0], tx.now_ms))
            bring_back(tx, seq)  # archived while the handler ran: nobody waits for an agent without a cursor
            tx.execute("DELETE FROM deliveries WHERE agent_id = ? AND seq = ?", key)
            tx.execute("DELETE FROM redriven WHERE agent_id = ? AND seq = ?", key)
            self._cursors.advance(tx, agent_id, seq)
        return True


def _dead_letter(message: Message, deliveries: int, dead_at_ms: int) -> DeadLetter:
    return {**message, "deliveries": deliveries, "dead_at_ms": dead_at_ms}


def _strings(what: str, values: Any) -> frozenset[str]:
    if type(values) is not list:
        raise InvalidArgument(f"{what} must be a list of strings")
    return frozenset(limits.text(what, value) for value in values)


_DEAD = """
    SELECT m.seq, m.id, m.ts_ms, m.from_agent, m.to_agent, m.type, m.correlation_id, m.in_reply_to, m.payload,
           m.payload_ref, d.deliveries, d.dead_at_ms
    FROM dead_letters AS d JOIN messages AS m ON m.seq = d.seq
    WHERE d.agent_id = ? ORDER BY d.seq
"""
