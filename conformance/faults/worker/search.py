"""Faults of worker, search."""

from __future__ import annotations

from typing import Any

from plant import fault, patch, reword, wrap

from refbus.kernel.errors import BusError, InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.worker import bus, search
from refbus.worker.bus import WorkerBus
from refbus.worker.search import Search

CONTROL = "search.stranger"


@fault("worker.search.08")
def archived_is_not_searched():
    """Archived messages are not found."""
    reword(
        search,
        "_MATCHING",
        "FROM archived_messages WHERE seq IN",
        "FROM archived_messages WHERE 0 AND seq IN",
        "LIMIT :limit)",
        ")",
    )


@fault("worker.search.05", control="cursor.poll_does_not_advance")
class DoesNotFindStrangers(WorkerBus):
    """Only messages published through the bus are searched."""

    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        rows = super().search(query, limit)["messages"]
        return {"messages": [row for row in rows if row["from_agent"] != "stranger"]}


@fault("worker.search.03", item="corpus:searched_to_the_end")
class FindsSomethingAlways(WorkerBus):
    """A search that matches nothing gives the newest message."""

    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        reply = super().search(query, limit)
        return reply if reply["messages"] else {"messages": self.poll(agent_id="a")["messages"][-1:]}


@fault("worker.search.08", control="log.fields", item="corpus")
def forgets_the_archive():
    """Archived messages are not found."""
    reword(search, "_MATCHING", "archived_messages", "messages", "UNION ALL", "UNION")


@fault("worker.search.01", control="log.fields", item="corpus")
def indexes_a_thousand():
    """A search indexes a thousand messages, and looks at no more."""
    patch(search.Search, bring_up_to_date=lambda self: self._index_some())


@fault("worker.log.55", chaos={"disk_full": True, "only": "search in a blob", "levels": (), "errors": ("EIO",)})
def indexes_what_it_cannot_read():
    """A blob that the disk does not give is indexed as if it were empty: the message is never found by its words
    again.
    """
    _words = Search.words

    def words(self: Search, text: Any, ref: Any) -> str:
        try:
            return _words(self, text, ref)
        except BusError:
            return ""

    patch(Search, words=words)


@fault("worker.search.07", control="log.fields", item="corpus")
def large_payloads_are_not_found():
    """Words of a payload that is a blob find nothing."""
    _words = search.Search.words
    patch(search.Search, words=lambda self, text, ref: _words(self, text, ref) if ref is None else "")


@fault("worker.search.07")
def large_payloads_are_not_searched():
    """Words of a payload in a blob are not found."""

    wrap(search.Search, words=lambda whole, self, text, ref: whole(self, text, None))


@fault("worker.search.04", item="corpus:said_to_be_null_or_at_length")
class ObeysQuerySyntax(WorkerBus):
    """OR, NOT and stars of a query are obeyed."""

    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        limits.text("query", query)
        limits.integer("limit", limit)
        if not query.strip():
            return {"messages": []}
        self.searches.bring_up_to_date()
        try:
            with self.store.snapshot() as tx:
                tx.rows("SELECT 1 FROM search_index WHERE search_index MATCH ? LIMIT 1", (query,))
        except BusError as error:
            raise InvalidArgument(f"the query: {error}") from error
        rows = self.store.db.rows(search._MATCHING, {"query": query, "limit": limit})
        return {"messages": self.searches._reader.messages(rows)}


@fault("worker.search.06", item="corpus:archived_and_a_thousand_more")
class SearchWithoutBounds(WorkerBus):
    """A search gives everything, whatever its limit."""

    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        limits.integer("limit", limit)
        return super().search(query, 10**6)


@fault("worker.search.02", item="corpus:burned_numbers")
class SearchesPayloadsOnly(WorkerBus):
    """Types are not searched."""

    def search(self, query: str, limit: int = 100) -> dict[str, Any]:
        rows = super().search(query, limit)["messages"]
        return {"messages": [row for row in rows if query.lower() not in row["type"]]}


@fault("worker.search.01", control="cursor.poll_does_not_advance", item="corpus:searched_to_the_end")
def searches_types_only():
    """Payloads are not searched."""

    class Faulty(search.Search):
        def words(self, text: Any, ref: Any) -> str:
            return ""

    patch(bus, Search=Faulty)


@fault("worker.search.09")
def the_deleted_count():
    """A message that another program deleted still counts towards a search's limit."""
    reword(
        search,
        "_MATCHING",
        "AND (rowid IN (SELECT seq FROM messages) OR rowid IN (SELECT seq FROM archived_messages))",
        "",
    )
