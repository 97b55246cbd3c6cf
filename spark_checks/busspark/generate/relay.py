"""A correct bus of `relay` in memory: each sender's outbox is a log, each reader's inbox a set."""

from __future__ import annotations

import random
from typing import Any

from busspark.generate.logs import Logs
from busspark.generate.stage import AGENTS, Fault


class Relay(Logs):
    """A lost message is missing in an inbox, or in the outbox."""

    system = "relay"
    told_as = "seq"
    may_repeat = False  # each send writes a file of its own

    def _message(self, agent: str, name: str, rng: random.Random) -> dict[str, Any]:
        others = [f"agent-{n}" for n in range(AGENTS) if f"agent-{n}" != agent]
        to = others if rng.random() < 0.1 else [f"agent-{rng.randrange(AGENTS)}"]
        return {"agent": agent, "to": to, "id": f"{agent}/{name}", "body": f"of {agent}/{name}"}

    def _place(self, params: dict[str, Any]) -> tuple[str, str]:
        return f"outbox {params['agent']}", params["id"]

    def _append(self, log: str, id_: str, params: dict[str, Any]) -> None:
        super()._append(log, id_, params)
        for to in params["to"]:
            self._logs[f"inbox {to}"].append((None, id_))

    def _lose(self, log: str, params: dict[str, Any]) -> Fault | None:
        inbox = self._logs[f"inbox {params['to'][0]}"]
        if inbox[-1][1] != params["id"]:
            return super()._lose(log, params)
        inbox.pop()
        return Fault("lost", 0, 0)

    def _row(self, log: str, seq: int | None, id_: str) -> dict[str, Any]:
        members = {"lane": log, "id": id_, "seq": seq}
        return members if seq is not None else {**members, "body": f"of {id_}"}
