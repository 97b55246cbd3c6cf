"""Receiving: the messages that an agent is shown, and their order. Reading changes nothing."""

from __future__ import annotations

from typing import Any, Never, TypedDict

from refbus.comms.envelope import Message, as_message
from refbus.comms.store import Store
from refbus.kernel import iso, jsontext
from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import limit as limits

CHANNELS_MAX = 1000
WAIT_S_MAX = 24 * 60 * 60


class Received(TypedDict):
    """receive_messages: the messages that the agent could claim now, first things first."""

    messages: list[Message]


class Channels(TypedDict):
    """get_subscribed_channels: in the order of their names."""

    channels: list[str]


class Route:
    """receive_messages and the subscriptions."""

    def __init__(self, store: Store) -> None:
        self.store = store

    def receive_messages(
        self, agent_id: str, channels: list[str], limit: int = 10, timeout_seconds: float | None = None
    ) -> Received:
        """Messages that the agent could claim now: highest priority first, then oldest first; nothing is claimed.

        With `timeout_seconds` it waits for a first one, on real time. Errors: INVALID_ARGUMENT.
        """
        limits.name("agent_id", agent_id)
        _check_channels(channels)
        limits.integer("limit", limit, 0)
        wait_s = 0.0 if timeout_seconds is None else limits.number("timeout_seconds", timeout_seconds, 0, WAIT_S_MAX)
        messages = self.ready(agent_id, channels, limit)
        if not messages and wait_s and limit and channels:
            messages = self.store.wait_for(lambda: self.ready(agent_id, channels, limit), wait_s)
        return {"messages": messages}

    def subscribe_to_channel(self, agent_id: str, channel_name: str) -> dict[str, Never]:
        """Remember that the agent wants this channel. Again: nothing more happens. Errors: INVALID_ARGUMENT."""
        limits.name("agent_id", agent_id)
        limits.text("channel_name", channel_name)
        self.store.db.write(
            """
            INSERT INTO channel_subscriptions (channel_name, agent_id, subscribed_at) VALUES (?, ?, ?)
            ON CONFLICT (channel_name, agent_id) DO NOTHING
            """,
            (channel_name, agent_id, self.store.now()),
        )
        return {}

    def unsubscribe_from_channel(self, agent_id: str, channel_name: str) -> dict[str, Never]:
        """Forget it. Not subscribed: nothing happens. Errors: INVALID_ARGUMENT."""
        limits.name("agent_id", agent_id)
        limits.text("channel_name", channel_name)
        self.store.db.write(
            "DELETE FROM channel_subscriptions WHERE channel_name = ? AND agent_id = ?", (channel_name, agent_id)
        )
        return {}

    def get_subscribed_channels(self, agent_id: str) -> Channels:
        """The agent's channels, in the order of their names. Errors: INVALID_ARGUMENT."""
        limits.name("agent_id", agent_id)
        rows = self.store.db.rows(
            "SELECT channel_name FROM channel_subscriptions WHERE agent_id = ? ORDER BY channel_name", (agent_id,)
        )
        return {"channels": [row[0] for row in rows]}

    def ready(self, agent_id: str, channels: list[str], limit: int) -> list[Message]:
        """The messages that the agent could claim now."""
        messages = self._ready(agent_id, channels, limit)
        named = [message for message in messages if can_be_named(message["id"])]
        if len(named) < len(messages):  # a stranger's odd rows must not stand in front of the others for ever (C27)
            messages = self._ready(agent_id, channels, limits.INT64_MAX)
            named = [message for message in messages if can_be_named(message["id"])][:limit]
        return named

    def _ready(self, agent_id: str, channels: list[str], limit: int) -> list[Message]:
        """Pending ones come sorted from an index; those that are due again are few. All are of one moment."""
        rows: list[tuple[Any, ...]] = []
        with self.store.snapshot() as tx:
            values = {"agent": agent_id, "limit": limit, "now": iso.text(tx.now_us)}
            for channel in dict.fromkeys(channels):
                rows += tx.rows(_READY, {**values, "channel": channel})
            rows += tx.rows(_DUE_AGAIN, {**values, "channels": jsontext.encode(channels)})
        rows.sort(key=_rank)
        return [as_message(row[1:]) for row in rows[:limit]]


def can_be_named(message_id: str) -> bool:
    """Would claim_message take this id? One that is no UTF-8 is read as something else."""
    if message_id.isascii() and message_id.isprintable():  # as a UUID is
        return 0 < len(message_id) <= limits.TEXT_CHARS_MAX
    try:
        return "\ufffd" not in limits.text("message_id", message_id)
    except InvalidArgument:
        return False


def _rank(row: tuple[Any, ...]) -> tuple[float, str, int]:
    """Priority, time, rowid (C7). A stranger's priority that is no number comes last, and hides nobody."""
    rowid, timestamp, priority = row[0], row[4], row[9]
    return -priority if isinstance(priority, int | float) else 0.0, str(timestamp), rowid


def _check_channels(channels: object) -> None:
    if type(channels) is not list or len(channels) > CHANNELS_MAX:
        raise InvalidArgument(f"channels must be a list of at most {CHANNELS_MAX} names")
    for channel in channels:
        limits.text("channel", channel)


# Two sorted halves, which SQLite merges: the agent's own, past all that is pending for others; and the broadcasts, each
# of which is there until this agent is done with it (C3).
_READY = """
    SELECT number, id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority, payload
    FROM live_messages
    WHERE channel = :channel AND status = 'pending' AND live_until > :now AND to_agent = :agent
    UNION ALL
    SELECT number, id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority, payload
    FROM live_messages AS m
    WHERE channel = :channel AND status = 'pending' AND live_until > :now AND to_agent IS NULL AND NOT EXISTS (
            SELECT 1 FROM claimable_deliveries AS d
            WHERE d.message_id = m.id AND d.agent_id = :agent AND d.claimable_from > :now)
    ORDER BY priority DESC, timestamp, number LIMIT :limit
"""

# Messages to one agent whose claim or retry delay is over, and whose row nobody has made pending yet (C1, C2).
_DUE_AGAIN = """
    SELECT number, id, type, version, timestamp, correlation_id, from_agent, to_agent, channel, priority, payload
    FROM due_deliveries
    WHERE agent_id = :agent AND due_at <= :now AND live_until > :now
      AND channel IN (SELECT value FROM json_each(:channels))
    ORDER BY priority DESC, timestamp, number LIMIT :limit
"""
