"""The plan of a run: each agent's calls, and the place of each kill. It is drawn whole before the run, from the seed.

The same seed gives the same plan. A plan is data and knows nothing of the clock or of the bus. The player fills in all
that depends on the run: the seq to acknowledge (a share of the messages polled last), the token of a claim, the place
of a kill, which is drawn as a multiple of the usual cost of such a call, in time or in changes of files, and paddings,
of which only the length is drawn.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from busproof.contract.common import T0_MS

ROUND_MS = 45_000  # between two rounds on the sessions' clocks: a lease of 60 s lives through one and not through two
# How a clock is wrong for a round: an hour behind, ahead by more than a lease, and standing since the round before.
OFFSETS_MS = (-3_600_000, 120_000, -ROUND_MS)
CALLS_PER_KILL = 20  # starting a process takes as long as fifty calls: with fewer, agents would seldom meet
CALLS_PER_KILL_SLOW = 80  # as long as three hundred
CALLS_OF_ROUND_MAX = 1000  # of an agent: time stands still in a round, and a driver that does not end one has hung
CALLS_MIN = 24  # for each agent
AFTER_MS, DOWN_MS = 1_000, 400  # at most, of a server: a round takes seconds, a client's patience is longer

ASLEEP_ROUNDS = 2  # longer than a lease
ASLEEP_SHARE = 0.15  # of the deaths at a moment of a call

DeathKind = Literal["moment", "acknowledged", "syscall", "torn", "asleep"]
End = Literal["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "end of input"]
# The share of each end. A session that is asked to end may still finish its call; it does no more than that.
_ENDS: dict[DeathKind, dict[End, int]] = {
    "moment": {"SIGKILL": 60, "SIGTERM": 20, "SIGINT": 10, "SIGHUP": 10},
    "acknowledged": {"SIGKILL": 20, "SIGTERM": 35, "SIGINT": 15, "SIGHUP": 15, "end of input": 15},
}


@dataclass(frozen=True)
class Death:
    """How a session ends.

    moment        its `end`, `at` times the usual duration of the call after it was sent
    acknowledged  its `end` when the answer has come
    syscall       SIGKILL before a change of a file: the one at `at` times the usual number of them in such a call
    torn          the same, in the middle of a write
    asleep        it stands still (SIGSTOP) before it reads its request, and for ASLEEP_ROUNDS; its agent comes back as
                  another process meanwhile; then it goes on with what it was asked, and is killed
    """

    kind: DeathKind
    at: float
    end: End = "SIGKILL"


@dataclass(frozen=True)
class Call:
    """One call of an agent; with a death, the last of its session."""

    method: str
    params: dict[str, Any]
    death: Death | None = None
    is_once: bool = False  # a second call would do it twice: if nobody knows its outcome, nobody calls again


@dataclass(frozen=True)
class AgentPlan:
    """The rounds of one agent."""

    name: str
    role: str
    rounds: tuple[tuple[Call, ...], ...]
    offsets_ms: tuple[int, ...] = ()  # of its clock from the right time, in each round


@dataclass(frozen=True)
class ServerDeath:
    """A kill of the server under a bus: how long after a round began or it came back, and how long it is away."""

    after_ms: int
    down_ms: int


@dataclass(frozen=True)
class Plan:
    """Everything that will be done."""

    seed: int
    kills: int
    agents: tuple[AgentPlan, ...]
    server: tuple[tuple[ServerDeath, ...], ...] = ()  # in each round; empty where there is none

    @property
    def rounds(self) -> int:
        """How many rounds all agents play side by side."""
        return len(self.agents[0].rounds)

    def now_ms(self, round_: int) -> int:
        """The time that the sessions' clocks show in a round, if they are right."""
        return T0_MS + round_ * ROUND_MS

    def as_json(self) -> dict[str, Any]:
        """For the file beside the history."""
        return asdict(self)


def draw(
    seed: int,
    kills: int,
    declared: Iterable[str],
    all_roles: Sequence[Role],
    *,
    supervised: bool = True,
    sleeps: bool = True,
    calls_per_kill: int = CALLS_PER_KILL,
) -> Plan:
    """Draw the plan for a bus with these nouns and features. Without a supervisor, no death at a system call.

    `sleeps`: a session may stand still while its agent's next one works, as nobody must be alone.
    """
    dice = random.Random(f"busproof chaos {seed}")
    has = frozenset(declared)
    roles = [role for role in all_roles if role.needs <= has and role.lacks.isdisjoint(has)]
    longest = kills // max(len(roles), 1) * calls_per_kill
    round_count = max(3, min(25, kills // 20), longest // CALLS_OF_ROUND_MAX)
    agents, ends, sleep = [], *(random.Random(f"busproof chaos {what} {seed}") for what in ("ends", "sleep"))
    for number, role in enumerate(roles):
        deaths = kills // len(roles) + (number < kills % len(roles))
        of_role = sum(other.name == role.name for other in roles[:number])
        name = f"{role.name}{role.separator}{1 + of_role // role.processes}"
        count = max(CALLS_MIN, deaths * calls_per_kill)
        calls = [*role.first, *(role.draw(dice, f"{name}.{number}.{n}", has) for n in range(count - len(role.first)))]
        for index in dice.sample(range(count), deaths):
            death = _asked(ends, _death(dice, supervised))
            is_asleep = sleeps and death.kind == "moment" and sleep.random() < ASLEEP_SHARE
            calls[index] = replace(calls[index], death=Death("asleep", 0) if is_asleep else death)
        first, *others = _in_rounds(calls, round_count)
        agents.append(AgentPlan(name, role.name, (tuple(map(role.in_first_round, first)), *others)))
    return Plan(seed, kills, tuple(_some_clocks_wrong(agents, seed)))


def with_server_deaths(plan: Plan) -> Plan:
    """The same plan, but the server under the bus dies in each round."""
    dice = random.Random(f"busproof chaos server {plan.seed}")

    def death() -> ServerDeath:
        return ServerDeath(dice.randrange(AFTER_MS), dice.randrange(DOWN_MS))

    return replace(plan, server=tuple((death(), death()) for _ in range(plan.rounds)))


def _some_clocks_wrong(agents: list[AgentPlan], seed: int) -> list[AgentPlan]:
    """In each round but the first, each way of being wrong has an agent of its own; they take turns."""
    order = random.Random(f"busproof chaos clocks {seed}").sample(range(len(agents)), len(agents))
    offsets = [[0] * len(agents[0].rounds) for _ in agents]
    for round_ in range(1, len(agents[0].rounds)):
        for number, offset_ms in enumerate(OFFSETS_MS[: max(1, len(agents) // 2)]):
            turn = round_ * len(OFFSETS_MS) + number + round_ // len(agents)
            offsets[order[turn % len(agents)]][round_] = offset_ms
    return [replace(agent, offsets_ms=tuple(own)) for agent, own in zip(agents, offsets, strict=True)]


def _death(dice: random.Random, supervised: bool) -> Death:
    kinds: tuple[DeathKind, ...] = ("moment", "acknowledged", "syscall", "torn")
    (kind,) = dice.choices(kinds, (45, 10, 30, 15) if supervised else (80, 20, 0, 0))
    return Death(kind, round(dice.uniform(0, 1.1), 3))


def _asked(dice: random.Random, death: Death) -> Death:
    """The same death, of which the session may be told beforehand."""
    shares = _ENDS.get(death.kind, {"SIGKILL": 1})
    (end,) = dice.choices(list(shares), list(shares.values()))
    return replace(death, end=end)


def _in_rounds(calls: list[Call], count: int) -> tuple[tuple[Call, ...], ...]:
    edges = [round(len(calls) * number / count) for number in range(count + 1)]
    return tuple(tuple(calls[start:end]) for start, end in itertools.pairwise(edges))


class Role:
    """A kind of agent, and the calls that it may make next."""

    name = ""
    separator = "-"  # between the name and a number
    needs: frozenset[str] = frozenset()
    lacks: frozenset[str] = frozenset()  # buses that have one of these play another role for it
    processes = 1  # that work side by side under one agent's name
    reads = False  # something waits for it in the end
    first: tuple[Call, ...] = ()

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """The next call; `id_` is unique in the run."""
        raise NotImplementedError

    def in_first_round(self, call: Call) -> Call:
        """The call to make in its place while others may not have begun."""
        return call
