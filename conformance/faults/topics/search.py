"""Faults of topics, search."""

from typing import Any

from plant import fault, patch, reword

from refbus.kernel.errors import BusError, TopicNotFound
from refbus.topics import bus, cursor, search
from refbus.topics.bus import TopicsBus
from refbus.topics.search import MODES, Search

CONTROL = "search.everywhere"


@fault("topics.search.05")
class SearchAlwaysTellsBodies(TopicsBus):
    """Every result has its body, asked for or not."""

    def messages_search(self, query: str, include_content: bool = False, **more: Any) -> dict[str, Any]:
        return super().messages_search(query, include_content=True, **more) | {"include_content": include_content}


@fault("topics.search.20")
class SearchCountsAsPresence(TopicsBus):
    """A search on a topic touches the searcher's cursor there, as a sync does."""

    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> Any:
        reply = super().messages_search(query, topic_id, **more)
        if topic_id in self.lease.joined:
            with self.store.transaction() as tx:
                me = self.lease.identity(topic_id)
                cursor.move(tx, me, cursor.standing(tx, me).position)
        return reply


@fault("topics.search.06")
class SearchCutsBodies(TopicsBus):
    """include_content=true gives the first thousand characters of a body."""

    def messages_search(self, query: str, **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, **more)
        for result in reply["results"]:
            if "content_markdown" in result:
                result["content_markdown"] = result["content_markdown"][:1000]
        return reply


@fault("topics.search.21", item="corpus:ids_for_names_and_names_for_ids")
class SearchFindsNothingOnNoTopic(TopicsBus):
    """A search on a topic that does not exist finds nothing, instead of being an error."""

    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> Any:
        try:
            return super().messages_search(query, topic_id, **more)
        except TopicNotFound:
            return super().messages_search(query, **more) | {"topic_id": topic_id, "results": [], "count": 0}


@fault("topics.search.22")
def search_folds_its_words():
    """Words of a query that are one under full case folding count once: for "Straße strasse" one of the two is
    enough.
    """
    by_words = Search.by_words

    def folded(self: Search, words: list[str], *how: Any) -> Any:
        return by_words(self, list({word.casefold(): word for word in words}.values()), *how)

    patch(Search, by_words=folded)


@fault("topics.search.10", "topics.search.11")
class SearchHasNoLimit(TopicsBus):
    """All matches are results, whatever the limit."""

    def messages_search(self, query: str, limit: int = 20, **more: Any) -> dict[str, Any]:
        return super().messages_search(query, limit=max(limit, 1000), **more)


@fault("topics.search.14", "topics.search.15")
class SearchHidesWhatFailed(TopicsBus):
    """A search by meaning without a model finds nothing, and does not say why."""

    def messages_search(self, query: str, mode: str = "hybrid", **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, mode=mode, **more)
        if reply.pop("warnings", None) and mode == "semantic":
            reply |= {"results": [], "count": 0}
        return reply


@fault("topics.search.02")
class SearchIgnoresTheTopic(TopicsBus):
    """A search on one topic finds messages of all."""

    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> dict[str, Any]:
        return super().messages_search(query, None, **more) | {"topic_id": topic_id}


@fault("topics.search.19")
def search_indexes_its_own():
    """A process indexes its own messages, and finds nothing that another program has stored."""

    class Blind(Search):
        def index(self, *_: Any) -> None:
            pass

    patch(bus, Search=Blind)

    class Faulty(bus.TopicsBus):
        def begin_sync(self, *args: Any, **more: Any) -> Any:
            call = super().begin_sync(*args, **more)
            if call.reply["sent"] and self.search.has_fts():
                Search.index(self.search, "fts", self.search.index_words)
            return call

    return Faulty


@fault("topics.search.03", control="search.within")
class SearchIsForMembers(TopicsBus):
    """A search without a topic stays on the topics that the session has joined, and one that has joined none is
    refused.
    """

    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> dict[str, Any]:
        if topic_id is not None or not self.lease.joined:
            self.lease.identity(topic_id or "any")
        reply = super().messages_search(query, topic_id, **more)
        mine = [result for result in reply["results"] if result["topic_id"] in self.lease.joined]
        return reply | {"results": mine, "count": len(mine)}


@fault("topics.search.17")
def search_marks_what_it_found():
    """Snippets hold marks of a private use around the words that match."""
    reword(search, "_MATCHING", "0, '', ''", "0, char(57344), char(57345)")


@fault("topics.search.07", "topics.search.08", "topics.search.09", item="corpus:81128+84133+searches_of_each_mode")
class SearchMendsItsArguments(TopicsBus):
    """An argument that a search cannot use is replaced by one that it can."""

    def messages_search(self, query: str, limit: int = 20, mode: str = "hybrid", **more: Any) -> dict[str, Any]:
        return super().messages_search(
            query or "nothing", limit=max(limit, 1), mode=mode if mode in MODES else "hybrid", **more
        )


@fault("topics.search.12", "topics.search.13", control="log.exchange")
class SearchNeedsTheWholeBody(TopicsBus):
    """A message is found by its whole body, not by a word of it."""

    def messages_search(self, query: str, include_content: bool = False, **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, include_content=True, **more)
        same = [result for result in reply["results"] if result["content_markdown"] == query]
        return reply | {"results": same, "count": len(same)}


@fault("topics.search.19")
def search_on_open_topics_only():
    """A message on a topic that is closed now is not found."""
    reword(search, "_MATCHING", "WHERE", "WHERE t.status = 'open' AND")


@fault("topics.search.01", control="search.within")
class SearchOnTheLastTopic(TopicsBus):
    """A search without a topic is one on the topic that was joined last."""

    def messages_search(self, query: str, topic_id: str | None = None, **more: Any) -> dict[str, Any]:
        return super().messages_search(query, topic_id or next(reversed(self.lease.joined), None), **more)


@fault("topics.search.16")
def search_swallows_bad_syntax():
    """The query is given to FTS5 as it is, and one that FTS5 cannot read finds nothing."""

    class Faulty(search.Search):
        def by_words(self, words: list[str], topic_id: str | None, limit: int, warnings: Any) -> list[search.Hit]:
            self.has_fts()
            self.index("fts", self.index_words)
            values = {"query": " ".join(words), "topic": topic_id, "limit": limit}
            try:
                with self._store.snapshot() as tx:
                    rows = tx.rows(search._MATCHING, values)
            except BusError:
                return []
            return [search.hit(row[:-2]) | {"snippet": row[-2], "fts_rank": row[-1]} for row in rows]

    patch(bus, Search=Faulty)


@fault("topics.search.04")
class SearchTellsIdsForNames(TopicsBus):
    """The topic_name of a result is the topic's id."""

    def messages_search(self, query: str, **more: Any) -> dict[str, Any]:
        reply = super().messages_search(query, **more)
        for result in reply["results"]:
            result["topic_name"] = result["topic_id"]
        return reply
