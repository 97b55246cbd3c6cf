"""The specification of topics, without a server: it agrees with the decisions; comparisons see every difference."""

from __future__ import annotations

from typing import Any

import pytest

from busproof.contract import CONTRACTS
from busproof.oracle.models.spec import Refusal, plain
from busproof.oracle.models.topics import TopicsModel
from busproof.oracle.models.topics_looks import Peers, Results, is_snippet


class Room:
    """A model with a topic on which three servers have joined, each as somebody else."""

    def __init__(self) -> None:
        self.model, self.step = TopicsModel(frozenset(), {}, {}), 0
        self.call(0, "topic_create", {"topic_id": "0123456789", "name": "lane", "status": "open"}, name="lane")
        for at, name in enumerate(("ann", "bob", "cy")):
            self.join(at, name, f"{at:032x}")

    def answer(self, at: int, method: str, **params: Any) -> Any:
        """The model's answer."""
        self.step += 1
        return self.model.call(str(self.step), at, method, params, 0)

    def call(self, at: int, method: str, seen: Any, **params: Any) -> None:
        """A call that a bus answers as it must; free values are bound."""
        assert self.answer(at, method, **params).differs(seen) is None

    def join(self, at: int, name: str, token: str, **more: Any) -> None:
        """Become somebody."""
        topic = {"topic_id": "0123456789", "name": "lane", "status": "open"}
        seen = {**topic, "agent_name": name, "reclaim_token": token}
        self.call(at, "topic_join", seen, agent_name=name, topic_id="0123456789", **more)

    def sync(self, at: int, *bodies: str, **more: Any) -> Any:
        """Without waiting."""
        outbox = [{"content_markdown": body} for body in bodies]
        return self.answer(at, "sync", topic_id="0123456789", outbox=outbox, wait_seconds=0, **more)


def test_a_waiting_sync_gives_way_and_looks_again() -> None:
    room = Room()
    waiting = room.model.steps("w", 0, "sync", {"topic_id": "0123456789", "wait_seconds": 5}, 0)
    assert next(waiting) is None
    room.sync(1, "news")
    answer = next(waiting)
    assert answer is not None and answer.value["status"].value == "ready"


def test_a_bus_that_stops_the_cursor_at_what_it_returned_speaks_a_dialect() -> None:
    """And is held to it."""
    room = Room()
    room.model.dialects["topics.cursor.09"] = "at what was returned"
    assert room.sync(0, "own").value["cursor"].value["last_seq"] == 0
    assert room.model.consulted["topics.cursor.09"] == ("past own messages", "at what was returned")


def test_a_refusal_that_promises_nothing_differs() -> None:
    answer = Room().answer(0, "sync", topic_id="nowhere")
    assert answer.differs(Refusal("AGENT_NOT_JOINED", True)) is None
    assert answer.differs(Refusal("AGENT_NOT_JOINED", False)) is not None
    assert answer.differs({"received": []}) is not None


def test_presence_forgets_nobody_within_the_window_and_shows_nobody_beyond() -> None:
    peers = Peers({"new": (3, 1000.0), "old": (1, 600.0)}, 300, 200)
    new = {"agent_name": "new", "last_seq": 3, "updated_at": 1000.0, "age_seconds": 1.0}
    old = {"agent_name": "old", "last_seq": 1, "updated_at": 600.0, "age_seconds": 401.0}
    assert peers([new])
    assert not peers([new, old])
    assert not peers([new | {"last_seq": 2}])
    assert not Peers({"new": (3, 1000.0), "newer": (1, 1000.5)}, 300, 200)([new])


def test_all_ages_of_a_presence_are_of_one_moment() -> None:
    """Whole seconds are not; a peer whose last sync lies in the future is of no age."""
    peers = Peers({"new": (3, 1000.25), "old": (1, 900.75), "ahead": (0, 1060.0)}, 300, 200)
    new = {"agent_name": "new", "last_seq": 3, "updated_at": 1000.25, "age_seconds": 1.5}
    old = {"agent_name": "old", "last_seq": 1, "updated_at": 900.75, "age_seconds": 101.0}
    ahead = {"agent_name": "ahead", "last_seq": 0, "updated_at": 1060.0, "age_seconds": 0.0}
    assert peers([ahead, new, old])
    assert not peers([ahead, new, old | {"age_seconds": 100.0}])
    assert not peers([ahead, new | {"age_seconds": 1.0}, old])


def test_a_peer_whose_time_no_answer_told_is_there_or_not() -> None:
    """A sync that was taken over while it waited has moved a cursor and says nothing of it."""
    peers = Peers({"one": (3, None)}, 300, 200)
    peer = {"agent_name": "one", "last_seq": 3, "updated_at": 1000.0, "age_seconds": 1.0}
    assert peers([peer]) and peers([])
    assert not peers([peer | {"last_seq": 2}])


def test_results_hold_the_words_each_once_and_whole() -> None:
    room = Room()
    room.sync(0, "alpha beta", "gamma")
    topic = room.model.topics[0]
    message = topic.messages[0]
    result = message.told() | {"topic_name": "lane", "snippet": "alpha beta"}
    message.message_id.value, message.created_at.value = "0000000001", 1.0
    flat = {name: plain(getattr(value, "value", value)) for name, value in result.items()}
    hits = {(flat["topic_id"], 1): (topic, message)}
    del flat["content_markdown"]
    assert Results(hits, 20, False)([flat])
    assert not Results(hits, 20, True)([flat])
    assert not Results(hits, 20, False)([flat, flat])
    assert not Results(hits, 20, False)([])


def test_a_message_whose_sender_got_no_answer_is_found_by_an_id_that_nobody_knew() -> None:
    """A sync that was taken over while it waited has sent it, and says nothing of it."""
    room = Room()
    room.sync(0, "alpha beta")
    topic = room.model.topics[0]
    message = topic.messages[0]
    flat = {name: plain(getattr(value, "value", value)) for name, value in message.told().items()}
    result = flat | {"topic_name": "lane", "snippet": flat.pop("content_markdown"), "created_at": 1.0}
    results = Results({(flat["topic_id"], 1): (topic, message)}, 20, False)
    assert results([result | {"message_id": "0000000001"}])
    assert not results([result | {"message_id": None}])
    assert not results([result | {"message_id": "0000000001", "sender": "another"}])


def test_a_search_by_meaning_may_find_more_and_still_finds_what_must_be_found() -> None:
    room = Room()
    room.sync(0, "alpha beta", "gamma")
    topic = room.model.topics[0]
    rows = []
    for number, message in enumerate(topic.messages):
        message.message_id.value, message.created_at.value = f"{number:010}", 1.0
        flat = {name: plain(getattr(value, "value", value)) for name, value in message.told().items()}
        rows.append(flat | {"topic_name": "lane", "snippet": flat.pop("content_markdown")})
    first, second = {
        (row["topic_id"], row["seq"]): (topic, message) for row, message in zip(rows, topic.messages, strict=True)
    }.items()
    by_words = Results(dict([first]), 2, False, dict([second]))
    assert by_words(rows[:1]) and by_words(rows[::-1])
    assert not by_words(rows[1:])  # there is room for messages that hold the words
    assert Results(dict([first]), 1, False, dict([second]))(rows[1:])
    assert not Results(dict([first]), 2, False)(rows)


@pytest.mark.parametrize(("snippet", "is_one"), [("alpha", True), ("…pha be…", True), ("", False), ("[alpha]", False)])
def test_a_snippet_is_a_part_of_the_body(snippet: str, is_one: bool) -> None:
    assert is_snippet(snippet, "alpha\n beta") is is_one


@pytest.mark.parametrize(
    ("method", "params", "codes"),
    [
        (
            "sync",
            {"topic_id": "9876543210", "max_items": 21},
            {"AGENT_NOT_JOINED", "TOPIC_NOT_FOUND", "INVALID_ARGUMENT"},
        ),
        ("sync", {"topic_id": "0123456789", "max_items": 21}, {"INVALID_ARGUMENT"}),
        ("sync", {"topic_id": "9876543210", "no_such": 1}, {"AGENT_NOT_JOINED", "TOPIC_NOT_FOUND", "INVALID_ARGUMENT"}),
        ("cursor_reset", {"topic_id": "a\nb"}, {"AGENT_NOT_JOINED", "TOPIC_NOT_FOUND", "INVALID_ARGUMENT"}),
        (
            "topic_join",
            {"agent_name": "bob", "topic_id": "0123456789", "allow_closed": 1},
            {"AGENT_NAME_IN_USE", "INVALID_ARGUMENT"},
        ),
        ("topic_close", {"topic_id": "9876543210", "reason": 5}, {"TOPIC_NOT_FOUND", "INVALID_ARGUMENT"}),
        ("topic_close", {"topic_id": 5}, {"INVALID_ARGUMENT"}),
    ],
)
def test_of_two_refusals_that_a_call_deserves_either_is_right(
    method: str, params: dict[str, Any], codes: set[str]
) -> None:
    """No sentence says which comes first."""
    answer, every = Room().answer(0, method, **params), set(CONTRACTS["topics"].error_codes)
    assert {code for code in every if answer.differs(Refusal(code, definite=True)) is None} == codes
    assert answer.differs({}) is not None


def test_a_bus_whose_refusals_have_no_code_is_followed_and_breaks_that_row_alone() -> None:
    """Its SDK looks at arguments. Other refusals must have their codes all the same."""
    bare, choice = Refusal("UNSTRUCTURED", definite=False), {"topics.route.19: refuses": "with none"}

    def answers(dialects: dict[str, str], **params: Any) -> Any:
        return TopicsModel(frozenset(), {}, dialects).call("1", 0, "topic_resolve", params, 0)

    assert answers({}, name=[1]).differs(bare) is not None
    assert answers(choice, name=[1]).differs(bare) is None
    assert answers(choice, name=[1]).differs(Refusal("INVALID_ARGUMENT", definite=True)) is None
    assert answers(choice, name=[1]).differs(Refusal("INVALID_ARGUMENT", definite=False)) is not None
    assert answers(choice, name="there is none").differs(bare) is not None


def test_a_lock_that_was_met_too_early_and_a_query_taken_for_syntax_are_blamed_on_their_own_rows() -> None:
    """Not on every row that the answer would have shown."""
    room = Room()
    assert room.sync(0).differs(Refusal("DB_BUSY", definite=True)).rows == ("topics.log.70",)
    syntax = Refusal("INVALID_ARGUMENT", definite=True)
    assert room.answer(0, "messages_search", query='al"pha', mode="fts").differs(syntax).rows == ("topics.search.16",)
    assert "topics.search.12" in room.answer(0, "messages_search", query="alpha", mode="fts").differs(syntax).rows


def test_who_is_that_peer_already_may_be_asked_for_its_token_or_not_and_nobody_else() -> None:
    """Each answer is blamed on the sentence that it breaks: a name that is taken, or a wrong token."""
    room, wrong = Room(), "f" * 32
    whole = {"topic_id": "0123456789", "name": "lane", "status": "open", "agent_name": "ann"}
    joined = {**whole, "reclaim_token": f"{0:032x}"}

    def joins(at: int, **token: str) -> Any:
        return room.answer(at, "topic_join", agent_name="ann", topic_id="0123456789", **token)

    assert joins(0).differs(joined) is None
    assert joins(0, reclaim_token=wrong).differs(joined).rows == ("topics.lease.14",)
    assert joins(1).differs(joined).rows == ("topics.lease.07",)
    room.model.dialects["a wrong token of who is that peer"] = "is not looked at"
    assert joins(0, reclaim_token=wrong).differs(joined) is None
    assert joins(1, reclaim_token=wrong).differs(joined).rows == ("topics.lease.14",)


def test_a_session_whose_name_was_taken_over_joins_again_where_it_may_act() -> None:
    """Without its token, on a bus without fencing (B10)."""
    room = Room()
    room.join(2, "ann", f"{0:032x}", reclaim_token=f"{0:032x}")
    again = {"agent_name": "ann", "topic_id": "0123456789"}
    assert room.answer(0, "topic_join", **again).refused == "AGENT_NAME_IN_USE"
    room.model.dialects["topics.lease.25: a join by the old session"] = "needs none"
    assert room.answer(0, "topic_join", **again).refused is None


def test_a_number_that_is_none_and_a_name_that_is_another_break_their_own_rows() -> None:
    room = Room()
    assert room.sync(0, max_items=True).rows == ("topics.route.19",)
    made = room.answer(0, "topic_create", name="null", mode="new")
    seen = {"topic_id": "0123456780", "name": "topic-1", "status": "open"}
    assert made.differs(seen).rows == ("topics.route.01",)


def test_a_token_for_a_name_that_nobody_has_is_not_looked_at_or_refused() -> None:
    room = Room()
    free = {"agent_name": "dan", "topic_id": "0123456789", "reclaim_token": "f" * 32}
    refused = Refusal("AGENT_NAME_IN_USE", definite=True)
    assert room.answer(0, "topic_join", **free).differs(refused) is not None
    other = Room()
    other.model.dialects["a token for a name that nobody has"] = "is refused"
    assert other.answer(0, "topic_join", **free).differs(refused) is None


def test_a_word_in_another_case_or_without_its_marks_may_be_found_and_need_not() -> None:
    """What is found without either must be found; the case is the bus's choice, and marks are nobody's sentence."""
    room = Room()
    room.sync(0, "Alpha caf\u00e9")
    (topic,) = room.model.topics
    (message,) = topic.messages
    message.message_id.value, message.created_at.value = "0000000001", 1.0
    shown = {name: getattr(message, name) for name in ("seq", "sender", "message_type")}
    found_row = {"topic_id": "0123456789", "message_id": "0000000001", "created_at": 1.0, "topic_name": "lane", **shown}
    hit, nothing = {"results": [found_row | {"snippet": "Alpha caf\u00e9"}]}, {"results": list[Any]()}

    def finds(query: str, seen: Any) -> bool:
        return room.answer(1, "messages_search", query=query, mode="fts").differs(seen) is None

    assert finds("Alpha", hit) and not finds("Alpha", nothing)
    assert finds("cafe", hit) and finds("cafe", nothing)
    assert finds("ALPHA", hit) and not finds("ALPHA", nothing)
    room.model.dialects["words in another case"] = "may be"
    assert finds("ALPHA", hit) and finds("ALPHA", nothing)


def test_own_messages_that_came_during_a_wait_in_vain_are_passed_then_or_at_the_next_sync() -> None:
    """By a call that the same session made meanwhile, or by a stranger under its name (B3, B8)."""

    def cursor(dialects: dict[str, str]) -> Any:
        room = Room()
        room.model.dialects.update(dialects)
        waiting = room.model.steps("w", 0, "sync", {"topic_id": "0123456789", "wait_seconds": 1}, 0)
        assert next(waiting) is None
        room.sync(0, "mine")
        room.model.topics[0].cursors["ann"].last_seq = 0  # a reader that stood before it
        (answer,) = waiting
        assert answer is not None and answer.value["received"].value == []
        return answer.value["cursor"]["last_seq"] if dialects else answer.value["cursor"].value["last_seq"]

    assert cursor({}) == 1
    assert cursor({"topics.cursor.09: in vain": "at the next sync"}) == 0


def test_the_text_for_people_says_the_token_and_the_words_of_short_bodies() -> None:
    """In any form; long bodies may be shortened, and letters beyond ASCII escaped."""
    model = Room().model

    def broken(method: str, seen: Any, text: str) -> tuple[str, ...]:
        unsaid = model.unsaid(method, seen, text)
        return unsaid.rows if unsaid else ()

    def of(*bodies: str) -> dict[str, Any]:
        return {"received": [{"content_markdown": body} for body in bodies]}

    assert broken("topic_join", {"reclaim_token": "f1"}, "joined; reclaim_token=f1") == ()
    assert broken("topic_join", {"reclaim_token": "f1"}, "joined; reclaim_token=f2") == ("topics.lease.19",)
    assert broken("sync", of("alpha\nBeta", "caf\u00e9 7"), '["alpha\\nBeta", "caf\\u00e9 7"]') == ()
    assert broken("sync", of("alpha", "Beta"), "2 received: alpha") == ("topics.log.68",)
    assert broken("sync", of("alpha" * 100), "1 received") == ()
    assert broken("topic_list", {"topics": []}, "no topics") == ()
