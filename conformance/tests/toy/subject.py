"""The toy, as chaos sees it."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from buschaos import reading
from buschaos.operations import Operation
from buschaos.plan import Call, Role
from buschaos.state import Evidence, Problem, Promise
from buschaos.subjects.base import Memory, Repertoire, Subject, Truth
from busproof.bus.session import Session
from busproof.contract import HelloReply
from busproof.contract.history import Event


class Writer(Role):
    """Writes notes."""

    name = "writer"
    reads = True

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        return Call("note", {"id": id_, "text": "x" * dice.choice((1, 5000))})


def prepare(alice: Session, bob: Session, hello: HelloReply) -> None:
    """A store with one note."""
    alice.call("note", id="first", text="first")


def facts(store: Path) -> dict[str, Any]:
    """The facts in the file."""
    return {"integrity": reading.integrity(store / "toy.db")}


def comparable(dump: dict[str, Any], known_ids: set[str], clock: str) -> dict[str, Any]:
    """All notes without their places, which a retry may burn."""
    return {"messages": sorted((row["id"], row["text"]) for row in dump["messages"])}


def promises(events: Iterable[Event]) -> Iterator[Promise]:
    """Every acknowledged note."""
    for event in events:
        if event.type == "ok" and event.op == "note":
            yield Promise(str(event.key), event.seq, {})


def problems(evidence: Evidence) -> list[Problem]:
    """Promised notes that are not there."""
    there = {row["id"] for row in (evidence.dump or {"messages": []})["messages"]}
    return [Problem("log", f"lost: {promise.id}") for promise in evidence.promises if promise.id not in there]


SUBJECT = Subject(
    Repertoire(
        operations=(
            Operation("note", "log", "note", lambda _: {"agent_id": "alice", "id": "new", "text": "x" * 5000}),
        ),
        prepare=prepare,
        ids=lambda _, params: {params["id"]},
    ),
    Truth(facts, comparable, lambda events: list(promises(events)), problems),
    roles=(Writer(), Writer()),
    memory=Memory,
    retried=frozenset({"note"}),
    expected=frozenset({"BUSY"}),
    settle=("notes", {}),
    read_all=lambda session, _: None,
    acts=frozenset({"chaos.random_kills", "chaos.kill_points"}),
)
