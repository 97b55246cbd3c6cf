"""The roles on a `worker` bus: publishers, readers, claimers, keepers, two of each."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from buschaos.plan import Call, Role

TASKS = ("task-1", "task-2")


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
        message: dict[str, Any] = {"id": id_, "type": dice.choice(("task_assign", "task_done", "state_change"))}
        to = dice.choice(("reader-1", "reader-2", None))
        if to is not None or "broadcast" not in has:
            message["to"] = to or "reader-1"
        match dice.randrange(20):
            case 0 if "blob" in has:
                message["payload"] = {"of": id_, "pad": dice.randint(4096, 9000)}
            case 1:
                pass  # no payload
            case _:
                message["payload"] = {"of": id_, "pad": dice.randint(0, 500)}
        return message


class Reader(Role):
    """Polls, and acknowledges a share of the messages it got."""

    name = "reader"
    reads = True
    # An archival does not wait for a reader without a cursor, so the first ack is of nothing.
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

    def in_first_round(self, call: Call) -> Call:
        """An archival must not come before each reader's first ack."""
        return replace(call, method="export_to_jsonl") if call.method == "archive" else call

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """A call that is not declared becomes an export."""
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
