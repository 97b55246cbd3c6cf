"""Search: by words, by meaning, or both; and it says what it could not do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.topics.bus import TopicsBus
from refbus.topics.embedding import PASSAGE_CHARS, HashEmbedder, dot, pack, split, unpack
from refbus.topics.mcp import text as in_words

Join = Callable[..., Any]


def seqs_of(bus: TopicsBus, query: str, **arguments: Any) -> list[int]:
    """The seqs of the matches, the best first."""
    return [result["seq"] for result in bus.messages_search(query, **arguments)["results"]]


@pytest.mark.parametrize(
    ("query", "seqs"),
    [
        ('"', []),
        ("a OR b", []),
        ("NOT a", []),
        ("a AND", []),
        ("content_markdown:x", []),
        ("(", []),
        ("-", []),
        ("a*", [1]),
        ("^x", [1]),
        ("a-b", [1]),
        ("b-a", []),
        ("(a", [1]),
        ("a' --", [1]),
        ("a \N{THINKING FACE}", [1]),
        ("\N{THINKING FACE}", []),
        ("\N{BITCOIN SIGN} \N{PARTY POPPER}", []),
    ],
)
def test_there_is_no_query_syntax(join: Join, query: str, seqs: list[int]) -> None:
    """A word is a word; one without letters and digits is nothing (B9)."""
    alice = join("alice")
    alice.sync("a b x")
    alice.sync("none but \N{THINKING FACE} \N{BITCOIN SIGN} \N{PARTY POPPER}")
    assert seqs_of(alice.bus, query, mode="fts") == seqs


def test_a_word_is_looked_for_once(join: Join) -> None:
    """However often it is asked for: FTS5 would take minutes for each phrase at each place."""
    alice = join("alice")
    alice.sync(" ".join(["a"] * 400))
    assert seqs_of(alice.bus, " ".join(["a", "A"] * 200), mode="fts") == [1]


def test_without_a_model_hybrid_says_that_it_searched_words_alone(join: Join) -> None:
    """As does semantic, and a model that is not there (B9)."""
    alice = join("alice")
    alice.sync("x")
    for arguments in ({}, {"mode": "semantic"}, {"model": "other"}):
        reply = alice.bus.messages_search("x", **arguments)
        assert [warning["code"] for warning in reply["warnings"]] == ["SEMANTIC_UNAVAILABLE"]
        assert reply["count"] == 1
        # A search by default is told in words as made by words; whoever wanted the meaning alone is warned.
        assert in_words.of("messages_search", reply).startswith(
            "Warning" if arguments.get("mode") else "1 result (by words)"
        )
    assert "warnings" not in alice.bus.messages_search("x", mode="fts", model="other")


def test_meaning_finds_what_words_do_not(join: Join) -> None:
    """Semantic alone, and hybrid, which prefers what both find."""
    alice = join("alice", embedder=HashEmbedder())
    alice.sync("the migration of tables", "lunch", "we migrate tables", "x " * PASSAGE_CHARS + "\n\nmigrated")
    assert seqs_of(alice.bus, "migrate", mode="fts") == [3]
    assert seqs_of(alice.bus, "migrate", mode="semantic") == [3, 4, 1]
    assert seqs_of(alice.bus, "migrate") == [3, 4, 1]
    reply = alice.bus.messages_search("migrated", mode="semantic", model="hash-256", limit=1)
    assert reply["results"][0]["snippet"] == "migrated"
    assert reply["results"][0]["semantic_score"] > 0.4 and "warnings" not in reply
    alice.sync("migrations")
    assert 5 in seqs_of(alice.bus, "migrate")


def test_a_real_model_is_loaded_from_its_folder(join: Join, tmp_path: Path) -> None:
    """One that knows what a car is; made here, because none can be fetched."""
    model2vec = pytest.importorskip("model2vec")
    import numpy
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = {"[UNK]": 0, "car": 1, "automobile": 2, "lunch": 3}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vectors = numpy.array([[0, 0, 1], [1, 0.1, 0], [1, -0.1, 0], [0, 1, 0]], dtype=numpy.float32)
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(tmp_path / "tiny")
    alice = join("alice", embedding_model=str(tmp_path / "tiny"))
    alice.sync("automobile", "lunch")
    reply = alice.bus.messages_search("car", mode="semantic", limit=1)
    assert [result["seq"] for result in reply["results"]] == [1] and "warnings" not in reply
    assert reply["results"][0]["semantic_score"] > 0.9
    assert seqs_of(alice.bus, "car", mode="fts") == []
    assert seqs_of(alice.bus, "car", model=str(tmp_path / "tiny"))[0] == 1


@pytest.mark.parametrize("name", ["BAAI/bge-small-en-v1.5", "/"])
def test_a_model_that_cannot_be_loaded_is_a_warning(join: Join, name: str) -> None:
    """Words still find."""
    alice = join("alice", embedding_model=name)
    alice.sync("x")
    reply = alice.bus.messages_search("x")
    assert reply["count"] == 1 and reply["warnings"][0]["code"] == "SEMANTIC_UNAVAILABLE"


def test_it_finds_what_strangers_wrote_and_not_what_is_gone(join: Join, tmp_path: Path) -> None:
    """The index follows the messages."""
    alice = join("alice", embedder=HashEmbedder())
    alice.sync("needle one", "needle two")
    assert sorted(seqs_of(alice.bus, "needle")) == [1, 2]
    with sqlite3.connect(tmp_path / "bus.sqlite") as file:
        file.execute("DELETE FROM messages WHERE seq = 1")
        file.execute(
            "INSERT INTO messages VALUES ('m3', ?, 3, 'eve', 'message', NULL, x'6e6565646c65ff', NULL, NULL, 0)",
            (alice.topic_id,),
        )
    file.close()
    assert sorted(seqs_of(alice.bus, "needle")) == [2, 3]


def test_a_body_is_searched_and_shown_beyond_a_nul(join: Join) -> None:
    """SQLite's functions on text end at U+0000; ours do not."""
    alice = join("alice")
    alice.sync("before\0after the end")
    for query in ("after", "before"):
        (hit,) = alice.bus.messages_search(query, mode="fts", include_content=True)["results"]
        assert "after the end" in hit["snippet"] and hit["content_markdown"] == "before\0after the end"
    assert alice.bus.messages_search("before\0after", mode="fts")["count"] == 1


def test_without_fts5_words_are_scanned_for(join: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    """And the reply says so (B9)."""
    alice = join("alice")
    alice.sync("The Needle", "hay", "x " * 500 + "needle and the rest")
    monkeypatch.setattr("refbus.topics.search._MODULE", "absent")
    reply = alice.bus.messages_search("needle the", mode="fts")
    assert [result["seq"] for result in reply["results"]] == [3, 1]
    assert [warning["code"] for warning in reply["warnings"]] == ["FTS_UNAVAILABLE"]
    assert "needle" in reply["results"][0]["snippet"]


def test_a_search_indexes_a_long_backlog_in_parts(join: Join, monkeypatch: pytest.MonkeyPatch) -> None:
    """In several topics, each once, also when two search at the same time."""
    monkeypatch.setattr("refbus.topics.search.ROWS_AT_ONCE", 3)
    alice, bob = join("alice"), join("bob")
    alice.sync(*["word"] * 20)
    other = alice.bus.topic_create(name="other")["topic_id"]
    alice.bus.topic_join("alice", other)
    alice.bus.sync(other, [{"content_markdown": "word"}] * 7, wait_seconds=0)
    rows = []
    index = bob.bus.search.index_words
    monkeypatch.setattr(
        alice.bus.search, "index_words", lambda some: (rows.append(len(some)), index(some), index(some))
    )
    assert alice.bus.messages_search("word", mode="fts", limit=100)["count"] == 27
    assert rows == [3] * 6 + [2] + [3, 3, 1] or rows == [3, 3, 1] + [3] * 6 + [2]


def test_passages_cover_a_text_and_are_cut_where_it_pauses() -> None:
    """Every character once."""
    for text in ("", "short", "x" * 5000, "word " * 1000, ("para\n" * 150 + "\n") * 5):
        spans = list(split(text))
        assert "".join(text[start:stop] for start, stop in spans) == text
        assert all(stop - start <= PASSAGE_CHARS for start, stop in spans)
    assert all(("word " * 1000)[:stop].endswith(" ") for _, stop in split("word " * 1000))


def test_a_vector_survives_its_storage() -> None:
    """To the precision of 32 bits."""
    (vector,) = HashEmbedder().embed(["a b"])
    assert dot(vector, unpack(pack(vector))) == pytest.approx(1.0)
    assert HashEmbedder().embed([""]) == [[0.0] * 256]


def test_words_that_only_unicode_calls_alike_are_two(join: Join) -> None:
    """Every word counts."""
    alice = join("alice")
    alice.sync("strasse")
    alice.sync("strasse stra\N{LATIN SMALL LETTER SHARP S}e")
    assert seqs_of(alice.bus, "stra\N{LATIN SMALL LETTER SHARP S}e strasse", mode="fts") == [2]
