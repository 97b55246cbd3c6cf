"""The `topics` bus (seed 004): all nouns on one database file.

One method for each tool of the MCP server, with its parameters as keywords and its structured content as a dict.
"""

from __future__ import annotations

from typing import Any

from refbus import __version__
from refbus.topics import message
from refbus.topics.browse import Browse
from refbus.topics.lease import AGENT_NAME_CHARS_MAX
from refbus.topics.presence import Presence
from refbus.topics.search import Search
from refbus.topics.store import SPEC_VERSION
from refbus.topics.sync import ITEMS_MAX, WAIT_S_MAX, Sync
from refbus.topics.upkeep import Upkeep


class TopicsBus(Sync, Presence, Search, Browse, Upkeep):
    """One agent's session on the bus."""

    SYSTEM = "topics"
    METHODS = (
        "ping",
        "topic_create",
        "topic_list",
        "topic_resolve",
        "topic_close",
        "topic_join",
        "topic_presence",
        "cursor_reset",
        "messages_search",
        "sync",
    )
    OPTIONS = ("synchronous", "embedding_model")
    NOUNS = ("log", "cursor", "presence", "limit", "search", "export")
    FEATURES = ("seq", "wait", "fencing", "reclaim", "idempotent_send", "close", "sqlite")
    DURABILITY = "process-crash"  # what the default, synchronous = NORMAL, promises
    LIMITS = {  # noqa: RUF012
        "outbox_items_max": message.OUTBOX_MAX,
        "body_chars_max": message.BODY_CHARS_MAX,
        "type_chars_max": message.TYPE_CHARS_MAX,
        "client_message_id_chars_max": message.CLIENT_ID_CHARS_MAX,
        "agent_name_chars_max": AGENT_NAME_CHARS_MAX,
        "items_max": ITEMS_MAX,
        "wait_s_max": WAIT_S_MAX,
    }

    def ping(self) -> dict[str, Any]:
        """Answers, whatever the database does."""
        return {"ok": True, "spec_version": SPEC_VERSION, "package_version": __version__}
