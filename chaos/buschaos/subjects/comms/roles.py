"""The roles on a `comms` bus: senders, and pools of two processes each that work under one agent's name."""

from __future__ import annotations

import random
import uuid
from dataclasses import replace
from typing import Any

from buschaos.plan import Call, Role

POOLS = ("pool-1", "pool-2")


class Sender(Role):
    """Sends to a pool or to all, small or large; now and then a heartbeat, an artifact, a look at the trail."""

    name = "sender"
    needs = frozenset({"idempotent_send"})

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Mostly a message."""
        match dice.randrange(12):
            case 0 | 1 if "presence" in has:
                return Call("send_heartbeat", {"status": dice.choice(("active", "idle"))})
            case 2 if "blob" in has:
                content = {"of": id_, "pad": dice.randint(0, 9000)}
                return Call("write_artifact", {"task_id": dice.choice(("t1", "t2")), "content": content})
            case 3 if "audit" in has:
                return Call("export_audit_trail", {})
            case _:
                return Call("send_message", self._message(dice, id_))

    def _message(self, dice: random.Random, id_: str) -> dict[str, Any]:
        message: dict[str, Any] = {
            "message_id": str(uuid.UUID(int=dice.getrandbits(128), version=4)),
            "message_type": dice.choice(("note", "task.complete")),
            "payload": {"of": id_, "pad": dice.choice((0, 10, 300, 5000))},
            "priority": dice.randint(1, 10),
        }
        if dice.random() < 0.95:
            message["to_agent"] = dice.choice(POOLS)
        return message


class SenderOnce(Sender):
    """The same on a bus that takes no id: a send without an answer may have happened, and is not made again."""

    needs = frozenset()
    lacks = Sender.needs

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """The same call as the other one draws, without its id."""
        call = super().draw(dice, id_, has)
        params = {name: value for name, value in call.params.items() if name != "message_id"}
        return replace(call, params=params, is_once=call.method == "send_message")


class Pool(Role):
    """Receives messages, claims the received ones, completes the claimed ones: mostly well."""

    name = "pool"
    processes = 2
    reads = True
    needs = frozenset({"lease"})

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """In the order of the work, more or less."""
        method = dice.choice(
            ("receive_messages", "claim_message", "claim_message", "complete_message", "complete_message")
        )
        if method == "receive_messages":
            return Call(method, {"channels": ["general"], "limit": dice.choice((2, 8))})
        if method == "claim_message":
            return Call(method, {"pick": dice.randrange(8)})
        fails = "retry" in has and dice.random() < 0.2
        return Call(method, {"pick": dice.randrange(8), **({"error": "it broke"} if fails else {})})


ROLES: tuple[Role, ...] = (Sender(), SenderOnce(), Pool()) * 4
