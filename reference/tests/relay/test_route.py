"""The recipients of messages (4.2), and the order of delivery."""

from __future__ import annotations

import pytest
from reference.tests.relay.conftest import Agents, OpenRelay, rows

from refbus.kernel import msgfile
from refbus.kernel.clock import Clock
from refbus.kernel.msgfile import Message
from refbus.relay.bus import RelayBus


def test_a_message_goes_to_the_agent_that_it_names(relay: RelayBus, agents: Agents) -> None:
    """With its sender and its id, to the letter, and then into the archive."""
    agents.join("bob", "eve")
    sent = agents.send("ann", "bob", "hello\n\nbob", thread="t", priority=1, others=(("X-TAG", "a"),))
    assert relay.scan() == {"discovered": 1, "completed": 1, "failed": 0, "retried": 0, "refused": 0}
    message = Message("bob", "hello\n\nbob", thread="t", priority=1, others=(("X-TAG", "a"),))
    assert agents.inbox("bob") == [("ann", sent, message)]
    assert agents.inbox("eve") == agents.inbox("ann") == []
    (row,) = rows(relay).values()
    assert (row["message_id"], row["status"], row["message_type"], row["target"]) == (
        sent,
        "archived",
        "message",
        "bob",
    )
    assert [path.name for path in agents.root.glob("archive/2026-01-10/ann/*")] == [f"{sent[4:]}.msg"]
    (copy,) = rows(relay, "inbox").values()
    assert (copy["agent_name"], copy["status"], copy["target"]) == ("bob", "completed", "bob")
    assert copy["message_id"].endswith(sent[-8:])


def test_an_agent_may_write_to_itself(relay: RelayBus, agents: Agents) -> None:
    """Why not."""
    agents.send("ann", "ann", "note")
    relay.scan()
    assert agents.bodies("ann") == ["note"]


def test_a_copy_takes_no_name_that_its_reader_used(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """An agent that names its file as the copy to itself would be named stops nobody."""
    for number in range(3):
        name = f"{clock.now_ms() * 1_000_000 + number}-0000000a.msg"
        agents.put("ann", b"TO: ann\n\n%d" % number, name=name)
    relay.scan()
    assert agents.bodies("ann") == ["0", "1", "2"]


def test_a_broadcast_reaches_all_active_agents_but_its_sender(
    open_relay: OpenRelay, agents: Agents, clock: Clock
) -> None:
    """An agent that was silent for too long is left out, until it sends something."""
    relay = open_relay(agent_timeout_ms=60_000)
    agents.join("bob", "eve")
    relay.scan()
    clock.set(clock.now_ms() + 59_999)
    agents.send("eve", "eve")
    relay.scan()
    clock.set(clock.now_ms() + 1)
    agents.send("ann", "*", "all")
    relay.scan()
    assert relay.status()["agents"] == [
        {"name": "ann", "status": "active"},
        {"name": "bob", "status": "inactive"},
        {"name": "eve", "status": "active"},
    ]
    assert (agents.bodies("ann"), agents.bodies("bob"), agents.bodies("eve")) == ([], [], ["", "all"])
    agents.send("bob", "bob", "back")
    relay.scan()
    agents.send("ann", "*", "again")
    relay.scan()
    assert agents.bodies("bob") == ["back", "again"]


def test_a_broadcast_to_nobody_is_done(relay: RelayBus, agents: Agents) -> None:
    """As is one to a channel that nobody wants."""
    sent = [agents.send("ann", "*"), agents.send("ann", "#dev")]
    relay.scan()
    assert [rows(relay)[id_]["status"] for id_ in sent] == ["archived", "archived"]


def test_a_channel_reaches_who_wants_it_from_then_on(relay: RelayBus, agents: Agents) -> None:
    """In the order of discovery, also within one pass; and until it wants no more."""
    agents.send("ann", "#dev", "too early")
    agents.send("bob", "__orchestrator__", "SUBSCRIBE: #dev, #ops\n", "status")
    agents.send("cid", "#dev", "one")
    agents.send("bob", "#dev", "own")
    relay.scan()
    agents.send("bob", "__orchestrator__", "busy\nUNSUBSCRIBE: #dev", "status")
    agents.send("cid", "#dev", "two")
    agents.send("cid", "#ops", "three")
    relay.scan()
    assert agents.bodies("bob") == ["one", "three"]
    assert relay.dump()["subscriptions"] == [{"channel": "#ops", "agent_name": "bob"}]


def test_a_channel_reaches_who_was_silent_for_long(open_relay: OpenRelay, agents: Agents, clock: Clock) -> None:
    """All subscribers, says the seed: only a broadcast is for active agents."""
    relay = open_relay(agent_timeout_ms=60_000)
    agents.send("bob", "__orchestrator__", "SUBSCRIBE: #dev", "status")
    relay.scan()
    clock.set(clock.now_ms() + 60_000)
    agents.send("ann", "#dev", "one")
    agents.send("ann", "*", "all")
    relay.scan()
    assert {"name": "bob", "status": "inactive"} in relay.status()["agents"]
    assert agents.bodies("bob") == ["one"]


def test_a_bad_channel_changes_nothing(relay: RelayBus, agents: Agents) -> None:
    """Also not the good ones beside it."""
    sent = agents.send("bob", "__orchestrator__", "SUBSCRIBE: #dev,#1", "status")
    relay.scan()
    assert rows(relay)[sent]["last_error"].startswith("bad_request")
    assert relay.dump()["subscriptions"] == []


def test_lead_is_the_agent_that_is_configured(open_relay: OpenRelay, agents: Agents, clock: Clock) -> None:
    """It is waited for, three times, longer each time; then the message fails."""
    relay = open_relay(lead="boss")
    sent = agents.send("ann", "Lead", "hi boss")
    assert relay.scan()["retried"] == 1
    for wait_ms in (999, 1, 1_999, 1):
        clock.set(clock.now_ms() + wait_ms)
        retried = relay.scan()["retried"]
        assert retried == (wait_ms == 1)
    agents.join("boss")
    clock.set(clock.now_ms() + 4_000)
    relay.scan()
    assert agents.inbox("boss") == [("ann", sent, Message("Lead", "hi boss"))]
    assert (rows(relay)[sent]["retry_count"], rows(relay)[sent]["status"]) == (3, "archived")


def test_a_clock_that_goes_back_makes_nobody_wait_for_an_hour(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """A pause ends with it, and the next one is counted from there (R1)."""
    agents.send("ann", "bob", "hello")
    assert relay.scan()["retried"] == 1
    clock.set(clock.now_ms() - 3_600_000)
    assert [relay.scan()["retried"] for _ in range(2)] == [1, 0]
    agents.join("bob")
    clock.set(clock.now_ms() + 2_000)
    assert relay.scan()["completed"] == 1


def test_nobody_is_waited_for_for_ever(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """The fourth failure is the last, and the file is put away (R4)."""
    sent = [agents.send("ann", "nobody"), agents.send("ann", "Lead")]
    for wait_ms in (0, 1_000, 2_000, 4_000, 8_000):
        clock.set(clock.now_ms() + wait_ms)
        relay.scan()
    failed = [rows(relay)[id_] for id_ in sent]
    assert [(row["status"], row["retry_count"], row["last_error"]) for row in failed] == [
        ("failed", 4, "unknown_agent: nobody"),
        ("failed", 4, "no_lead"),
    ]
    assert list(agents.outbox("ann").glob("*.msg")) == []


@pytest.mark.parametrize(
    "to", ["lead", "LEAD", "#", "#1", "a b", "../bob", "system", "Admin", "__Orchestrator__", "**"]
)
def test_what_is_no_address_fails_at_once(relay: RelayBus, agents: Agents, to: str) -> None:
    """Reserved names are none, whatever the case."""
    sent = agents.send("ann", to)
    assert relay.scan()["failed"] == 1
    assert rows(relay)[sent]["last_error"].startswith("bad_address")


@pytest.mark.parametrize("kind", ["spawn", "release", "continuity"])
def test_a_request_to_somebody_else_is_misdirected(relay: RelayBus, agents: Agents, kind: str) -> None:
    """It is neither done nor delivered."""
    agents.join("bob")
    sent = agents.send("ann", "bob", "NAME: x", kind)
    relay.scan()
    assert rows(relay)[sent]["last_error"] == f"misdirected: {kind}"
    assert agents.inbox("bob") == []


@pytest.mark.parametrize("kind", ["message", "ack", "nack", "status"])
def test_acks_and_the_like_go_their_way_like_any_message(relay: RelayBus, agents: Agents, kind: str) -> None:
    """To an agent, and to the orchestrator, which takes them into its ledger."""
    agents.join("bob")
    agents.send("ann", "bob", "of 1", kind)
    taken = agents.send("ann", "__orchestrator__", "of 2", kind)
    relay.scan()
    assert [(message.kind, message.body) for _, _, message in agents.inbox("bob")] == [(kind, "of 1")]
    assert rows(relay)[taken]["status"] == "archived"


def test_what_an_agent_saves_it_can_load(relay: RelayBus, agents: Agents) -> None:
    """The last state, for itself alone; nothing, where nothing was saved."""
    agents.send("ann", "__orchestrator__", "ACTION: save\none", "continuity")
    agents.send("ann", "__orchestrator__", "ACTION: save\ntwo\nlines", "continuity")
    asked = [agents.send(agent, "__orchestrator__", "ACTION: load", "continuity") for agent in ("ann", "bob")]
    relay.scan()
    assert agents.inbox("ann") == [("__orchestrator__", asked[0], Message("ann", "two\nlines", "continuity"))]
    assert agents.inbox("bob") == [("__orchestrator__", asked[1], Message("bob", "", "continuity"))]
    bad = [
        agents.send("ann", "__orchestrator__", body, "continuity") for body in ("", "ACTION: drop", "save", "X: save")
    ]
    relay.scan()
    assert {rows(relay)[id_]["last_error"] for id_ in bad} == {"bad_request: ACTION must be save or load"}


def test_one_scan_orders_by_priority_and_then_by_name(relay: RelayBus, agents: Agents) -> None:
    """0 is the highest, 5 the default (R7); messages of an earlier scan go before (R1)."""
    agents.join("bob")
    for body, priority in (("c", None), ("d", 5), ("e", 9), ("a", 0), ("b", 4)):
        agents.send("ann", "bob", body, priority=priority)
    relay.scan()
    agents.send("ann", "bob", "f", priority=0)
    relay.scan()
    assert agents.bodies("bob") == ["a", "b", "c", "d", "e", "f"]


def test_names_in_an_inbox_rise_where_the_clock_stands_or_goes_back(
    relay: RelayBus, agents: Agents, clock: Clock
) -> None:
    """Their order is the order of delivery; and the pass tells of the clock."""
    for number in range(3):
        agents.send("ann", "ann", f"{number}")
        agents.send("ann", "ann", f"{number}+")
        relay.scan()
        clock.set(clock.now_ms() - 1)
    assert agents.bodies("ann") == ["0", "0+", "1", "1+", "2", "2+"]
    assert [(record["event"], record["detail"]) for record in relay.audit()["records"]] == [("clock_back", "1 ms")] * 2


def test_the_sender_is_who_owns_the_outbox(relay: RelayBus, agents: Agents, clock: Clock) -> None:
    """No header says otherwise."""
    agents.join("bob")
    agents.put("ann", b"FROM: eve\nTO: bob\n\n", age_ms=5_000)
    assert relay.scan()["failed"] == 1
    assert agents.inbox("bob") == []
    assert msgfile.MALFORMED_MS == 5_000
