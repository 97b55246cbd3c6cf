"""Plans: drawn whole, the same for the same seed."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from itertools import chain
from typing import Any

import pytest

from buschaos import plan as plans
from buschaos.plan import Call, Plan
from buschaos.subjects.topics.roles import ROLES as TOPICS_ROLES
from buschaos.subjects.worker.roles import ROLES
from busproof.contract.worker import WORKER_FEATURES

EVERYTHING = ["log", "cursor", "lease", "presence", "blob", "retry", "export", *WORKER_FEATURES]


def draw(seed: int, kills: int, declared: Iterable[str], **how: Any) -> Plan:
    """A plan for `worker`."""
    return plans.draw(seed, kills, declared, ROLES, **how)


def calls(plan: Plan) -> list[Call]:
    """Every call of every agent."""
    return [call for agent in plan.agents for round_ in agent.rounds for call in round_]


def test_the_same_seed_is_the_same_plan() -> None:
    """Call for call, and as JSON."""
    assert draw(7, 50, EVERYTHING) == draw(7, 50, EVERYTHING)
    assert json.dumps(draw(7, 50, EVERYTHING).as_json()) == json.dumps(draw(7, 50, EVERYTHING).as_json())


def test_the_order_of_what_is_declared_does_not_matter() -> None:
    """A bus may list its features in any order."""
    assert draw(7, 50, EVERYTHING) == draw(7, 50, reversed(EVERYTHING))


def test_another_seed_is_another_plan() -> None:
    """Nothing else is needed for a new run."""
    assert draw(7, 50, EVERYTHING) != draw(8, 50, EVERYTHING)


@pytest.mark.parametrize("kills", [0, 1, 7, 30, 1000])
def test_as_many_deaths_are_drawn_as_kills_are_asked_for(kills: int) -> None:
    """Exactly, over all agents."""
    assert sum(call.death is not None for call in calls(draw(1, kills, EVERYTHING))) == kills


def test_every_agent_plays_every_round() -> None:
    """Rounds are played in step, so all have as many."""
    plan = draw(1, 100, EVERYTHING)
    assert {len(agent.rounds) for agent in plan.agents} == {plan.rounds}
    assert all(round_ for agent in plan.agents for round_ in agent.rounds)


def test_message_ids_are_unique() -> None:
    """Or a retry could not be told from another message."""
    messages = chain.from_iterable(
        call.params["messages"] if call.method == "publish_many" else [call.params["message"]]
        for call in calls(draw(3, 200, EVERYTHING))
        if call.method.startswith("publish")
    )
    assert max(Counter(message["id"] for message in messages).values()) == 1


def test_keys_of_outbox_items_are_unique() -> None:
    """A cut sync is sent again to the letter, and only its own items may be known."""
    plan = plans.draw(3, 60, ["log", "cursor"], TOPICS_ROLES, calls_per_kill=plans.CALLS_PER_KILL_SLOW)
    keys = [item["client_message_id"] for call in calls(plan) for item in call.params["items"]]
    assert len(keys) == len(set(keys)) > 1000
    assert {agent.name for agent in plan.agents} == {
        f"{role}-{number}" for role in ("talker", "keeper") for number in (1, 2, 3)
    }


def test_only_what_is_declared_is_called() -> None:
    """A bus with log and cursor alone is only published to, polled and acknowledged."""
    assert {call.method for call in calls(draw(1, 50, ["log", "cursor"]))} == {"publish", "poll", "ack"}


def test_everything_that_writes_is_called() -> None:
    """On a bus that declares everything."""
    assert {call.method for call in calls(draw(1, 200, EVERYTHING))} == {
        "publish",
        "publish_many",
        "poll",
        "ack",
        "try_claim_task",
        "renew_claim",
        "release_claim",
        "export_to_jsonl",
        "archive",
        "heartbeat",
        "save_blob",
    }


def test_without_a_supervisor_nobody_dies_at_a_system_call() -> None:
    """Kills after answers take their place."""
    kinds = Counter(c.death.kind for c in calls(draw(1, 200, EVERYTHING, supervised=False)) if c.death)
    assert set(kinds) == {"moment", "acknowledged", "asleep"}


def test_sessions_end_in_every_way() -> None:
    """What asks for an end comes at a moment of a call, or after its answer; the supervisor kills."""
    ends = {(c.death.kind, c.death.end) for c in calls(draw(1, 500, EVERYTHING)) if c.death}
    assert ends == {(kind, end) for kind, shares in plans._ENDS.items() for end in shares} | {
        (kind, "SIGKILL") for kind in ("syscall", "torn", "asleep")
    }


def test_where_a_session_must_be_alone_nobody_stands_still() -> None:
    """And all other deaths are the same."""
    deaths = [[c.death for c in calls(draw(1, 200, EVERYTHING, sleeps=sleeps)) if c.death] for sleeps in (True, False)]
    asleep = [death for death, _ in zip(*deaths, strict=True) if death.kind == "asleep"]
    others = [pair for pair in zip(*deaths, strict=True) if pair[0].kind != "asleep"]
    assert asleep and all(before == now for before, now in others)
    assert "asleep" not in {death.kind for death in deaths[1]}


def test_a_lease_lives_through_one_round_and_not_through_two() -> None:
    """So leases are met alive and expired."""
    plan = draw(1, 100, EVERYTHING)
    assert plan.now_ms(1) - plan.now_ms(0) < 60_000 < plan.now_ms(2) - plan.now_ms(0)


def test_readers_have_a_cursor_before_anything_is_archived() -> None:
    """An archival waits only for agents that have one."""
    plan = draw(1, 500, EVERYTHING)
    first = [call.method for agent in plan.agents for call in agent.rounds[0]]
    assert "archive" not in first
    assert all(agent.rounds[0][0].method == "ack" for agent in plan.agents if agent.role == "reader")


def test_the_clocks_of_some_are_wrong_for_a_round_each() -> None:
    """Every way of being wrong in every round but the first, each on an agent of its own; most are right."""
    drawn = plans.draw(7, 140, ("log", "cursor", "lease", "export", "presence"), ROLES)
    rounds = list(zip(*(agent.offsets_ms for agent in drawn.agents), strict=True))
    assert not any(rounds[0])
    assert all(sorted(filter(None, offsets)) == sorted(plans.OFFSETS_MS) for offsets in rounds[1:])
    assert len([agent for agent in drawn.agents if any(agent.offsets_ms)]) > 4
