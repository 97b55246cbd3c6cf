"""The plan of a run: who calls what, and who is killed where. Drawn whole before the run; the same seed, the same plan.

A plan is data and knows nothing of the clock or of the bus. What depends on the run is filled in by the player: the
seq to acknowledge (a share of what was polled last), the token of a claim, the moment of a kill, which is drawn as a
multiple of what such a call usually takes, and paddings, of which only the length is drawn.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from busproof.suite import T0_MS

ROUND_MS = 45_000  # between two rounds on the sessions' clocks: a lease of 60 s lives through one and not through two
CALLS_PER_KILL = 20  # to start a process takes as long as fifty calls: fewer, and agents would seldom meet
CALLS_MIN = 24  # for each agent
TASKS = ("task-1", "task-2")

DeathKind = Literal["moment", "acknowledged", "syscall", "torn"]


@dataclass(frozen=True)
class Death:
    """How a session ends.

    moment        SIGKILL `at` times the usual duration of the call after it was sent
    acknowledged  SIGKILL when the answer has come
    syscall       SIGKILL before the `at`-th change of a file in the call
    torn          the same, in the middle of a write
    """

    kind: DeathKind
    at: float


@dataclass(frozen=True)
class Call:
    """One call of an agent; with a death, the last of its session."""

    method: str
    params: dict[str, Any]
    death: Death | None = None


@dataclass(frozen=True)
class AgentPlan:
    """The rounds of one agent."""

    name: str
    role: str
    rounds: tuple[tuple[Call, ...], ...]


@dataclass(frozen=True)
class Plan:
    """Everything that will be done."""

    seed: int
    kills: int
    agents: tuple[AgentPlan, ...]

    @property
    def rounds(self) -> int:
        """How many rounds all agents play side by side."""
        return len(self.agents[0].rounds)

    def now_ms(self, round_: int) -> int:
        """What the sessions' clocks say in a round."""
        return T0_MS + round_ * ROUND_MS

    def as_json(self) -> dict[str, Any]:
        """For the file beside the history."""
        return asdict(self)


def draw(seed: int, kills: int, declared: Iterable[str], *, supervised: bool = True) -> Plan:
    """Draw the plan for a bus with these nouns and features. Without a supervisor, no death at a system call."""
    dice = random.Random(f"busproof chaos {seed}")
    has = frozenset(declared)
    roles = [role for role in ROLES if role.needs <= has]
    round_count = max(3, min(25, kills // 20))
    agents = []
    for number, role in enumerate(roles):
        deaths = kills // len(roles) + (number < kills % len(roles))
        name = f"{role.name}-{1 + sum(other.name == role.name for other in roles[:number])}"
        count = max(CALLS_MIN, deaths * CALLS_PER_KILL)
        calls = [*role.first, *(role.draw(dice, f"{name}.{n}", has) for n in range(count - len(role.first)))]
        for index in dice.sample(range(count), deaths):
            calls[index] = replace(calls[index], death=_death(dice, supervised))
        first, *others = _in_rounds(calls, round_count)
        # An archival must not come before each reader's first ack.
        first = tuple(replace(c, method="export_to_jsonl") if c.method == "archive" else c for c in first)
        agents.append(AgentPlan(name, role.name, (first, *others)))
    return Plan(seed, kills, tuple(agents))


def _death(dice: random.Random, supervised: bool) -> Death:
    kinds: tuple[DeathKind, ...] = ("moment", "acknowledged", "syscall", "torn")
    (kind,) = dice.choices(kinds, (45, 10, 30, 15) if supervised else (80, 20, 0, 0))
    return Death(kind, round(dice.uniform(0, 1.1), 3) if kind == "moment" else dice.randint(1, 8))


def _in_rounds(calls: list[Call], count: int) -> tuple[tuple[Call, ...], ...]:
    edges = [round(len(calls) * number / count) for number in range(count + 1)]
    return tuple(tuple(calls[start:end]) for start, end in itertools.pairwise(edges))


class Role:
    """What an agent of this kind may do next."""

    name = ""
    needs: frozenset[str] = frozenset()
    first: tuple[Call, ...] = ()

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """The next call; `id_` is unique in the run."""
        raise NotImplementedError


class Publisher(Role):
    """Publishes to a reader or to all, one or many, small or as a blob."""

    name = "publisher"

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """One message mostly, a batch else."""
        if "publish_many" in has and dice.random() < 0.3:
            batch = [self._message(dice, f"{id_}.{n}", has) for n in range(dice.randint(2, 20))]
            return Call("publish_many", {"messages": batch})
        return Call("publish", {"message": self._message(dice, id_, has)})

    def _message(self, dice: random.Random, id_: str, has: frozenset[str]) -> dict[str, Any]:
        message: dict[str, Any] = {
            "id": id_,
            "type": dice.choice(("task_assign", "task_done", "state_change")),
        }
        to = dice.choice(("reader-1", "reader-2", None))
        if to is not None:
            message["to"] = to
        match dice.randrange(20):
            case 0 if "blob" in has:
                message["payload"] = {"of": id_, "pad": dice.randint(4096, 9000)}
            case 1:
                pass  # no payload
            case _:
                message["payload"] = {"of": id_, "pad": dice.randint(0, 500)}
        return message


class Reader(Role):
    """Polls, and acknowledges a share of what it got."""

    name = "reader"
    # Who has no cursor is not waited for by an archival: the first ack is of nothing.
    first = (Call("ack", {"share": 0.0}),)

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Half polls, half acks."""
        if dice.random() < 0.5:
            return Call("poll", {"limit": dice.choice((5, 20))})
        return Call("ack", {"share": 1.0 if dice.random() < 0.7 else round(dice.random(), 3)})


class Claimer(Role):
    """Fights for a few tasks."""

    name = "claimer"
    needs = frozenset({"lease"})

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Claims more often than it renews or releases."""
        (method,) = dice.choices(("try_claim_task", "renew_claim", "release_claim"), (5, 1, 4))
        return Call(method, {"task_id": dice.choice(TASKS)})


class Keeper(Role):
    """Exports, and now and then a heartbeat, a blob, an archival."""

    name = "keeper"
    needs = frozenset({"export"})

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """What is not declared becomes an export."""
        match dice.randrange(20):
            case 0 if "archive" in has:
                return Call("archive", {})
            case 1 | 2 | 3 if "presence" in has:
                return Call("heartbeat", {"status": dice.choice(("idle", "working", "blocked"))})
            case 4 | 5 if "blob" in has:
                return Call("save_blob", {"content": {"of": id_, "pad": dice.randint(0, 9000)}})
            case _:
                return Call("export_to_jsonl", {})


ROLES: tuple[Role, ...] = tuple(role() for role in (Publisher, Reader, Claimer, Keeper) for _ in range(2))
