"""The last reading ends on every bus: one that shows the same again and again is found out, and not waited for."""

from __future__ import annotations

import contextlib
import shlex
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from chaos.tests.acts import outcomes, play, problems_of

from buschaos import reading
from buschaos.judge import read_to_the_end
from buschaos.state import Evidence
from buschaos.subjects import SUBJECTS
from busproof.bus.fleet import Fleet, reference
from busproof.bus.session import Session
from busproof.contract.history import Recorder

Fill = Callable[[Session], object]


def comms(session: Session) -> None:
    """Three messages to the agent itself."""
    for number in range(3):
        session.call("send_message", to_agent=session.agent, message_type="note", payload={"n": number})


def worker(session: Session) -> None:
    """Three messages to all."""
    for number in range(3):
        session.call("publish", message={"type": "note", "payload": {"n": number}})


def topics(session: Session) -> None:
    """A topic with three messages of another name."""
    topic_id = session.call("topic_create", name="t")["topic_id"]
    session.call("topic_join", topic_id=topic_id, agent_name="alice")
    session.call("sync", topic_id=topic_id, outbox=[{"content_markdown": str(n)} for n in range(3)], wait_seconds=0)
    session.call("topic_join", topic_id=topic_id, agent_name=session.agent)


def read_it(spec: str, folder: Path, fill: Fill) -> Evidence:
    """The evidence of the last reading of bob's messages."""
    store, part = folder / "store", folder / "part-0.jsonl"
    store.mkdir()
    with contextlib.closing(Fleet([spec], system=fill.__name__)) as fleet:
        with contextlib.closing(Recorder(part, run="test", system=fill.__name__)) as recorder:
            session = Session(fleet.door(1, store, {}), recorder, process=1, agent="bob")
            fill(session)
            fleet.give_back(session.door, retired=session.retired)
        return read_to_the_end(fleet, store, [part], folder / "history.jsonl", run="test", agents=["bob"])


@pytest.mark.parametrize("fill", [comms, worker, topics])
def test_a_reading_that_takes_everything_ends(tmp_path: Path, fill: Fill) -> None:
    """On the reference."""
    assert read_it(reference(fill.__name__), tmp_path, fill).endless == []


@pytest.mark.parametrize(
    ("fill", "fault", "noun"),
    [
        (comms, "claims_nothing", "lease"),
        (worker, "ack_is_forgotten", "cursor"),
        (topics, "the_last_one_comes_again", "cursor"),
    ],
)
def test_a_reading_that_cannot_end_is_a_problem(
    tmp_path: Path, faulty: Callable[[str], str], fill: Fill, fault: str, noun: str
) -> None:
    """Messages that are shown and never taken, acknowledged and still there, read and there again."""
    (problem,) = read_it(faulty(f"{fill.__name__}/{fault}"), tmp_path, fill).endless
    assert problem.noun == noun
    assert "cannot end" in problem.why


def test_a_store_that_nobody_can_read_is_a_problem(tmp_path: Path) -> None:
    """The bus refuses each receive, as one does whose file was torn by a kill."""

    def mailbox(session: Session) -> None:
        session.call("receive")
        (tmp_path / "store" / "change-1.json").write_text("{", encoding="utf-8")

    adapter = Path(__file__).parents[2] / "conformance" / "examples" / "minimal_node_mailbox" / "adapter.mjs"
    (problem,) = read_it(f"exec:node {adapter}", tmp_path, mailbox).endless
    assert problem.why.startswith("bob: nobody can read what waits: ")


@pytest.mark.parametrize("fill", [comms, worker])
def test_a_large_store_says_the_same_by_its_tables(tmp_path: Path, fill: Fill, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line has room for 64 MiB: of a larger database nobody asks the bus."""
    system = fill.__name__
    with (
        contextlib.closing(Fleet([reference(system)], system=system)) as fleet,
        contextlib.closing(Recorder(tmp_path / "part.jsonl", run="test", system=system)) as recorder,
    ):
        session = Session(fleet.door(1, tmp_path, {}), recorder, process=1, agent="bob")
        fill(session)
        dump = reading.dump(session, tmp_path, fleet, SUBJECTS[system])
        monkeypatch.setattr(reading, "LARGE_BYTES", 0)
        monkeypatch.setattr(session, "call", None)
        read = reading.dump(session, tmp_path, fleet, SUBJECTS[system])
        fleet.give_back(session.door, retired=False)
    assert read["messages"]
    assert read == {name: dump[name] for name in read}  # tables of the bus's own aside


def test_a_death_may_leave_some_of_what_a_receive_takes(tmp_path: Path, harmless: Callable[[str], str]) -> None:
    """To read is to take, one message after another."""
    played = play("mailbox", harmless("mailbox_takes_one_by_one"), tmp_path, "receive, once", points=True)
    assert problems_of(played) == []
    assert outcomes("mailbox", played)["mailbox.log.21"] == "pass"


@pytest.mark.parametrize("promises", ["", "consumes", "consumes unacked"])
def test_a_look_takes_nothing_even_where_a_receive_does(promises: str, tmp_path: Path) -> None:
    bus = f"exec:{shlex.quote(sys.executable)} -m refbus.mailbox {promises}"
    with (
        contextlib.closing(Fleet([bus], system="mailbox")) as fleet,
        contextlib.closing(Recorder(tmp_path / "part.jsonl", run="test", system="mailbox")) as recorder,
    ):
        session = Session(fleet.door(0, tmp_path, {}), recorder, process=0, agent="bob")
        for agent in ("alice", "bob", "carol"):
            session.call("receive", agent_id=agent)
        session.call("send", agent_id="alice", to="bob", body="one")
        looks = [reading.dump(session, tmp_path, fleet, SUBJECTS["mailbox"])["messages"] for _ in range(2)]
        assert looks == [[{"agent": "bob", "body": "one"}]] * 2
        assert [message["body"] for message in session.call("receive")["messages"]] == ["one"]
        fleet.give_back(session.door, retired=False)
