"""Search: by words (`fts`), by meaning (`semantic`), or both (`hybrid`).

An index is brought up to date by the search that needs it: sending stays cheap, and strangers' messages are found.
Topics are dense sequences, so one number a topic says how far an index reaches. A row of an index without its message
(deleted since) is never shown, because results are read from `messages`.

A search that cannot be done as asked is done as well as possible, and `warnings` says so (B9).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NotRequired, TypedDict

from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import limit as limits
from refbus.kernel.store import Store
from refbus.kernel.transaction import Transaction
from refbus.topics.embedding import Embedder, Unavailable, dot, load, pack, split, unpack
from refbus.topics.message import moment, readable
from refbus.topics.route import Route, Warned

MODES = ("hybrid", "fts", "semantic")
LIMIT_MAX = 1000
SNIPPET_CHARS = 240
ROWS_AT_ONCE = 500
NO_MODEL = "no embedding model is loaded"
_FENCE = re.compile(r"(?:`{3,}|~{3,})[^`\n]*")  # with the name of its language; what it holds is told
RANK_CONSTANT = 60  # of reciprocal rank fusion, as its authors chose it

Hit = dict[str, Any]  # a result: topic_id, topic_name, message_id, seq, sender, message_type, created_at, snippet, …
Body = tuple[str, str, int, str]  # message_id, topic_id, seq, content_markdown


class Found(TypedDict):
    """The reply of messages_search."""

    query: str
    mode: str
    topic_id: str | None
    include_content: bool
    results: list[Hit]
    count: int
    warnings: NotRequired[list[Warned]]  # SEMANTIC_UNAVAILABLE, FTS_UNAVAILABLE


class Search:
    """messages_search."""

    def __init__(self, store: Store, route: Route, embedder: Embedder | None, embedding_model: str | None) -> None:
        """The model for searches by meaning: an object, or a name to load it by when it is first needed."""
        self._store, self._route = store, route
        self._embedder = embedder
        self._model_name = None if embedding_model is None else limits.text("embedding_model", embedding_model)

    def messages_search(
        self,
        query: str,
        topic_id: str | None = None,
        mode: str = "hybrid",
        limit: int = 20,
        model: str | None = None,
        include_content: bool = False,
    ) -> Found:
        """Messages that match, the best first. No query syntax: every word counts as it stands. Needs no join.

        Errors: INVALID_ARGUMENT, TOPIC_NOT_FOUND.
        """
        words = _shown(limits.body("query", query, limits.TEXT_CHARS_MAX)).split()
        if not words:
            raise InvalidArgument("query must hold a word")
        limits.one_of("mode", mode, MODES)
        limits.integer("limit", limit, 1, LIMIT_MAX)
        limits.flag("include_content", include_content)
        for what, value in (("topic_id", topic_id), ("model", model)):
            if value is not None:
                limits.text(what, value)
        warnings: list[Warned] = []
        embedder = None if mode == "fts" else self._embedder_for(model, warnings)
        if topic_id is not None:
            with self._store.snapshot() as tx:
                self._route.topic(tx, topic_id)
        hits = []
        if mode != "semantic" or embedder is None:
            hits.append(self.by_words(words, topic_id, limit, warnings))
        if embedder is not None:
            hits.append(self._by_meaning(embedder, query, topic_id, limit))
        results = _fuse(hits)[:limit]
        if not include_content:
            for result in results:
                del result["content_markdown"]
        reply: Found = {
            "query": query,
            "mode": mode,
            "topic_id": topic_id,
            "include_content": include_content,
            "results": results,
            "count": len(results),
        }
        if warnings:
            reply["warnings"] = warnings
        return reply

    def has_model(self) -> bool:
        """Can there be searches by meaning?"""
        return self._embedder is not None or self._model_name is not None

    def _embedder_for(self, model: str | None, warnings: list[Warned]) -> Embedder | None:
        why = NO_MODEL
        if self._embedder is None and self._model_name is not None:
            try:
                self._embedder = load(self._model_name)
            except Unavailable as error:
                why = str(error)
        if self._embedder is not None:
            if model in (None, self._embedder.model, self._model_name):
                return self._embedder
            why = f"the model is {self._embedder.model}, not {model!a:.80}"
        warnings.append(
            {"code": "SEMANTIC_UNAVAILABLE", "message": f"{why}; messages were searched by their words alone"}
        )
        return None

    def by_words(self, words: list[str], topic_id: str | None, limit: int, warnings: list[Warned]) -> list[Hit]:
        """Messages that hold all the words, by BM25."""
        # FTS5 takes signs that are newer than its Unicode table for letters, most emoji among them.
        words = [word for word in words if any(map(str.isalnum, word))]
        # Once each: FTS5 looks for every phrase at every place, and hundreds of one word in a body of it take minutes.
        # Beyond ASCII its table decides which two are one word, so they stay.
        words = list({word.lower() if word.isascii() else word: word for word in words}.values())
        if not words:
            return []
        if not self.has_fts():
            text = "this SQLite has no FTS5; messages were scanned for the words, the newest first"
            warnings.append({"code": "FTS_UNAVAILABLE", "message": text})
            return self._by_scan(words, topic_id, limit)
        self.index("fts", self.index_words)
        # Each word is quoted, so that none is an operator.
        quoted = " ".join('"' + word.replace('"', '""') + '"' for word in words)
        with self._store.snapshot() as tx:
            rows = tx.rows(_MATCHING, {"query": quoted, "topic": topic_id, "limit": limit})
        return [hit(row[:-2]) | {"snippet": plain(row[-2]), "fts_rank": row[-1]} for row in rows]

    def _by_scan(self, words: list[str], topic_id: str | None, limit: int) -> list[Hit]:
        wanted = [word.casefold() for word in words]
        with self._store.snapshot() as tx:
            rows = tx.rows(_NEWEST_FIRST, {"topic": topic_id})
        hits = []
        for row in rows:
            folded = row[-1].casefold()
            if all(word in folded for word in wanted):
                start = max(0, folded.find(wanted[0]) - SNIPPET_CHARS // 4)
                hits.append(hit(row) | {"snippet": plain(row[-1][start:])})
        return hits[:limit]

    def _by_meaning(self, embedder: Embedder, query: str, topic_id: str | None, limit: int) -> list[Hit]:
        self.index(embedder.model, self._index_meanings)
        (wanted,) = embedder.embed([query])
        best: dict[str, tuple[float, int, int]] = {}
        with self._store.snapshot() as tx:
            values = {"model": embedder.model, "topic": topic_id}
            for message_id, start, stop, vector in tx.execute(_PASSAGES, values):
                score = dot(wanted, unpack(vector))
                if score > best.get(message_id, (0.0,))[0]:
                    best[message_id] = (score, start, stop)
            nearest = sorted(best, key=lambda message_id: -best[message_id][0])[:limit]
            hits = []
            for message_id in nearest:
                score, start, stop = best[message_id]
                (row,) = tx.rows(_BY_ID, (message_id,))
                hits.append(hit(row) | {"snippet": plain(row[-1][start:stop]), "semantic_score": score})
        return hits

    def index(self, index_name: str, index_some: Callable[[list[Body]], None]) -> None:
        """Bring an index up to date, a part at a time, so that senders get the lock in between."""
        while True:
            with self._store.snapshot() as tx:
                rows = tx.rows(_NOT_INDEXED, {"index": index_name, "limit": ROWS_AT_ONCE})
            if not rows:
                return
            index_some(rows)

    def index_words(self, rows: list[Body]) -> None:
        """Add bodies to the full-text index."""
        with self._store.transaction() as tx:
            for message_id, topic_id, seq, body in rows:
                # Another process may index the same rows at the same time.
                if _advance(tx, "fts", topic_id, seq):
                    tx.execute(_INSERT_WORDS, (_shown(body), message_id))

    def _index_meanings(self, rows: list[Body]) -> None:
        assert self._embedder is not None
        # A row of another program may have no id: nothing can lead to it, and those behind it are searched.
        named = [row for row in rows if row[0] is not None]
        places = [(row, start, stop) for row in named for start, stop in split(row[3])]
        # Outside the transaction: a model is slow, and senders need the lock.
        vectors = self._embedder.embed([row[3][start:stop] for row, start, stop in places])
        with self._store.transaction() as tx:
            tx.executemany(
                "INSERT OR REPLACE INTO passages (model, message_id, start, stop, vector) VALUES (?, ?, ?, ?, ?)",
                [
                    (self._embedder.model, row[0], start, stop, pack(vector))
                    for (row, start, stop), vector in zip(places, vectors, strict=True)
                ],
            )
            for _, topic_id, seq, _ in rows:
                _advance(tx, self._embedder.model, topic_id, seq)

    def has_fts(self) -> bool:
        """Is there a full-text index, or can one be made? Not every SQLite is built with FTS5."""
        with self._store.snapshot() as tx:
            if tx.row("SELECT 1 FROM pragma_module_list WHERE name = ?", (_MODULE,)) is None:
                return False
            if tx.row("SELECT 1 FROM sqlite_master WHERE name = 'search_index'") is not None:
                return True
        with self._store.transaction() as tx:
            tx.execute(_CREATE_INDEX)
        return True


def _fuse(rankings: Sequence[list[Hit]]) -> list[Hit]:
    """One list of several: reciprocal rank fusion, which needs no common scale of scores."""
    merged: dict[str, Hit] = {}
    for hits in rankings:
        for place, hit in enumerate(hits):
            known = merged.setdefault(hit["message_id"], hit | {"rank": 0.0})
            known |= {key: value for key, value in hit.items() if key not in known}
            known["rank"] += 1 / (RANK_CONSTANT + place + 1)
    return sorted(merged.values(), key=lambda hit: -hit["rank"])


def hit(row: Sequence[Any]) -> Hit:
    """A row of a search as a result."""
    shown = dict(zip(_FIELDS, map(readable, row), strict=True))
    shown["created_at"] = moment(shown["created_at"])
    return {field: "" if value is None else value for field, value in shown.items()}


def plain(text: str) -> str:
    """One line without marks (B11)."""
    line = " ".join(_FENCE.sub(" ", _shown(text)).split())
    return line if len(line) <= SNIPPET_CHARS else line[:SNIPPET_CHARS] + "…"


def _shown(text: str) -> str:
    """A blank for U+0000, at which SQLite's functions on text end."""
    return text.replace("\0", " ")


def _advance(tx: Transaction, index_name: str, topic_id: str, seq: int) -> bool:
    return tx.execute(_ADVANCE, (index_name, topic_id, seq)).rowcount == 1


_FIELDS = ("topic_id", "topic_name", "message_id", "seq", "sender", "message_type", "created_at", "content_markdown")

_MODULE = "fts5"
# In a table of its own, because the file must also open where FTS5 is missing.
_CREATE_INDEX = """
    CREATE VIRTUAL TABLE IF NOT EXISTS search_index
    USING fts5(content_markdown, message_id UNINDEXED, tokenize = 'unicode61')
"""

_INSERT_WORDS = "INSERT INTO search_index (content_markdown, message_id) VALUES (?, ?)"

_MATCHING = """
    SELECT m.topic_id, t.name, m.message_id, m.seq, m.sender, m.message_type, m.created_at,
           coalesce(CAST(m.content_markdown AS TEXT), ''), snippet(search_index, 0, '', '', '…', 32), search_index.rank
    FROM search_index
    JOIN messages AS m ON m.message_id = search_index.message_id
    JOIN topics AS t ON t.topic_id = m.topic_id
    WHERE search_index MATCH :query AND (:topic IS NULL OR m.topic_id = :topic) AND typeof(m.seq) = 'integer'
    ORDER BY search_index.rank, m.created_at DESC, m.seq DESC LIMIT :limit
"""

_NEWEST_FIRST = """
    SELECT m.topic_id, t.name, m.message_id, m.seq, m.sender, m.message_type, m.created_at,
           coalesce(CAST(m.content_markdown AS TEXT), '')
    FROM messages AS m JOIN topics AS t ON t.topic_id = m.topic_id
    WHERE (:topic IS NULL OR m.topic_id = :topic) AND typeof(m.seq) = 'integer'
    ORDER BY m.created_at DESC, m.seq DESC
"""

_BY_ID = """
    SELECT m.topic_id, t.name, m.message_id, m.seq, m.sender, m.message_type, m.created_at,
           coalesce(CAST(m.content_markdown AS TEXT), '')
    FROM messages AS m JOIN topics AS t ON t.topic_id = m.topic_id
    WHERE m.message_id = ?
"""

_PASSAGES = """
    SELECT p.message_id, p.start, p.stop, p.vector
    FROM passages AS p
    JOIN messages AS m ON m.message_id = p.message_id
    JOIN topics AS t ON t.topic_id = m.topic_id
    WHERE p.model = :model AND (:topic IS NULL OR m.topic_id = :topic)
"""

# One topic at a time: its rows are read in the order of an index, however many there are.
_NOT_INDEXED = """
    WITH behind (topic_id, last_seq) AS (
        SELECT t.topic_id, coalesce(s.last_seq, 0)
        FROM topics AS t LEFT JOIN search_state AS s ON s.index_name = :index AND s.topic_id = t.topic_id
        WHERE EXISTS (SELECT 1 FROM messages
                      WHERE topic_id = t.topic_id AND seq > coalesce(s.last_seq, 0) AND typeof(seq) = 'integer')
        LIMIT 1
    )
    SELECT m.message_id, m.topic_id, m.seq, coalesce(CAST(m.content_markdown AS TEXT), '')
    FROM behind JOIN messages AS m ON m.topic_id = behind.topic_id AND m.seq > behind.last_seq
    WHERE typeof(m.seq) = 'integer'
    ORDER BY m.seq LIMIT :limit
"""

_ADVANCE = """
    INSERT INTO search_state (index_name, topic_id, last_seq) VALUES (?, ?, ?)
    ON CONFLICT (index_name, topic_id) DO UPDATE SET last_seq = excluded.last_seq
    WHERE excluded.last_seq > search_state.last_seq
"""
