"""The players on a `relay` folder: one orchestrator that dies again and again, while three agents write."""

from __future__ import annotations

import random
from typing import Any

from buschaos.plan import Call, Role
from buschaos.subjects.base import Memory
from buschaos.subjects.relay.agents import NAMES, Writer, join
from busproof.bus.session import Session


class Orchestrator(Role):
    """Makes passes. Before and during each, agents put some files into their outboxes."""

    name = "orchestrator"

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Up to six files of up to three agents, and the pass that finds them, or not yet."""
        number = 100 * (1 + int(id_.rpartition(".")[2]))
        files: list[list[Any]] = []
        for _ in range(dice.randrange(7)):
            number += 1
            sender = dice.choice(NAMES)
            to = dice.choice((*NAMES, "*", "*", "no address"))
            files.append([sender, number, to, f"{number}" + "." * dice.choice((0, 100, 5_000))])
        return Call("scan", {"files": files})


class RelayMemory(Memory):
    """The agents, which outlive every orchestrator."""

    def __init__(self) -> None:
        self._writer = Writer()
        self._session: Session | None = None

    def enter(self, session: Session) -> None:
        """They are there before it."""
        self._session = session
        if session.door.store is not None:
            join(session.door.store)

    def fill(self, call: Call) -> dict[str, Any]:
        """The files of this moment."""
        assert self._session is not None
        store = self._session.door.store
        if store is not None:
            self._writer.write(store, call.params["files"])
        return {}


ROLES: tuple[Role, ...] = (Orchestrator(),)
