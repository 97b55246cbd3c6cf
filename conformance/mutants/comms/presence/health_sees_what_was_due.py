"""Due messages are looked for before the lock is taken: an agent that claims one in between loses it."""

from refbus.comms.bus import CommsBus
from refbus.comms.presence import AgentHealth, Presence
from refbus.driver import serve

KILLED_BY = ("comms.log.95",)
CHAOS = {"holds": True, "only": ("get_agent_health", "claim_message, abandoned")}

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


Presence.get_agent_health = get_agent_health  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"comms": CommsBus})
