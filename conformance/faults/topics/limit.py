"""Faults of topics, limit."""

import os
from typing import Any

from plant import fault

from refbus.kernel.errors import InvalidArgument
from refbus.topics import cursor, lease, message
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.message import BODY_CHARS_MAX, drafts

CONTROL = "log.exchange"


@fault("topics.limit.08")
class ARefusalEndsTheSession(TopicsBus):
    """After a refused join a session is nobody on any topic."""

    def topic_join(self, *args: Any, **more: Any) -> dict[str, Any]:
        before, self.lease.joined = self.lease.joined, {}
        reply = super().topic_join(*args, **more)
        self.lease.joined = before | self.lease.joined
        return reply


@fault("topics.limit.02", item="corpus:found_at_the_end_of_long_bodies")
class BodiesAreCountedInBytes(TopicsBus):
    """65,536 is the number of a body's bytes, not of its characters."""

    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **more: Any) -> SyncCall:
        if any(len(item.body.encode()) > BODY_CHARS_MAX for item in drafts(outbox)):
            raise InvalidArgument(f"a body must have at most {BODY_CHARS_MAX} bytes")
        return super().begin_sync(topic_id, outbox, *args, **more)


@fault("topics.limit.08")
class SendsBeforeItLooks(TopicsBus):
    """An outbox is sent before the numbers of its call are looked at."""

    def begin_sync(self, topic_id: str, outbox: Any = None, max_items: int = 20, **more: Any) -> SyncCall:
        if outbox and max_items < 1:
            super().begin_sync(topic_id, outbox, wait_seconds=0, auto_advance=False)
        return super().begin_sync(topic_id, outbox, max_items, **more)


@fault(
    "topics.limit.01",
    "topics.limit.02",
    "topics.limit.03",
    "topics.limit.04",
    "topics.limit.05",
    "topics.limit.06",
    control="limit.bad_numbers",
)
def sync_has_no_caps():
    """Outboxes, bodies, types, keys, names and answers may have any size."""
    message.OUTBOX_MAX = message.BODY_CHARS_MAX = message.TYPE_CHARS_MAX = message.CLIENT_ID_CHARS_MAX = 2**30
    lease.AGENT_NAME_CHARS_MAX = cursor.ITEMS_MAX = 2**30


@fault("topics.limit.07")
class SyncMendsItsNumbers(TopicsBus):
    """Numbers out of range are taken for the nearest that are not."""

    def begin_sync(
        self, topic_id: str, outbox: Any = None, max_items: int = 20, wait_seconds: int = 60, **more: Any
    ) -> SyncCall:
        return super().begin_sync(topic_id, outbox, max(max_items, 1), wait_seconds=max(wait_seconds, 0), **more)


@fault("topics.limit.09")
class RemembersEachSync(TopicsBus):
    """Every sync leaves a descriptor, as a watch that nobody closes does."""

    def begin_sync(self, *args: Any, **how: Any) -> Any:
        os.open(os.devnull, os.O_RDONLY)
        return super().begin_sync(*args, **how)
