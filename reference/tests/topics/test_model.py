"""sync held against a tiny model: whatever agents do, each reads what it should, once, in order."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from refbus.kernel.errors import InvalidArgument, TopicClosed
from refbus.topics.bus import TopicsBus

AGENTS = ("a", "b", "c")
agents = st.sampled_from(AGENTS)
keys = st.none() | st.sampled_from("klm")


class Topic(RuleBasedStateMachine):
    """One topic, three agents. The model is a list of messages and a number for each agent."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.log: list[tuple[str, str, str | None]] = []
        self.cursors = dict.fromkeys(AGENTS, 0)
        self.is_closed = False
        self.buses, self.tokens = {}, {}
        for name in AGENTS:
            self.buses[name] = TopicsBus(self.folder)
            self.topic_id = self.buses[name].topic_create(name="lane")["topic_id"]
            self.tokens[name] = self.buses[name].topic_join(name, self.topic_id)["reclaim_token"]

    def teardown(self) -> None:
        for bus in self.buses.values():
            bus.close()
        shutil.rmtree(self.folder)

    @rule(
        agent=agents,
        outbox=st.lists(st.tuples(st.sampled_from("xyz"), keys), max_size=3),
        max_items=st.integers(1, 4),
        include_self=st.booleans(),
        ack=st.none() | st.integers(0, 12),
        auto_advance=st.booleans(),
    )
    def sync(
        self,
        agent: str,
        outbox: list[tuple[str, str | None]],
        max_items: int,
        include_self: bool,
        ack: int | None,
        auto_advance: bool,
    ) -> None:
        """A sync of any kind, as the model foresees it."""
        ack = None if auto_advance else ack
        log, expected = list(self.log), []
        for body, key in outbox:
            known = [seq for seq, (sender, _, k) in enumerate(log, 1) if key and (sender, k) == (agent, key)]
            if not known:
                log.append((agent, body, key))
            expected.append((known[0] if known else len(log), bool(known)))
        arguments: dict[str, Any] = {
            "outbox": [{"content_markdown": body, "client_message_id": key} for body, key in outbox],
            "max_items": max_items,
            "include_self": include_self,
            "auto_advance": auto_advance,
            "ack_through": ack,
        }
        if (self.is_closed and len(log) > len(self.log)) or (ack is not None and ack > len(log)):
            with pytest.raises((TopicClosed, InvalidArgument)):
                self.buses[agent].sync(self.topic_id, wait_seconds=0, **arguments)
            return
        reply = self.buses[agent].sync(self.topic_id, wait_seconds=0, **arguments)
        assert [(r["message"]["seq"], r["duplicate"]) for r in reply["sent"]] == expected
        self.log = log
        cursor = max(self.cursors[agent], ack or 0)
        unread = [
            seq for seq, (sender, _, _) in enumerate(log, 1) if seq > cursor and (include_self or sender != agent)
        ]
        assert [m["seq"] for m in reply["received"]] == unread[:max_items]
        assert [m["content_markdown"] for m in reply["received"]] == [log[m - 1][1] for m in unread[:max_items]]
        assert reply["has_more"] == (len(unread) > max_items)
        if auto_advance:
            cursor = unread[max_items] - 1 if reply["has_more"] else max(cursor, len(log))
        self.cursors[agent] = cursor
        assert reply["cursor"]["last_seq"] == cursor

    @rule(agent=agents, last_seq=st.integers(0, 12))
    def reset(self, agent: str, last_seq: int) -> None:
        """Anywhere that exists."""
        if last_seq > len(self.log):
            with pytest.raises(InvalidArgument):
                self.buses[agent].cursor_reset(self.topic_id, last_seq)
        else:
            self.buses[agent].cursor_reset(self.topic_id, last_seq)
            self.cursors[agent] = last_seq

    @rule(agent=agents)
    def restart(self, agent: str) -> None:
        """The session goes, the identity stays."""
        self.buses[agent].close()
        self.buses[agent] = TopicsBus(self.folder)
        self.buses[agent].topic_join(agent, self.topic_id, reclaim_token=self.tokens[agent])

    @precondition(lambda self: len(self.log) > 4)
    @rule(agent=agents)
    def close(self, agent: str) -> None:
        """For good."""
        assert ("warnings" in self.buses[agent].topic_close(self.topic_id)) == self.is_closed
        self.is_closed = True

    @invariant()
    def numbers_are_dense(self) -> None:
        """From 1, and search finds each message."""
        assert [m["seq"] for m in self.buses["a"].messages(self.topic_id)] == list(range(1, len(self.log) + 1))
        hits = self.buses["a"].messages_search("x", mode="fts", limit=1000)["results"]
        assert sorted(r["seq"] for r in hits) == [s for s, (_, body, _) in enumerate(self.log, 1) if body == "x"]


def test_sync_does_what_a_tiny_model_does() -> None:
    """In any order of sends, acks, resets, restarts and closes."""
    run_state_machine_as_test(
        Topic, settings=settings(max_examples=60, stateful_step_count=25, deadline=None, derandomize=False)
    )
