"""A state machine for `topics`: joins, sends, syncs, acknowledgements, resets, closes and restarts.

Each example has topics of its own on the fleet's shared store: a server process takes a second to start.
"""

from __future__ import annotations

import shutil
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import rule

from busproof.fleet import Fleet
from busproof.machines.common import AGENTS, BusMachine, MachineRun, agents, play
from busproof.models.lane import Topic

ROW = "topics.log.72"
ROWS = (ROW,)

lanes = st.integers(0, 1)
bodies = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12)
keys = st.none() | st.sampled_from(["k1", "k2", "k3"])


class TopicsMachine(BusMachine):
    """Three agents, each a process, on two topics."""

    def __init__(self) -> None:
        super().__init__()
        shutil.rmtree(self.store)
        self.store = self.fleet.shared_store()
        self.ids: list[str] = []
        self.topics = [Topic(), Topic()]
        self.tokens: dict[tuple[str, int], str] = {}

    def prepare(self) -> None:
        """Two topics, and everybody in them."""
        self.ids = [self.call("ada", "topic_create", mode="new")["topic_id"] for _ in self.topics]
        for agent in AGENTS:
            self._join(agent)

    def _join(self, agent: str) -> None:
        for lane, topic_id in enumerate(self.ids):
            token = {} if (agent, lane) not in self.tokens else {"reclaim_token": self.tokens[agent, lane]}
            reply = self.call(agent, "topic_join", topic_id=topic_id, agent_name=agent, **token)
            known = self.tokens.setdefault((agent, lane), reply["reclaim_token"])
            self.must(ROW, reply["reclaim_token"] == known, f"{agent} got another token by its token: {reply}")

    @rule(
        agent=agents,
        lane=lanes,
        items=st.lists(st.tuples(bodies, keys), max_size=4),
        max_items=st.sampled_from([1, 2, 20]),
        include_self=st.booleans(),
        auto_advance=st.booleans(),
        ack=st.none() | st.integers(-1, 12),
    )
    def sync(
        self,
        agent: str,
        lane: int,
        items: list[tuple[str, str | None]],
        max_items: int,
        include_self: bool,
        auto_advance: bool,
        ack: int | None,
    ) -> None:
        """Refused as a whole, or all of it."""
        topic = self.topics[lane]
        params: dict[str, Any] = {
            "topic_id": self.ids[lane],
            "wait_seconds": 0,
            "max_items": max_items,
            "include_self": include_self,
            "auto_advance": auto_advance,
            "outbox": [_item(*item) for item in items],
        }
        if not auto_advance and ack is not None:
            params["ack_through"] = ack
        trial = Topic(list(topic.messages), dict(topic.cursors), topic.is_open)
        sent = [trial.send(agent, *item) for item in items]
        bad_ack = "ack_through" in params and not 0 <= params["ack_through"] <= trial.newest
        if None in sent or bad_ack:
            refusal = self.refused(agent, "sync", **params)
            wanted = {"TOPIC_CLOSED"} if not bad_ack else {"INVALID_ARGUMENT", "TOPIC_CLOSED"}
            self.must(
                ROW,
                refusal is not None and refusal.code in wanted,
                f"{params} must be refused with {wanted}: {refusal}",
            )
            return
        reply = self.call(agent, "sync", **params)
        self.topics[lane] = trial
        told = [record["message"]["seq"] for record in reply["sent"]]
        self.must(ROW, told == [seq for seq, _ in filter(None, sent)], f"sent {items}: {told}, the model says {sent}")
        self._received(agent, trial, params, reply)

    def _received(self, agent: str, topic: Topic, params: dict[str, Any], reply: dict[str, Any]) -> None:
        before = max(topic.cursors.get(agent, 0), params.get("ack_through", 0))
        unread = topic.unread(agent, before, params["include_self"])
        wanted = unread[: params["max_items"]]
        got = [message["seq"] for message in reply["received"]]
        self.must(ROW, got == wanted, f"{agent} at {before} received {got}, the model says {wanted}")
        for message in reply["received"]:
            stored = topic.messages[message["seq"] - 1]
            same = (message["sender"], message["content_markdown"], message["client_message_id"]) == (
                stored["sender"],
                stored["body"],
                stored["key"],
            )
            self.must(ROW, same, f"seq {message['seq']} is {message!r:.300}, sent was {stored}")
        after = reply["cursor"]["last_seq"]
        least, most = (before, before)
        if params["auto_advance"]:
            least, most = topic.advanced(got, len(got) == len(unread), before)
            if len(got) < len(unread):
                most = unread[len(got)] - 1
        self.must(ROW, least <= after <= most, f"the cursor of {agent} is {after}, the model says {least} to {most}")
        topic.cursors[agent] = after

    @rule(agent=agents, lane=lanes, to=st.integers(-1, 12))
    def reset(self, agent: str, lane: int, to: int) -> None:
        """To what exists."""
        topic = self.topics[lane]
        params = {"topic_id": self.ids[lane], "last_seq": to}
        if not 0 <= to <= topic.newest:
            refusal = self.refused(agent, "cursor_reset", **params)
            good = refusal is not None and refusal.code == "INVALID_ARGUMENT"
            self.must(ROW, good, f"a reset to {to} of {topic.newest} must be INVALID_ARGUMENT: {refusal}")
            return
        reply = self.call(agent, "cursor_reset", **params)
        self.must(ROW, reply["cursor"]["last_seq"] == to, f"a reset to {to} answered {reply}")
        topic.cursors[agent] = to

    @rule(agent=agents, lane=lanes, dice=st.integers(0, 7))
    def close(self, agent: str, lane: int, dice: int) -> None:
        """Seldom, and for good."""
        if dice == 5:
            self.call(agent, "topic_close", topic_id=self.ids[lane])
            self.topics[lane].is_open = False

    @rule(agent=agents, other=agents, lane=lanes)
    def join_as_another(self, agent: str, other: str, lane: int) -> None:
        """A name in use is not given away."""
        if agent != other:
            refusal = self.refused(agent, "topic_join", topic_id=self.ids[lane], agent_name=other)
            good = refusal is not None and refusal.code == "AGENT_NAME_IN_USE"
            self.must(ROW, good, f"{agent} joins as {other}: {refusal or 'accepted'}")

    @rule(agent=agents, dice=st.integers(0, 49))
    def restart(self, agent: str, dice: int) -> None:
        """Seldom, for it takes a second or two: a new process, which must join again with the token."""
        if dice != 31:  # Hypothesis loves 0
            return
        self.reopen(agent, is_crash=True)
        refusal = self.refused(agent, "sync", topic_id=self.ids[0], wait_seconds=0)
        good = refusal is not None and refusal.code == "AGENT_NOT_JOINED"
        self.must(ROW, good, f"a new process that has not joined: {refusal or 'accepted'}")
        self._join(agent)


def _item(body: str, key: str | None) -> dict[str, Any]:
    return {"content_markdown": body, **({} if key is None else {"client_message_id": key})}


def run(fleet: Fleet, profile: str = "pr", with_seed: int | None = None) -> MachineRun:
    """Play the machine under a profile."""
    return play(TopicsMachine, ROWS, fleet, profile, with_seed)


MACHINES = {"machine.topics": run}
