"""Faults of worker, cursor."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

from plant import fault, patch, reword
from waits import sleeping_on_what_came

from refbus.kernel.errors import BusError, Busy
from refbus.kernel.store import Store
from refbus.worker import cursor, route
from refbus.worker.bus import WorkerBus
from refbus.worker.replies import Acknowledged
from refbus.worker.route import Routes

CONTROL = "cursor.poll_does_not_advance"


@fault("worker.cursor.09", "worker.cursor.10")
def ack_beyond_the_log():
    """ack(10**9) is believed and makes its agent deaf for ever (W5)."""
    from refbus.kernel.rules import cursor

    patch(cursor, advance=lambda current, asked, newest: max(current, asked))


@fault("worker.cursor.04")
def sorts_by_time():
    """Messages of one millisecond come in any order."""
    reword(route, "_UNREAD", "ORDER BY seq", "ORDER BY ts_ms, id")


@fault("worker.cursor.08", "worker.cursor.11", "worker.cursor.17")
class AckGoesBack(WorkerBus):
    """A late ack moves the cursor back."""

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        super().ack(agent_id, seq)
        self.db.write("UPDATE cursors SET last_acked_seq = ? WHERE agent_id = ?", (seq, agent_id))
        return {"last_acked_seq": seq}


@fault("worker.cursor.03", "worker.cursor.07", control="lease.claim_survives_kill", item="corpus:81040+burned_numbers")
class AckIsForgotten(WorkerBus):
    """An ack is answered and moves nothing."""

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        return {}


@fault("worker.log.03", chaos={"points": True, "only": "ack"})
class AcknowledgesInGroups(WorkerBus):
    """Acks are answered at once and committed together, before the next call."""

    # Keeps them in a list.

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._acked: list[tuple[str, int]] = []

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        self._acked.append((agent_id, seq))
        return {"last_acked_seq": seq}

    def poll(self, *args: Any, **how: Any) -> Any:
        while self._acked:
            super().ack(*self._acked.pop())
        return super().poll(*args, **how)


@fault("worker.cursor.24", item="corpus:burned_numbers")
def acks_a_burned_number():
    """A number that was given and belongs to no message can be acknowledged."""
    reword(
        cursor,
        "_BEFORE_ACK",
        "SELECT max(seq) FROM messages)",
        "SELECT seq FROM sqlite_sequence WHERE name = 'messages')",
    )


@fault("worker.log.66", chaos={"holds": True, "only": "ack", "against": "an earlier ack"})
def acks_in_two_steps():
    """An acknowledgement looks, then sets the cursor: a lower one that looked before another wrote sets it back."""
    from refbus.kernel.rules import cursor

    class AcksInTwoSteps(WorkerBus):
        """Each of the two is right alone."""

        def ack(self, agent_id: str, seq: int) -> Acknowledged:
            (current,) = self.db.row(
                "SELECT COALESCE(MAX(last_acked_seq), 0) FROM cursors WHERE agent_id = ?", (agent_id,)
            )
            (newest,) = self.db.row("SELECT COALESCE(MAX(seq), 0) FROM messages")
            moved_to = cursor.advance(current, seq, newest)
            self.db.write(
                "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?)", (agent_id, moved_to, self.store.clock.now_ms())
            )
            return {"last_acked_seq": moved_to}

    return AcksInTwoSteps


@fault("worker.cursor.15")
class CursorInMemory(WorkerBus):
    """The cursor lives in the process."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.acked: dict[str, int] = {}

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        self.acked[agent_id] = max(seq, self.acked.get(agent_id, 0))
        return {"last_acked_seq": self.acked[agent_id]}

    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        done = self.acked.get(agent_id, 0)
        return {"messages": [row for row in super().poll(agent_id, **params)["messages"] if row["seq"] > done]}


@fault("worker.log.55", chaos={"disk_full": True, "levels": (), "errors": (), "wants": (("KiB of memory", (0, 256)),)})
class GivesUpWithoutMemory(WorkerBus):
    """A poll for which there was no memory once is refused ever after, however much there is by then."""

    is_out_of_memory = False

    def poll(self, *arguments: Any, **more: Any) -> Any:
        if self.is_out_of_memory:
            raise MemoryError
        try:
            return super().poll(*arguments, **more)
        except MemoryError:
            self.is_out_of_memory = True
            raise


@fault("worker.cursor.05", item="corpus:redriven_and_at_the_bound")
class IgnoresTheLimit(WorkerBus):
    """A poll gives everything, whatever its limit."""

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        return super().poll(agent_id, 10**6, wait_ms)


@fault("worker.log.66", chaos={"holds": True, "only": "poll", "against": "a batch for it and for all"})
def looks_twice():
    """A poll looks for messages to its agent, then for broadcasts: it shows only the latter of a batch between the
    two.
    """
    TO_AGENT = 4
    unread = Routes.unread

    def looked_twice(self: Routes, agent_id: str, limit: int) -> list[Any]:
        its = [row for row in unread(self, agent_id, limit) if row[TO_AGENT] is not None]
        of_all = [row for row in unread(self, agent_id, limit) if row[TO_AGENT] is None]
        return sorted(its + of_all)[:limit]

    patch(Routes, unread=looked_twice)


@fault("worker.cursor.19")
class NeverWakes(WorkerBus):
    """A waiting poll sleeps through messages that arrive."""

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        if wait_ms:
            time.sleep(0.3)
            return {"messages": []}
        return super().poll(agent_id, limit)


@fault("worker.cursor.06", control="export.lines", item="corpus:a_long_batch_again")
class NewAgentsStartAtTheEnd(WorkerBus):
    """An agent without a cursor reads only messages that come after its first poll."""

    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        if not self.db.row("SELECT 1 FROM cursors WHERE agent_id = ?", (agent_id,)):
            newest = self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0]
            self.ack(agent_id, newest)
        return super().poll(agent_id, **params)


@fault("worker.cursor.04", control="cursor.each_agent_its_own", item="corpus:a_long_batch_again")
class NewestFirst(WorkerBus):
    """A poll gives the newest messages first."""

    def poll(self, **params: Any) -> dict[str, Any]:
        return {"messages": super().poll(**params)["messages"][::-1]}


@fault("worker.cursor.05", item="corpus:redriven_for_two")
class NoLimitIsAHundred(WorkerBus):
    """A limit of 0 is taken for the default."""

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> Any:
        return super().poll(agent_id, limit if limit != 0 or limit is False else 100, wait_ms)


@fault("worker.cursor.12")
class OneCursorForAll(WorkerBus):
    """All agents share one cursor."""

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        for other in "abc":
            super().ack(other, seq)
        return super().ack(agent_id, seq)


@fault(
    "worker.cursor.01", "worker.cursor.02", "worker.cursor.13", "worker.cursor.14", control="lease.claim_survives_kill"
)
class PollAcknowledges(WorkerBus):
    """A poll moves the cursor (at most once)."""

    def poll(self, agent_id: str, **params: Any) -> dict[str, Any]:
        reply = super().poll(agent_id, **params)
        if reply["messages"]:
            self.ack(agent_id, reply["messages"][-1]["seq"])
        return reply


@fault("worker.log.54", chaos={"kills": 100})
def reads_on_by_time():
    """Reads on from the time of the last acknowledged message: one from an agent whose clock is behind is never
    read.
    """

    class Faulty(WorkerBus):
        def poll(self, *, agent_id: str, **more: Any) -> dict[str, Any]:
            reply = super().poll(agent_id=agent_id, **more)
            (since,) = self.db.row(_ACKNOWLEDGED, {"agent": agent_id})
            return {**reply, "messages": [row for row in reply["messages"] if row["ts_ms"] >= (since or 0)]}

    _ACKNOWLEDGED = """
    SELECT max(ts_ms) FROM (
        SELECT seq, ts_ms, to_agent FROM messages UNION ALL SELECT seq, ts_ms, to_agent FROM archived_messages
    )
    WHERE coalesce(to_agent, :agent) = :agent
    AND seq <= (SELECT last_acked_seq FROM cursors WHERE agent_id = :agent)
"""
    return Faulty


@fault("worker.cursor.16", "worker.cursor.18")
class SkipsAMessage(WorkerBus):
    """Every fifth message is not delivered."""

    def poll(self, **params: Any) -> dict[str, Any]:
        return {"messages": [row for row in super().poll(**params)["messages"] if row["seq"] % 5]}


@fault("worker.cursor.25", chaos={"waits": True})
def sleeps_on_what_came_while_it_looked():
    """A reader looks, and only then asks for the version whose change will wake it: that includes messages in
    between.
    """
    patch(Store, wait_for=sleeping_on_what_came)


@fault("worker.log.55", chaos={"disk_full": True, "only": "poll", "levels": (), "errors": ("EIO",)})
class TakesAnErrorForSilence(WorkerBus):
    """A poll that cannot read is answered with no messages."""

    # Nothing is also an answer.

    def poll(self, *args: Any, **how: Any) -> Any:
        try:
            return super().poll(*args, **how)
        except BusError:
            return {"messages": []}


@fault("worker.cursor.08", item="corpus:06030")
def time_of_the_first_ack():
    """A cursor's time is that of the first acknowledgement for ever."""
    reword(cursor, "_ADVANCE", "updated_at_ms = excluded.updated_at_ms", "updated_at_ms = cursors.updated_at_ms")


@fault("worker.cursor.20")
class WaitingInVainIsAnError(WorkerBus):
    """A wait that saw no message ends in an error."""

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        reply = super().poll(agent_id, limit, wait_ms)
        if wait_ms and not reply["messages"]:
            raise Busy("nothing came")
        return reply


@fault("worker.log.54", chaos={"kills": 60})
class AcknowledgesAtItsEnd(WorkerBus):
    """On SIGTERM all that was handed out is acknowledged, handled or not."""

    def poll(self, agent_id: str, *args: Any, **how: Any) -> Any:
        signal.signal(signal.SIGTERM, lambda *_: self._leave())
        reply = super().poll(agent_id, *args, **how)
        if reply["messages"]:
            self.__dict__.setdefault("_handed", {})[agent_id] = reply["messages"][-1]["seq"]
        return reply

    def _leave(self) -> None:
        for agent_id, seq in self.__dict__.get("_handed", {}).items():
            self.ack(agent_id, seq)
        os._exit(0)


@fault("worker.log.55", chaos={"disk_full": True, "only": "ack", "levels": ()}, author="public report, pulsar #7683")
class RemembersAnAckBeforeItIsStored(WorkerBus):
    """An ack is remembered before it is stored: after an error, the same again is answered and not made."""

    def ack(self, agent_id: str, seq: int) -> Any:
        acked = self.__dict__.setdefault("_acked", {})
        if isinstance(seq, int) and seq <= acked.get(agent_id, -1):
            return {"last_acked_seq": acked[agent_id]}
        if isinstance(seq, int) and seq <= self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0]:
            acked[agent_id] = seq
        return super().ack(agent_id, seq)
