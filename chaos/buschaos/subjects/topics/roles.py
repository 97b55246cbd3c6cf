"""The roles on a `topics` bus: six agents on two topics, which send and read in two ways (B4)."""

from __future__ import annotations

import random
from typing import Any

from buschaos.plan import Call, Role

TOPICS = ("north", "south")


class Talker(Role):
    """Lets its cursor advance: at most once."""

    name = "talker"
    reads = True

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Sends a few, or none, and receives; now and then it waits for news."""
        items = [
            {"client_message_id": f"{id_}.{n}", "chars": dice.choice((1, 40, 900, 6000))}
            for n in range(dice.choice((0, 0, 1, 1, 1, 2, 5)))
        ]
        how = {
            "topic": dice.choice(TOPICS),
            "items": items,
            "max_items": dice.choice((3, 20, 20)),
            # An agent that only reads may wait, and is killed in its wait.
            "wait_seconds": int(not items and dice.random() < 0.3),
        }
        return Call("sync", {**how, **self.reads_how(dice)})

    def reads_how(self, dice: random.Random) -> dict[str, Any]:
        """The parameters about its cursor."""
        return {"auto_advance": True}


class Keeper(Talker):
    """Acknowledges a share of the messages it received: at least once."""

    name = "keeper"

    def reads_how(self, dice: random.Random) -> dict[str, Any]:
        """The share is mostly all."""
        share = 1.0 if dice.random() < 0.7 else round(dice.random(), 3)
        return {"auto_advance": False, "share": share}


# Apart in each half, as the plan deals them out to its drivers.
ROLES: tuple[Role, ...] = (Talker(), Keeper(), Keeper(), Talker(), Talker(), Keeper())
