"""Faults of topics, presence."""

from typing import Any, ClassVar

from plant import fault, patch, reword

from refbus.kernel.errors import TopicNotFound
from refbus.topics import cursor, presence
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall

CONTROL = "presence.peers"


@fault("topics.presence.10")
class NobodyIsOnUnknownTopics(TopicsBus):
    """A topic that does not exist has no peers, instead of being an error."""

    def topic_presence(self, topic_id: str, **more: Any) -> dict[str, Any]:
        try:
            return super().topic_presence(topic_id, **more)
        except TopicNotFound:
            return {
                "topic_id": topic_id,
                "window_seconds": 300,
                "limit": 200,
                "now": self.store.clock.now_us() / 1_000_000,
                "peers": [],
                "count": 0,
            }


@fault("topics.presence.05")
def only_progress_is_presence():
    """A sync touches updated_at only when it moves the cursor."""
    patch(cursor, _SET_CURSOR=cursor._SET_CURSOR + " WHERE excluded.last_seq <> cursors.last_seq")


@fault("topics.presence.03", "topics.presence.11", control="presence.bad_arguments")
def presence_by_claims():
    """Presence is derived from the last claim of a name, not from its cursor."""
    patch(
        presence,
        _PRESENT="""
    SELECT r.agent_name, coalesce(c.last_seq, 0), r.last_claimed_at AS at
    FROM agent_name_reservations AS r LEFT JOIN cursors AS c USING (topic_id, agent_name)
    WHERE r.topic_id = ? AND at >= ? ORDER BY at DESC LIMIT ?
""",
    )


@fault("topics.presence.09", item="corpus:claimed_before_the_clock_went_back")
def presence_by_name():
    """Peers are listed by name, not the latest first."""
    reword(presence, "_PRESENT", "updated_at DESC, ", "")


@fault("topics.presence.02", control="presence.bad_arguments")
class PresenceCountsMilliseconds(TopicsBus):
    """age_seconds counts milliseconds."""

    def topic_presence(self, topic_id: str, **more: Any) -> dict[str, Any]:
        reply = super().topic_presence(topic_id, **more)
        for peer in reply["peers"]:
            peer["age_seconds"] *= 1000
        return reply


@fault("topics.presence.08", item="corpus:83084")
class PresenceHasNoLimit(TopicsBus):
    """All peers are listed, whatever the limit."""

    def topic_presence(self, topic_id: str, window_seconds: int = 300, limit: int = 200) -> dict[str, Any]:
        return super().topic_presence(topic_id, window_seconds, max(limit, 200)) | {"limit": limit}


@fault("topics.presence.12", control="log.exchange")
class PresenceIsForMembers(TopicsBus):
    """Only an agent that has joined may ask who is present."""

    def topic_presence(self, topic_id: str, **more: Any) -> dict[str, Any]:
        present = super().topic_presence(topic_id, **more)
        self.lease.identity(topic_id)
        return present


@fault("topics.presence.06", "topics.presence.07")
class PresenceMendsItsArguments(TopicsBus):
    """A window or a limit of nothing is taken for the default."""

    def topic_presence(self, topic_id: str, window_seconds: int = 300, limit: int = 200) -> dict[str, Any]:
        return super().topic_presence(
            topic_id, window_seconds if window_seconds > 0 else 300, limit if limit > 0 else 200
        )


@fault("topics.presence.01", control="presence.bad_arguments")
def presence_of_all_topics():
    """A topic's peers are those of every topic."""
    reword(presence, "_PRESENT", "topic_id = ?", "(topic_id = ? OR true)")


@fault("topics.presence.04")
class PresenceOfAnHour(TopicsBus):
    """Peers are recent for an hour by default."""

    def topic_presence(self, topic_id: str, window_seconds: int = 3600, **more: Any) -> dict[str, Any]:
        return super().topic_presence(topic_id, window_seconds, **more)


@fault("topics.presence.01", control="presence.bad_arguments")
class PresenceOfThisProcessOnly(TopicsBus):
    """Each process knows only the peers that synced through itself."""

    synced: ClassVar[set[str]] = set()

    def begin_sync(self, topic_id: str, *args: Any, **more: Any) -> SyncCall:
        self.synced.add(self.lease.identity(topic_id).agent_name)
        return super().begin_sync(topic_id, *args, **more)

    def topic_presence(self, topic_id: str, **more: Any) -> dict[str, Any]:
        reply = super().topic_presence(topic_id, **more)
        peers = [peer for peer in reply["peers"] if peer["agent_name"] in self.synced]
        return reply | {"peers": peers, "count": len(peers)}
