"""A correct bus of `timeline` in memory: one log per timeline, and keys that may be sent again."""

from __future__ import annotations

import random
from typing import Any

from busspark.generate.logs import Logs

TIMELINES = 5


class Timeline(Logs):
    """A message sent again is told its first number."""

    system = "timeline"
    lies = (*Logs.lies, "id_moved")
    told_as = "number"
    may_repeat = True

    def _message(self, agent: str, name: str, rng: random.Random) -> dict[str, Any]:
        return {
            "key": _key(f"timeline-{rng.randrange(TIMELINES)}", f"{agent}/{name}"),
            "payload": {"of": f"{agent}/{name}"},
        }

    def _place(self, params: dict[str, Any]) -> tuple[str, str]:
        return params["key"]["timeline"], params["key"]["submission"]

    def _row(self, log: str, seq: int | None, id_: str) -> dict[str, Any]:
        return {"key": _key(log, id_), "number": seq, "nonce": None, "payload": {"of": id_}}


def _key(timeline: str, submission: str) -> dict[str, Any]:
    of = {"agent": "ann", "service": "kv", "backend": "local", "operation": "do", "sequence": 0}
    return {"type": "request", "timeline": timeline, "submission": submission, **of}
