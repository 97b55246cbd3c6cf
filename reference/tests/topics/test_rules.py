"""The rules of topics, alone; and the SQL that says them again, held against them on a real file."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from refbus.kernel.rules import sync as rules
from refbus.kernel.rules.sync import Claim
from refbus.topics import cursor, log
from refbus.topics.bus import TopicsBus
from refbus.topics.lease import Identity

NAMES = ("a", "b", "c")
senders = st.lists(st.sampled_from(NAMES), max_size=12)


def is_unread(seq: int, sender: str, *, position: int, reader: str, include_self: bool) -> bool:
    """Is a message news to a reader whose cursor is at `position`?"""
    return seq > position and (include_self or sender != reader)


@given(
    senders=senders,
    position=st.integers(0, 12),
    reader=st.sampled_from(NAMES),
    own=st.booleans(),
    most=st.integers(1, 5),
)
def test_a_cursor_passes_all_that_is_read_and_nothing_that_is_not(
    senders: list[str], position: int, reader: str, own: bool, most: int
) -> None:
    """Own messages too, as far as nothing unread lies before them (B8)."""
    position = min(position, len(senders))
    unread = [
        seq
        for seq, sender in enumerate(senders, 1)
        if is_unread(seq, sender, position=position, reader=reader, include_self=own)
    ]
    taken, left = unread[:most], unread[most:]
    passed = rules.passed(position, unread[: most + 1], most, len(senders))
    assert position <= passed <= len(senders)
    assert all(seq <= passed for seq in taken) and all(seq > passed for seq in left)
    assert passed == len(senders) or passed + 1 == left[0]


def test_the_sql_of_a_page_of_news_and_of_numbers_is_the_rule(tmp_path: Path) -> None:
    """On any log, for any reader."""
    with TopicsBus(tmp_path) as bus:
        topic_id = bus.topic_create("lane")["topic_id"]
        other_id = bus.topic_create("other")["topic_id"]

        @settings(max_examples=200, deadline=None)
        @given(
            senders=senders,
            position=st.none() | st.integers(0, 12),
            reader=st.sampled_from(NAMES),
            own=st.booleans(),
            most=st.integers(1, 5),
            counter=st.none() | st.integers(1, 20),
        )
        def holds(
            senders: list[str], position: int | None, reader: str, own: bool, most: int, counter: int | None
        ) -> None:
            me = Identity(topic_id, reader, Claim("t", 1, 1.0))
            with bus.store.transaction() as tx:
                for table in ("messages", "cursors", "topic_seq"):
                    tx.execute(f"DELETE FROM {table}")
                for seq, sender in enumerate(senders, 1):
                    for place in (topic_id, other_id):
                        values = (f"{place}-{seq}", place, seq, sender)
                        tx.execute("INSERT INTO messages VALUES (?, ?, ?, ?, 'm', NULL, 'x', NULL, NULL, 1)", values)
                if position is not None:
                    cursor.move(tx, me, position)
                if counter is not None:
                    tx.execute("INSERT INTO topic_seq VALUES (?, ?, 1)", (topic_id, counter))
                lane, start, claim = cursor.standing(tx, me)
                unread = [
                    seq
                    for seq, sender in enumerate(senders, 1)
                    if is_unread(seq, sender, position=start, reader=reader, include_self=own)
                ]
                page = log.page(tx, topic_id, reader, start, own, most, len(senders))
                assert start == (position or 0)
                assert [message["seq"] for message in page.messages] == unread[:most]
                assert page.has_more == (len(unread) > most)
                assert cursor.has_news(tx, me, own) == bool(unread)
                assert lane == ("open", rules.next_seq(counter, len(senders)))
                assert claim is None

        holds()
