"""The `topics` bus (seed 004): a store and its nouns side by side.

One method for each tool of the MCP server, with its parameters as keywords and its structured content as a dict.
"""

from __future__ import annotations

from pathlib import Path
from typing import TypedDict

from refbus import __version__
from refbus.kernel.clock import Clock
from refbus.kernel.face import Face, delegate, delegated
from refbus.topics.browse import Browse
from refbus.topics.cursor import Cursor
from refbus.topics.embedding import Embedder
from refbus.topics.export import Export
from refbus.topics.lease import Lease
from refbus.topics.notifier import Notifier
from refbus.topics.presence import Presence
from refbus.topics.route import Route
from refbus.topics.search import Search
from refbus.topics.store import Store

SPEC_VERSION = "v6.3"


class Pong(TypedDict):
    """The reply of ping."""

    ok: bool
    spec_version: str
    package_version: str


class TopicsBus(Face):
    """One agent's session on a shared database file: the file, or a folder that holds it under its usual name.

    Threads may share it. The file is opened by the first call.
    """

    def __init__(
        self,
        store: Path | str,
        *,
        clock: Clock | None = None,
        synchronous: str = "NORMAL",
        embedder: Embedder | None = None,
        embedding_model: str | None = None,
    ) -> None:
        self.store = Store(store, clock=clock, synchronous=synchronous)
        self.notifier = Notifier(self.store)
        self.route = Route(self.store)
        self.lease = Lease(self.store, self.route)
        self.cursor = Cursor(self.store, self.notifier, self.lease)
        self.presence = Presence(self.store, self.route)
        self.search = Search(self.store, self.route, embedder, embedding_model)
        self.export = Export(self.store, self.route)
        self.browse = Browse(self.store)

    def ping(self) -> Pong:
        """Answers, whatever the database does."""
        return {"ok": True, "spec_version": SPEC_VERSION, "package_version": __version__}

    topic_create = delegate("route", Route.topic_create)
    topic_list = delegate("route", Route.topic_list)
    topic_resolve = delegate("route", Route.topic_resolve)
    topic_close = delegate("route", Route.topic_close)
    topic_join = delegate("lease", Lease.topic_join)
    topic_presence = delegate("presence", Presence.topic_presence)
    cursor_reset = delegate("cursor", Cursor.cursor_reset)
    messages_search = delegate("search", Search.messages_search)
    sync = delegate("cursor", Cursor.sync)
    METHODS = ("ping", *delegated(vars()))
    begin_sync = delegate("cursor", Cursor.begin_sync)

    # Acts of a person on the file, which no agent may do. Sessions that are open see them with their next call.
    topic_rename = delegate("route", Route.topic_rename)
    topic_delete = delegate("route", Route.topic_delete)
    wipe = delegate("store", Store.wipe)

    overview = delegate("browse", Browse.overview)
    page = delegate("browse", Browse.page)
    unanswered = delegate("browse", Browse.unanswered)
    voices = delegate("browse", Browse.voices)
    messages = delegate("export", Export.messages)
    export_markdown = delegate("export", Export.export_markdown)
    export_jsonl = delegate("export", Export.export_jsonl)

    def close(self) -> None:
        """Close all connections and watches. A sync that waits ends as if its time were over."""
        self.notifier.close()
        self.store.close()
