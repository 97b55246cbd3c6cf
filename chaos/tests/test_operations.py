"""Nothing that writes is left unplayed: each method of a protocol is an operation, or shown to change nothing."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from buschaos.nemeses.syscalls import Continue, Supervision, watched_child
from buschaos.operations import WHEN_MS, applicable
from buschaos.subjects import SUBJECTS
from busproof.bus.base import Refused
from busproof.bus.doors import open_door
from busproof.bus.fleet import Fleet, reference
from busproof.contract import CONTRACTS, HelloReply
from busproof.contract.history import read

OF_THE_KIT = {"hello", "clock.set"}
# Methods that doctor does not try, with something to find.
TRIED: dict[str, dict[str, Any]] = {
    "load_blob": {"ref": "blobs/sha256-" + "0" * 64},
    "read_artifact": {"artifact_path": ".claude/artifacts/old.json"},
    "topic_presence": {"topic_id": "none"},
}


@pytest.mark.parametrize("system", sorted(SUBJECTS))
def test_every_method_of_the_protocol_is_played_or_said_why_not(system: str) -> None:
    """A method that the protocol gains must find its place here."""
    subject = SUBJECTS[system]
    played = {operation.method for operation in subject.repertoire.operations}
    places = [played, subject.repertoire.reads, set(subject.repertoire.like), OF_THE_KIT]
    assert set.union(*map(set, places)) == set(CONTRACTS[system].methods)
    assert sum(map(len, places)) == len(CONTRACTS[system].methods)  # in one place each
    assert all(subject.repertoire.like.values())


@pytest.mark.parametrize("system", sorted(SUBJECTS))
def test_what_is_said_to_read_changes_no_file(tmp_path: Path, system: str) -> None:
    """Each is called under the supervisor, on a store with something of everything, about everybody who is there.

    The calls come at the time of the operations, since a write that is due only then would not show earlier.
    """
    subject, contract = SUBJECTS[system], CONTRACTS[system]
    supervision = Supervision()
    with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
        store = tmp_path / "store"
        subject.fill_store(fleet, store, tmp_path / "history.jsonl")
        door = open_door(fleet.specs[0], supervision.spawn)
        try:
            door.get_ready(system)
            door.call("open", {"store": str(store), "options": {}})
            if fleet.hello.clock == "manual":
                door.call("clock.set", {"now_ms": WHEN_MS})
            door.call(*subject.settle)  # an MCP server opens its database with the first call
            child = watched_child(door)
            known = values_by_name(tmp_path / "history.jsonl")
            reads = [
                (method, params)
                for method in sorted(subject.repertoire.reads)
                for params in about_each(dict(TRIED.get(method) or contract.trials.get(method, {})), known)
            ]
            for method, params in reads:
                with child.watched(store, lambda _: Continue()) as watch:
                    with contextlib.suppress(Refused):
                        door.call(method, params)
                    door.call(*subject.settle)
                changed = [str(change) for change in watch.changes]
                assert changed == [], f"{method} of {params} changes {changed}"
        finally:
            door.kill()
            supervision.end()


def values_by_name(history: Path) -> dict[str, set[str]]:
    """For each parameter that is a word, all its values in the preparation. An agent is named by its calls, too."""
    known = defaultdict[str, set[str]](set)
    for event in read(history):
        if event.type == "invoke":
            for name, value in {"agent_id": event.agent, **event.value}.items():
                if isinstance(value, str):
                    known[name].add(value)
    return known


def about_each(params: dict[str, Any], known: dict[str, set[str]]) -> Iterator[dict[str, Any]]:
    """The call as it is, and about everybody else who was named in place of one of its words."""
    yield params
    for name, value in params.items():
        if isinstance(value, str):
            yield from ({**params, name: other} for other in sorted(known.get(name, ())))


@pytest.mark.parametrize("system", sorted(SUBJECTS))
def test_a_session_begins_and_ends_as_operations(system: str) -> None:
    """Nothing else writes a lock or folds a log. Only a server that ends with its client has no such operations."""
    if system != "topics":
        assert {"open", "close"} <= {operation.method for operation in SUBJECTS[system].repertoire.operations}


@pytest.mark.parametrize(("features", "count"), [(["ack"], 1), (["ack", "ack_many"], 2)])
def test_an_ack_is_of_several_messages_where_the_bus_promises_that_it_is_one_call(
    features: list[str], count: int
) -> None:
    """Of a bus that acks one message after another, a death would leave half an ack, which breaks no promise."""
    answer = {"protocol": "1", "name": "a", "version": "1", "language": "any", "systems": ["mailbox"]}
    hello = HelloReply.model_validate({**answer, "nouns": ["log", "cursor"], "features": features})
    acks = [op for op in SUBJECTS["mailbox"].repertoire.operations if op.name == "ack" and applicable(op, hello)]
    assert [len(ack.params({"id 0": "a", "id 2": "b"})["ids"]) for ack in acks] == [count]


def test_a_bus_is_sent_no_text_longer_than_it_declares() -> None:
    """Or chaos would blame it for a refusal that it promised."""
    large = next(op for op in SUBJECTS["mailbox"].repertoire.operations if op.name == "send a large one")
    declared = {"language": "any", "systems": ["mailbox"], "nouns": ["log"], "features": ["key"]}
    hello = HelloReply.model_validate({"protocol": "1", "name": "b", "version": "1", **declared})
    assert applicable(large, hello)
    assert not applicable(large, hello.model_copy(update={"limits": {"body_chars_max": large.chars - 1}}))


def test_every_operation_is_applicable_to_a_bus(harmless: Callable[[str], str]) -> None:
    """An operation that no bus plays is useless: those for buses with other promises have such a bus."""
    others = {
        "comms": harmless("comms_sends_once"),
        "mailbox": f"exec:{shlex.quote(sys.executable)} -m refbus.mailbox consumes",
    }
    for system, subject in SUBJECTS.items():
        played = set()
        for bus in filter(None, (reference(system), others.get(system))):
            with contextlib.closing(Fleet([bus], system=system)) as fleet:
                played |= {op.name for op in subject.repertoire.operations if applicable(op, fleet.hello)}
        assert {op.name for op in subject.repertoire.operations} == played
