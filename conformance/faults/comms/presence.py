"""Faults of comms, presence."""

import json
from typing import Any

from plant import fault, in_two_steps, patch, wrap

from refbus.comms import bus, presence
from refbus.comms.bus import CommsBus
from refbus.comms.lease import Leases
from refbus.comms.log import Log
from refbus.comms.presence import AgentHealth, Presence
from refbus.kernel.errors import InvalidArgument, NotFound

CONTROL = "presence.heartbeat"


@fault("comms.log.71", chaos={"points": True, "only": "send_message"})
def counts_afterwards():
    """A message is stored, and its recipient's counter moves in a transaction of its own."""
    return in_two_steps(CommsBus, "send_message", Presence, "count")


@fault("comms.log.95", chaos={"holds": True, "only": ("get_agent_health", "claim_message, abandoned")})
def health_sees_what_was_due():
    """Due messages are looked for before the lock is taken: an agent that claims one in between loses it."""
    _health = Presence.get_agent_health
    _DUE = """
    SELECT id, to_agent FROM due_deliveries WHERE agent_id = ?
    AND due_at <= strftime('%Y-%m-%dT%H:%M:%f', ? / 1e6, 'unixepoch') || '000Z'
"""

    def get_agent_health(self: Presence, agent_id: str) -> AgentHealth:
        with self.store.snapshot() as seen:
            due = seen.execute(_DUE, (agent_id, seen.now_us)).fetchall()
        with self.store.transaction() as tx:
            for message_id, owner in due:
                tx.execute("UPDATE messages SET status = 'pending' WHERE id = ?", (message_id,))
                tx.execute("UPDATE message_deliveries SET status = 'pending' WHERE message_id = ?", (message_id,))
                self.count(tx, owner, "messages_pending", 1)
        return _health(self, agent_id)

    patch(Presence, get_agent_health=get_agent_health)


@fault("comms.presence.15", item="presence.counters", control="retry.comes_back", author="public report, php-rsmq #8")
def each_delivery_is_counted_off():
    """messages_pending goes down with each delivery of a message, and not with its first alone."""
    take = Leases._take

    def counted_off(self: Leases, tx: Any, message_id: str, agent_id: str, state: Any, after: Any) -> None:
        take(self, tx, message_id, agent_id, state._replace(status="pending"), after)

    patch(Leases, _take=counted_off)


@fault("comms.presence.01", "comms.presence.04", control="retry.comes_back")
class HeartbeatsAreIdle(CommsBus):
    """An agent is idle, whatever it says."""

    def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> dict[str, Any]:
        return super().send_heartbeat(agent_id, "idle", current_task)


@fault("comms.presence.05", control="retry.comes_back")
class HeartbeatsInMemory(CommsBus):
    """A heartbeat is not in the file."""

    beats: dict[str, dict[str, Any]] = {}  # noqa: RUF012

    def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> dict[str, Any]:
        self.beats[agent_id] = {"status": status, "current_task": current_task}
        (self.store.folder / "beats.json").write_text(json.dumps(self.beats))
        super().send_heartbeat("ghost", status, current_task)
        return {}

    def get_agent_health(self, agent_id: str) -> dict[str, Any]:
        beat = json.loads((self.store.folder / "beats.json").read_text())[agent_id]
        return {**super().get_agent_health("ghost"), "agent_id": agent_id, **beat}


@fault("comms.presence.14")
def heartbeats_start_to_count_anew():
    """A heartbeat puts a new row in the place of the agent's, and with it counters that are zero."""

    class Faulty(Presence):
        def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> Any:
            reply = super().send_heartbeat(agent_id, status, current_task)
            self.store.db.write(
                "UPDATE agent_status SET messages_pending = 0, messages_processed = 0, "
                "error_count = 0 WHERE agent_id = ?",
                (agent_id,),
            )
            return reply

    patch(bus, Presence=Faulty)


@fault("comms.presence.03", control="retry.comes_back")
def nobody_is_degraded():
    """The status degraded is refused."""
    patch(presence, STATUSES=("active", "idle", "failed"))


@fault("comms.presence.08", "comms.presence.09", "comms.presence.10", "comms.presence.12")
def pending_is_not_counted():
    """messages_pending stays zero."""

    wrap(
        Presence,
        count=lambda whole, self, tx, agent_id, column, change: whole(
            self, tx, agent_id, column, 0 if column == "messages_pending" else change
        ),
    )


@fault("comms.presence.15", "comms.presence.09")
def pending_never_falls():
    """messages_pending only rises: a completed message counts for ever."""

    wrap(
        Presence,
        count=lambda whole, self, tx, agent_id, column, change: whole(
            self, tx, agent_id, column, max(0, change) if column == "messages_pending" else change
        ),
    )


@fault("comms.presence.06", item="corpus:counters_behind_the_back")
def sends_count_as_heartbeats():
    """A message makes its recipient look alive."""

    class Faulty(Log):
        def insert(self, tx: Any, envelope: Any, expires_at: Any) -> None:
            super().insert(tx, envelope, expires_at)
            tx.execute("UPDATE agent_status SET last_heartbeat = ?", (envelope.timestamp,))

    patch(bus, Log=Faulty)


@fault("comms.presence.02", "comms.presence.06", control="presence.unknown")
class TheFirstHeartbeatCounts(CommsBus):
    """A second heartbeat changes nothing."""

    def send_heartbeat(self, agent_id: str, status: str, current_task: str | None = None) -> dict[str, Any]:
        known = self.store.db.row("SELECT 1 FROM agent_status WHERE agent_id = ?", (agent_id,))
        return {} if known else super().send_heartbeat(agent_id, status, current_task)


@fault("comms.presence.13")
def the_last_failure_does_not_count():
    """The failure that makes a message a dead letter is not counted in error_count."""

    class Faulty(Presence):
        def count(self, tx: Any, agent_id: str, column: str, change: int) -> None:
            row = tx.row("SELECT error_count FROM agent_status WHERE agent_id = ?", (agent_id,))
            is_third = column == "error_count" and row is not None and row[0] % 3 == 2
            super().count(tx, agent_id, column, 0 if is_third else change)

    patch(bus, Presence=Faulty)


@fault("comms.presence.07")
class UnknownAgentsAreBadArguments(CommsBus):
    """Asking for an agent that was never seen is a bad argument."""

    def get_agent_health(self, agent_id: str) -> dict[str, Any]:
        try:
            return super().get_agent_health(agent_id)
        except NotFound as error:
            raise InvalidArgument(str(error)) from error


@fault("comms.presence.07")
class UnknownAgentsAreIdle(CommsBus):
    """An agent that was never seen is idle."""

    def get_agent_health(self, agent_id: str) -> dict[str, Any]:
        try:
            return super().get_agent_health(agent_id)
        except NotFound:
            counters = dict.fromkeys(("messages_pending", "messages_processed", "error_count"), 0)
            return {"agent_id": agent_id, "status": "idle", "last_heartbeat": self.store.now(), **counters}


@fault("comms.log.95", chaos={"holds": True, "only": "complete_message"}, author="public report, claude-code #53896")
class CountsWhatItRead(CommsBus):
    """messages_processed is read, and written back in another transaction: two completions at once count one."""

    def complete_message(self, *args: Any, **how: Any) -> Any:
        sql = "SELECT agent_id, messages_processed FROM agent_status"
        before = dict(self.store.db.rows(sql))
        reply = super().complete_message(*args, **how)
        with self.store.transaction() as tx:
            for agent_id, count in tx.rows(sql):
                if count > before.get(agent_id, 0):
                    tx.execute(
                        "UPDATE agent_status SET messages_processed = ? WHERE agent_id = ?",
                        (before.get(agent_id, 0) + 1, agent_id),
                    )
        return reply


@fault("comms.presence.08", item="presence.counters")
class PendingIsReadBeforeTheLock(CommsBus):
    """messages_pending is read, and written back in another transaction: of two sends at once one is not counted."""

    def send_message(self, *args: Any, **how: Any) -> Any:
        sql = "SELECT messages_pending FROM agent_status WHERE agent_id = ?"
        agent = how.get("to_agent")
        (before,) = self.store.db.row(sql, (agent,)) or (0,)
        reply = super().send_message(*args, **how)
        with self.store.transaction() as tx:
            if (tx.row(sql, (agent,)) or (0,))[0] > before:
                tx.execute("UPDATE agent_status SET messages_pending = ? WHERE agent_id = ?", (before + 1, agent))
        return reply
