"""Faults of worker, retry."""

from __future__ import annotations

from typing import Any

from plant import fault, patch, reword

from refbus.kernel.rules import limit as limits
from refbus.kernel.rules import retry
from refbus.worker import bus, cursor, route
from refbus.worker.bus import WorkerBus

CONTROL = "retry.dead_letter_is_off"


@fault("worker.retry.02", item="corpus:a_bound_that_comes_later")
def acks_before_it_handles():
    """The loop acknowledges a message before its handler has run."""
    from refbus.worker import retry

    class Faulty(retry.Redelivery):
        def process(self, agent_id: str, handler: Any, **params: Any) -> Any:
            def acked_first(message: Any) -> None:
                self._cursors.ack(agent_id, message["seq"])
                handler(message)

            return super().process(agent_id, acked_first, **params)

    patch(bus, Redelivery=Faulty)


@fault("worker.retry.01", control="cursor.poll_does_not_advance", item="corpus:as_deep_as_may_be")
class AcksTheWholeLog(WorkerBus):
    """The loop acknowledges more than it handled."""

    def process_loop(self, agent_id: str, **params: Any) -> dict[str, Any]:
        reply = super().process_loop(agent_id, **params)
        self.ack(agent_id, self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0])
        return reply


@fault("worker.retry.10", item="corpus:redriven_and_not_handed_out")
def any_ack_settles_redriven():
    """An acknowledgement settles redriven messages that were never handed out again."""
    ack_and_settle = cursor.Cursors._ack_and_settle

    def settle(self: cursor.Cursors, agent_id: str, seq: int) -> int:
        self._store.db.write("DELETE FROM redriven WHERE agent_id = ? AND seq <= ?", (agent_id, seq))
        return ack_and_settle(self, agent_id, seq)

    patch(cursor.Cursors, _ack_and_settle=settle)


@fault("worker.retry.10", item="corpus:06076")
class AnybodyRedrives(WorkerBus):
    """Any agent redrives any dead letter."""

    def redrive(self, agent_id: str, seq: int) -> Any:
        query = "SELECT agent_id FROM dead_letters WHERE seq = ? ORDER BY agent_id <> ?, agent_id"  # its own first
        dead = self.db.row(query, (limits.integer("seq", seq), limits.name("agent_id", agent_id)))
        return super().redrive(dead[0] if dead else agent_id, seq)


@fault("worker.retry.06", item="corpus:pairs")
def backs_off_too_fast():
    """The interval doubles on each empty poll."""
    patch(retry, POLL_BACKOFF=2.0)


@fault("worker.route.02", item="corpus")
def dead_for_all():
    """A broadcast that one agent gave up is unread for nobody."""
    reword(route, "_UNREAD", "    WHERE", "    WHERE seq NOT IN (SELECT seq FROM dead_letters) AND")


@fault("worker.retry.11", control="cursor.poll_does_not_advance")
class GivesUpUnasked(WorkerBus):
    """Dead-lettering is on by default."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"deliveries_max": 5, **options})


@fault("worker.retry.03", item="corpus:a_bound_that_comes_later")
class GoesOnAfterAFailure(WorkerBus):
    """The loop handles the messages behind a failed one."""

    def process_loop(self, agent_id: str, limit: int = 100, fail_ids: Any = ()) -> dict[str, Any]:
        failed, handled = None, []
        for message in self.poll(agent_id, limit=limit)["messages"]:
            if message["id"] in fail_ids:
                failed = message["id"]
                continue
            handled.append(message["id"])
            self.ack(agent_id, message["seq"])
        return {"handled": handled, "failed": failed}


@fault("worker.retry.08", "worker.retry.09")
def never_gives_up():
    """No message ever becomes a dead letter (W11)."""
    patch(retry, is_dead=lambda deliveries, deliveries_max: False)


@fault("worker.retry.08", item="corpus")
class OpeningClearsDeadLetters(WorkerBus):
    """Dead letters live as long as nobody opens the store."""

    def __init__(self, *store: Any, **options: Any) -> None:
        super().__init__(*store, **options)
        self.db.write("DELETE FROM dead_letters")


@fault("worker.retry.04", item="corpus:pairs")
def polls_too_often():
    """The active interval is 100 ms."""
    patch(retry, POLL_ACTIVE_MS=100.0)


@fault("worker.retry.10", item="corpus:redriven_and_at_the_bound")
class RedriveIsForgotten(WorkerBus):
    """A redriven message is not delivered."""

    def redrive(self, agent_id: str, seq: int) -> dict[str, Any]:
        reply = super().redrive(agent_id, seq)
        self.db.write("DELETE FROM redriven")
        return reply


@fault("worker.log.03", chaos={"points": True, "only": "redrive"})
class RedrivesInTwoSteps(WorkerBus):
    """A dead letter leaves the list, and goes back to its agent in a transaction of its own. A kill between loses
    it.
    """

    # Two statements.

    def redrive(self, agent_id: str, seq: int) -> dict[str, Any]:
        key = (agent_id, seq)
        if not self.db.write("DELETE FROM dead_letters WHERE agent_id = ? AND seq = ?", key).rowcount:
            return {"redriven": False}
        self.db.write("INSERT OR REPLACE INTO redriven (agent_id, seq) VALUES (?, ?)", key)
        return {"redriven": True}


@fault("worker.retry.05", item="corpus:06112")
def sleeps_too_long():
    """The idle interval is four seconds."""
    patch(retry, POLL_IDLE_MS=4000.0)


@fault("worker.retry.07", item="corpus:06056")
def stays_slow():
    """The interval does not go back to fast after a message."""
    patch(retry, next_poll_ms=lambda interval_ms, seen: interval_ms if seen else min(interval_ms * 1.5, 2000.0))
