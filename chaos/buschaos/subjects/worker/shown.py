"""The answers of a `worker` bus to those who ask: its state as far as anybody can know it, if it has no dump.

Rows by the names of their tables, as a dump has them.
"""

from __future__ import annotations

from typing import Any

from busproof.bus.session import Session
from busproof.contract import HelloReply

_AGENTS = ("alice", "bob", "carol", "dora", "erna", "fred")
_WORKERS = ("wanda", "wilma")
_TASKS = ("free", "held", "stale", "epilogue")
_LIMIT = 500


def shown(session: Session, hello: HelloReply) -> dict[str, Any]:
    """The agents alive, the messages waiting for each, and the tasks that are held: a stranger tries to take them."""
    state: dict[str, Any] = {}
    # The agents alive come first, as an agent that asks for the rest may count as alive.
    if "presence" in hello.nouns and hello.clock == "manual":
        state["agents"] = sorted(session.call("liveness")["agents"], key=lambda row: str(row["agent_id"]))
    if "states" in hello.features:
        state["states"] = [session.call("worker_state", worker=worker) for worker in _WORKERS]
    if "dead_letter" in hello.features:
        state["dead"] = [
            {"agent_id": agent, "seq": row["seq"]}
            for agent in ("dora", "erna")
            for row in session.call("dead_letters", agent_id=agent)["messages"]
        ]
    rows, waiting = {}, []
    for agent in _AGENTS:
        for row in session.call("poll", agent_id=agent, limit=_LIMIT)["messages"]:
            rows[row["seq"]] = row
            waiting.append({"agent_id": agent, "seq": row["seq"]})
    state |= {"messages": list(rows.values()), "waiting": waiting}
    if "lease" in hello.nouns:
        state["held"] = [{"task_id": task} for task in _TASKS if not _is_free(session, task)]
    return state


def _is_free(session: Session, task: str) -> bool:
    claim = session.call("try_claim_task", task_id=task, agent_id="stranger")
    if claim["claimed"]:
        token = {"token": claim["token"]} if isinstance(claim.get("token"), int) else {}
        session.call("release_claim", task_id=task, agent_id="stranger", **token)
    return bool(claim["claimed"])
