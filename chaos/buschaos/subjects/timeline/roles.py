"""The roles on a `timeline` bus: callers that send requests and fork, and pools of two workers of one service."""

from __future__ import annotations

import random
from typing import Any

from buschaos.plan import Call, Role
from buschaos.subjects.timeline.operations import request, wanted

TIMELINES = ("main", "other")
SERVICE = "infer"


class Caller(Role):
    """Sends requests on two timelines, each under a key of its own; now and then a fork, or a look."""

    name = "caller"
    first = tuple(
        Call("send", {"key": request(SERVICE, "begin", timeline=timeline), "payload": timeline})
        for timeline in TIMELINES
    )

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Mostly a request."""
        name = id_.replace(".", "-")
        timeline = dice.choice(TIMELINES)
        match dice.randrange(12):
            case 0 if "fork" in has:
                return Call("fork", _fork(name, timeline, dice.randrange(2)))
            case 1:
                return Call("log", {"timeline": timeline, "limit": 20})
            case 2 if "verify" in has:
                return Call("verify", {"timeline": timeline})
            case _:
                payload = {"of": name, "pad": dice.choice((0, 10, 300, 5000))}
                return Call("send", {"key": request(SERVICE, name, timeline=timeline), "payload": payload})


class Worker(Role):
    """Fetches requests, answers the fetched ones, acknowledges the answered ones: mostly in that order."""

    name = "worker"
    processes = 2
    reads = True
    needs = frozenset({"cursor"})
    first = (Call("fetch", {"filter": wanted(SERVICE)}),)

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Some are given back, if that can be done."""
        method = dice.choice(("fetch", "fetch", "reply", "reply", "ack", "ack", "ack"))
        if method == "fetch":
            return Call(method, {"filter": wanted(SERVICE)})
        if method == "ack" and "nak" in has and dice.random() < 0.1:
            method = "nak"
        return Call(method, {"pick": dice.randrange(8)})


def _fork(name: str, parent: str, at: int) -> dict[str, Any]:
    return {"timeline": f"fork-{name}", "submission": "s", "agent_name": "caller", "parent": parent, "at": at}


ROLES: tuple[Role, ...] = (Caller(), Worker(), Caller(), Worker(), Caller(), Worker(), Caller(), Worker())
