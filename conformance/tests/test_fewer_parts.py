"""A bus that declares less is asked all that it declares, and is blamed for nothing else (0037)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet
from busproof.contract import CONTRACTS
from busproof.oracle.models.relay_state import Listed
from busproof.oracle.models.spec import differs
from busproof.play.explore import corpus
from busproof.play.explore.script import Step, call
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS

BUSES = {"worker": "WorkerBus", "comms": "CommsBus", "relay": "RelayBus", "timeline": "TimelineBus"}

PROGRAM = """
from refbus.driver import METHOD_NOT_FOUND, Rejected, serve
from refbus.{system}.bus import {bus} as Bus

def gone(self, **_):
    raise Rejected(METHOD_NOT_FOUND, "no such method")

Bus.NOUNS, Bus.FEATURES = {nouns!r}, {features!r}
for name in {gone!r}:
    setattr(Bus, name, gone)
serve({{"{system}": Bus}})
"""


@contextmanager
def declaring(folder: Path, system: str, nouns: tuple[str, ...], features: tuple[str, ...]) -> Iterator[Fleet]:
    """The reference with these alone; a method of another feature is not there."""
    contract = CONTRACTS[system]
    gone = [name for name, method in contract.methods.items() if method.feature not in (None, *features)]
    path = folder / "fewer.py"
    path.write_text(PROGRAM.format(system=system, bus=BUSES[system], nouns=nouns, features=features, gone=gone))
    fleet = Fleet([f"exec:{sys.executable} {path}"], system=system)
    try:
        yield fleet
    finally:
        fleet.close()


def replayed(fleet: Fleet, scripts: dict[str, list[Step]]) -> corpus.Replay:
    """What the scripts found, and that no answer was wrong."""
    specification = SYSTEMS[fleet.system].model
    assert specification is not None
    replay = corpus.replay(fleet, specification, scripts)
    assert {name: str(program.mismatch) for name, program in replay.broken.items()} == {}
    return replay


KEY = {"type": "request", "timeline": "main", "submission": "s", "agent": "a", "service": "s", "backend": "b"}
PLAIN = {
    "worker": call(0, "publish", agent_id="ann", message={"type": "note", "payload": 1}),
    "comms": call(0, "send_message", from_agent="ann", message_type="note", payload={}),
    "timeline": call(0, "send", key={**KEY, "operation": "o", "sequence": 1}),
}


@pytest.mark.parametrize("system", PLAIN)
def test_a_plain_call_is_asked_of_a_bus_of_the_core_nouns(tmp_path: Path, system: str) -> None:
    """A model also names sentences in passing, on parts that a bus need not have."""
    steps = [Step("open", 0, name="0"), replace(PLAIN[system], name="1")]
    with declaring(tmp_path, system, CONTRACTS[system].profiles["core"], ()) as fleet:
        replay = replayed(fleet, {"plain": steps})
    assert not replay.left_out
    assert replay.calls == 1


@pytest.mark.parametrize("lacks", ["task_claims", "heartbeats"])
def test_a_dump_may_hold_anything_where_a_noun_is_not_declared(tmp_path: Path, lacks: str) -> None:
    """A bus of log and cursor was blamed for `task_claims` that its dump lacks."""
    model = SYSTEMS["worker"].model
    assert model is not None
    for nouns, is_free in ((("log", "cursor"), True), (("log", "cursor", "lease", "presence"), False)):
        rows = model.model(frozenset(nouns), {}, {}).dump()[lacks]
        assert (differs(rows, None, "dump") is None) is is_free


def test_agents_are_listed_in_any_order_and_messages_in_theirs() -> None:
    """The page of relay sets no order of agents."""
    members, seen = [("a", {"name": "a"}), ("b", {"name": "b"})], [{"name": "b"}, {"name": "a"}]
    assert differs(Listed(members, lambda _: ("relay.presence.04",)), seen, "agents") is None
    in_order = Listed(members, lambda _: (), in_order=("relay.log.14",))
    difference = differs(in_order, seen, "messages")
    assert difference is not None
    assert difference.rows == ("relay.log.14",)


def test_the_time_of_work_may_be_the_sessions_where_nobody_knows_the_tables(tmp_path: Path) -> None:
    """As the page says; or the bus's own, as a server's is."""
    scripts = corpus.scripts("timeline", only=["given_back_before_the_clock_went_back"])
    contract = CONTRACTS["timeline"]
    features = tuple(name for name in contract.features if name not in ("sqlite", "nats"))
    with declaring(tmp_path, "timeline", contract.profiles["full"], features) as fleet:
        replay = replayed(fleet, scripts)
    assert replay.dialects["the time of which ack_wait_ms is"] == "the session's"


def test_a_bus_without_redrive_is_not_asked_for_it(tmp_path: Path) -> None:
    """A script that goes on with it decides the rows before."""
    nouns = (*CONTRACTS["comms"].profiles["core"], "retry")
    with declaring(tmp_path, "comms", nouns, ("delivery_count", "idempotent_send", "dump")) as fleet:
        outcomes = {result.requirement: result.outcome for result in run_item(fleet, "retry.broadcast", seed=1)}
    assert outcomes == {"comms.retry.16": "pass", "comms.retry.17": "pass", "comms.retry.18": "not-applicable"}


def test_a_hand_leaves_alone_a_file_whose_making_was_left_out(tmp_path: Path) -> None:
    """`relay`: a program that writes over it, or takes one of its names away, goes on without."""
    steps = [Step("open", 0, name="0")]
    for number, odd in enumerate(("in_place", "one_name"), 1):
        write = call("hand", "write", agent="ann", file="1-00000001.msg", data="", mtime_ns=1, odd=odd)
        steps.append(replace(write, name=f"{number}"))
    with declaring(tmp_path, "relay", CONTRACTS["relay"].profiles["full"], ("scan", "dump")) as fleet:
        replay = replayed(fleet, {"odd": steps})
    assert replay.left_out == {"write": 2}


def test_a_bus_that_starts_no_processes_is_not_asked_to(tmp_path: Path) -> None:
    """`relay`: the file is not written, and the script goes on; its passes were left out."""
    steps = [Step("open", 0, name="0")]
    for number, kind in enumerate(
        ("KIND: spawn\n\nNAME: bob\nCLI: claude\n", "KIND: release\n\nNAME: bob\n", "\nhello"), 1
    ):
        file = f"176805360000000000{number}-0000000{number}.msg"
        write = call("hand", "write", agent="ann", file=file, data=f"TO: __orchestrator__\n{kind}", mtime_ns=1)
        steps.append(replace(write, name=f"{number}"))
    steps.append(replace(call(0, "scan"), name="4"))
    with declaring(tmp_path, "relay", CONTRACTS["relay"].profiles["full"], ("scan", "dump", "sqlite")) as fleet:
        replay = replayed(fleet, {"spawn": steps})
    assert replay.left_out == {"write": 2}
