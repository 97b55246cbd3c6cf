"""A state machine for `comms`: sends, claims, failures, dead letters and time, held against an oracle of deliveries."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.stateful import precondition, rule

from busproof.fleet import Fleet
from busproof.machines.common import AGENTS, BusMachine, MachineRun, agents, json_values, play
from busproof.models.delivery import Sent
from busproof.models.log import same_json

ROW = "comms.log.70"
ROWS = (ROW,)
CHANNELS = ("general", "urgent", "c")
TTL_MS = {"general": 3_600_000, "urgent": 300_000, "c": 3_600_000}

places = st.integers(0, 40)
times_ms = st.sampled_from([1, 499, 500, 1_500, 3_000, 59_999, 60_000, 300_000])


class CommsMachine(BusMachine):
    """Three agents, each a process, on one `comms` bus."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[Sent] = []

    def prepare(self) -> None:
        """Every agent has its row and a message, and there is one for all: Hypothesis leaves rules out of a program,
        and one that never sends would otherwise have nothing to look at.
        """
        for agent in AGENTS:
            if "presence" in self.has:
                self.call(agent, "send_heartbeat", status="active")
            self._send(agent, to=agent, priority=5, channel="general", payload={})
        self._send(AGENTS[0], to=None, priority=5, channel="general", payload={})

    @rule(
        agent=agents,
        to=agents | st.none(),
        priority=st.integers(1, 10),
        channel=st.sampled_from(CHANNELS),
        payload=st.dictionaries(st.text("ab", max_size=2), json_values, max_size=2),
    )
    def send(self, agent: str, to: str | None, priority: int, channel: str, payload: dict[str, Any]) -> None:
        """To one agent or to all."""
        if sum(message.at_ms == self.now_ms for message in self.sent) > 60:
            return  # far from the bucket's bound, which scenarios check
        self._send(agent, to, priority, channel, payload)

    def _send(self, agent: str, to: str | None, priority: int, channel: str, payload: dict[str, Any]) -> None:
        said: dict[str, Any] = {"message_type": "note", "payload": payload, "channel": channel, "priority": priority}
        reply = self.call(agent, "send_message", **said, **({} if to is None else {"to_agent": to}))
        ends_ms = self.now_ms + TTL_MS[channel]
        self.sent.append(Sent(reply["message_id"], to, priority, self.now_ms, ends_ms, channel, payload))

    @rule(agent=agents, channels=st.lists(st.sampled_from(CHANNELS), min_size=1, max_size=3, unique=True))
    def receive(self, agent: str, channels: list[str]) -> None:
        """All that is certainly there, nothing that certainly is not, in order, as it was sent."""
        self._receive(agent, channels)

    def _receive(self, agent: str, channels: Sequence[str]) -> None:
        got = self.call(agent, "receive_messages", channels=list(channels), limit=200)["messages"]
        mine = [m for m in self.sent if m.channel in channels and m.is_for(agent, self.now_ms)]
        by_id = {m.id: m for m in mine}
        names = [row["id"] for row in got]
        due = {m.id for m in mine if m.of(agent).there(self.now_ms) is True}
        possible = {m.id for m in mine if m.of(agent).there(self.now_ms) is not False}
        good = len(set(names)) == len(names) and due <= set(names) <= possible
        self.must(ROW, good, f"{agent} received {names}; the model wants {sorted(due)}, allows {sorted(possible)}")
        # Of one moment and priority any order will do here: it is a dialect (C7), and a row of its own.
        wanted = sorted(names, key=lambda name: (-by_id[name].priority, by_id[name].at_ms))
        self.must(ROW, names == wanted, f"{agent} received {names}; in order they are {wanted}")
        for row in got:
            message = by_id[row["id"]]
            same = same_json(row["payload"], message.payload) and row["priority"] == message.priority
            self.must(ROW, same, f"sent {message.payload!r:.200}, received {row!r:.300}")

    @rule(agent=agents, place=places, pick=st.sampled_from(["any", "mine", "mine"]))
    def claim(self, agent: str, place: int, pick: str) -> None:
        """Granted exactly when the model grants it; of anybody's messages, mostly of its own."""
        choice = [m for m in self.sent if pick == "any" or m.is_for(agent, self.now_ms)]
        if choice:
            self._claim(agent, choice[place % len(choice)])

    def _claim(self, agent: str, message: Sent) -> None:
        delivery = message.of(agent)
        wanted = delivery.there(self.now_ms) if message.is_for(agent, self.now_ms) else False
        reply = self.call(agent, "claim_message", message_id=message.id)
        good = wanted is None or reply["claimed"] is wanted
        self.must(ROW, good, f"{agent} claims {message.id}: {reply}, the model says {wanted} ({delivery})")
        if reply["claimed"]:
            delivery.claim(self.now_ms)
            count = reply.get("delivery_count")
            self.must(ROW, count in (None, delivery.claims), f"claim number {delivery.claims} answered {reply}")

    @rule(agent=agents, place=places, is_failure=st.booleans())
    def complete(self, agent: str, place: int, is_failure: bool) -> None:
        """By a holder whose claim lives. Failures only on a clock of ours: a retry delay would pass on any other."""
        held = [m for m in self.sent if self._holds(agent, m)]
        if held:
            self._complete(agent, held[place % len(held)], is_failure and "clock" in self.has)

    def _holds(self, agent: str, message: Sent) -> bool:
        delivery = message.of(agent)
        return delivery.state == "held" and self.now_ms < min(delivery.surely_ms, message.expires_ms)

    def _complete(self, agent: str, message: Sent, is_failure: bool) -> None:
        self.call(agent, "complete_message", message_id=message.id, **({"error": "it broke"} if is_failure else {}))
        if is_failure:
            message.of(agent).fail(self.now_ms)
        else:
            message.of(agent).state = "done"

    @precondition(lambda self: "clock" in self.has)
    @rule(
        agent=agents,
        place=places,
        ms=times_ms,
        ends=st.lists(st.sampled_from(["failed", "failed", "forgotten", "done"]), min_size=1, max_size=5),
    )
    def work(self, agent: str, place: int, ends: list[str], ms: int) -> None:
        """One message for a while: claimed, let go of, seen or not, claimed again. Single steps seldom meet on one
        message often enough to fail three times.
        """
        choice = [m for m in self.sent if m.is_for(agent, self.now_ms)]
        if not choice:
            return
        message = choice[place % len(choice)]
        for end in ends:
            self._claim(agent, message)
            if end != "forgotten" and self._holds(agent, message):
                self._complete(agent, message, end == "failed")
            self._receive(agent, CHANNELS)
            self.advance(ms)
            self._receive(agent, CHANNELS)
        self._look(agent, agent)

    @rule(agent=agents, other=st.sampled_from(AGENTS))
    def look(self, agent: str, other: str) -> None:
        """At the dead letters, and at another's health."""
        self._look(agent, other)

    def _look(self, agent: str, other: str) -> None:
        if "retry" in self.has:
            self._look_at_dead_letters(agent)
        if {"presence", "clock"} <= self.has:
            self._look_at_health(agent, other)

    def _look_at_dead_letters(self, agent: str) -> None:
        """One for each delivery that failed three times."""
        letters = self.call(agent, "dead_letters")["dead_letters"]
        got = sorted(letter["original_message"]["id"] for letter in letters)
        wanted = sorted(m.id for m in self.sent for d in m.deliveries.values() if d.state == "dead")
        self.must(ROW, got == wanted, f"the dead letter queue holds {got}, the model {wanted}")

    def _look_at_health(self, agent: str, other: str) -> None:
        """What is pending for one agent alone is counted, wherever the jitter leaves no doubt."""
        mine = [m for m in self.sent if m.to == other]
        states = [m.of(other).there(self.now_ms) for m in mine]
        if not mine or None in states or any(self.now_ms >= m.expires_ms for m in mine):
            return
        told = self.call(agent, "get_agent_health", agent_id=other)["messages_pending"]
        self.must(ROW, told == states.count(True), f"{other} has {told} pending, the model {states.count(True)}")

    @precondition(lambda self: "redrive" in self.has)
    @rule(agent=agents, place=places)
    def redrive(self, agent: str, place: int) -> None:
        """A dead letter to one agent is a message again."""
        dead = [m for m in self.sent if m.to and m.of(m.to).state == "dead"]
        if not dead:
            return
        message = dead[place % len(dead)]
        reply = self.call(agent, "redrive", id=message.id)
        self.must(ROW, reply["redriven"], f"redriving {message.id}: {reply}")
        assert message.to is not None
        message.deliveries.pop(message.to)
        message.expires_ms = self.now_ms + TTL_MS[message.channel]

    @rule(agent=agents)
    def clean_up(self, agent: str) -> None:
        """Takes nothing whose time is not over; the next receive would miss it."""
        self.call(agent, "cleanup_expired_messages")

    @precondition(lambda self: "clock" in self.has)
    @rule(ms=times_ms)
    def pass_time(self, ms: int) -> None:
        """On every session at once."""
        self.advance(ms)

    @rule(agent=agents, is_crash=st.integers(0, 9).map(lambda n: n == 0))
    def restart(self, agent: str, is_crash: bool) -> None:
        """A new process takes the agent's place; one in ten dies by SIGKILL."""
        self.reopen(agent, is_crash)


def run(fleet: Fleet, profile: str = "pr", with_seed: int | None = None) -> MachineRun:
    """Play the machine under a profile."""
    return play(CommsMachine, ROWS, fleet, profile, with_seed)


MACHINES = {"machine.comms": run}
