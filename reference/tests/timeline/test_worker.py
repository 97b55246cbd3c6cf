"""Agents and services: a fleet that dies and goes on, and an agent's code that is run again from the record."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest
from reference.tests.timeline.conftest import OpenBus, invoke, request

from refbus.kernel.errors import IdConflict, NotFound
from refbus.timeline import worker
from refbus.timeline.bus import TimelineBus
from refbus.timeline.run import Run, rerun

AGENT = {"harness": "cli", "runtime": "local", "agent": "ada"}


def ada(run: Run) -> object:
    """Asks a service twice and another agent once."""
    first = run.call_service("infer", "ollama", "chat", run.payload, 20_000)
    second = run.call_service("infer", "ollama", "chat", first, 20_000)
    run.state = {"heard": second}
    return [second, run.delegate("bob", second, 20_000)]


def bob(run: Run) -> object:
    """Asks once."""
    return run.call_service("infer", "ollama", "chat", run.payload, 20_000)


@pytest.fixture
def fleet(open_bus: OpenBus) -> Iterator[list[str]]:
    """Two agents and a service, each with a session of its own; the questions that the service was asked."""
    asked: list[str] = []

    def infer(message: worker.Message) -> object:
        asked.append(message["subject"])
        return f"{message['payload']}!"

    workers = [
        worker.service(open_bus(), "infer", "ollama", infer),
        worker.runtime(open_bus(), "local", "ada", ada),
        worker.delegate(open_bus(), "bob", bob),
    ]
    stop = threading.Event()

    def work(member: worker.Worker) -> None:
        while not stop.is_set():
            member.step(100)

    threads = [threading.Thread(target=work, args=(member,)) for member in workers]
    for thread in threads:
        thread.start()
    yield asked
    stop.set()
    for thread in threads:
        thread.join()


def test_a_fleet_answers_and_every_step_is_on_record(bus: TimelineBus, fleet: list[str]) -> None:
    """In the order in which it happened, with nothing twice."""
    answer = bus.run_agent("main", "s1", **AGENT, payload="x")
    assert answer["payload"] == ["x!!", "x!!!"]
    types = [message["key"]["type"] for message in bus.log("main")["messages"] if message["key"]]
    assert types == [
        "invoke", "request", "response", "request", "response", "delegate", "request", "response", "delegate-reply",
        "complete",
    ]  # fmt: skip
    assert len(fleet) == 3
    assert bus.verify()["ok"]


def test_an_agents_code_is_run_again_with_nobody_else_there(bus: TimelineBus, fleet: list[str]) -> None:
    """It comes to the same bytes; code that asks otherwise is found out."""
    bus.run_agent("main", "s1", **AGENT, payload="x")
    assert len(fleet) == 3
    replayed = rerun(bus, "main", "s1", ada)
    assert replayed["same"] and replayed["payload"] == ["x!!", "x!!!"]
    assert not rerun(bus, "main", "s1", lambda run: run.call_service("infer", "ollama", "chat", "x"))["same"]
    with pytest.raises(IdConflict):
        rerun(bus, "main", "s1", lambda run: run.call_service("infer", "ollama", "chat", "y"))
    with pytest.raises(IdConflict):
        rerun(bus, "main", "s1", lambda run: run.call_service("infer", "openrouter", "chat", "x"))
    assert len(fleet) == 3


def test_a_fork_asks_only_what_lies_behind_the_fork_point(bus: TimelineBus, fleet: list[str]) -> None:
    """The rest is read from the parent."""
    bus.run_agent("main", "s1", **AGENT, payload="x")
    bus.fork("side", "s1", "ada", "main", 3)
    assert bus.run_agent("side", "s1", **AGENT, payload="x")["payload"] == ["x!!", "x!!!"]
    assert [subject.split(".")[1] for subject in fleet] == ["main"] * 3 + ["side"] * 2
    assert rerun(bus, "side", "s1", ada)["same"]


def test_an_agent_that_died_half_way_is_run_anew_and_goes_on(open_bus: OpenBus) -> None:
    """A question that was answered before its death is not asked again."""
    bus, dying = open_bus(), open_bus()
    bus.send(invoke(), "x")
    bus.send(request(), "x")
    bus.reply(request(), "x!")

    def dies(run: Run) -> object:
        run.call_service("infer", "ollama", "chat", run.payload)
        raise KeyboardInterrupt

    mortal = worker.runtime(dying, "local", "ada", dies)
    with pytest.raises(KeyboardInterrupt):
        mortal.step(5000)
    taken = bus.fetch({"type": "invoke", "runtime": "local", "agent": "ada"})["message"]
    assert taken is None  # it is still the dead one's
    heir = Run(bus, bus.log("main")["messages"][0])
    assert heir.call_service("infer", "ollama", "chat", "x") == "x!"
    assert len(bus.log("main")["messages"]) == 3


def test_a_message_that_was_answered_is_not_worked_on_again(bus: TimelineBus) -> None:
    """A redelivery after the answer costs no call."""
    bus.send(request(), "q")
    bus.reply(request(), "a")
    asked: list[object] = []
    assert worker.service(bus, "infer", "ollama", asked.append).step(5000)
    assert asked == []
    assert bus.fetch({"type": "request", "service": "infer", "backend": "ollama"})["message"] is None


def test_who_answers_second_has_not_answered(open_bus: OpenBus) -> None:
    """Two workers on one request, after an ack_wait: the caller sees one answer, and neither worker fails."""
    bus = open_bus()
    bus.send(request(), "q")

    def slow(_: worker.Message) -> object:
        bus.reply(request(), "first")
        return "second"

    assert worker.service(open_bus(), "infer", "ollama", slow).step(5000)
    assert [message["payload"] for message in bus.log("main")["messages"]] == ["q", "first"]


def test_a_submission_without_an_end_has_no_rerun(bus: TimelineBus) -> None:
    """There is nothing to hold the result against."""
    bus.send(invoke(), "x")
    with pytest.raises(NotFound):
        rerun(bus, "main", "s1", ada)


@pytest.mark.nightly
@pytest.mark.parametrize("backend", ["sqlite"])
def test_ten_thousand_interactions_are_run_again_without_a_network(
    bus: TimelineBus, backend: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every answer is the recorded one, and so is every byte that the agent sends."""
    count, heard = 10_000, list[object]()

    def many(run: Run) -> object:
        for n in range(count):
            heard.append(run.call_service("infer", "ollama", "chat", {"n": n}))
        run.state = {"heard": len(heard)}
        return heard[-1]

    bus.send(invoke(), "begin")
    for n in range(count):
        bus.send(request(sequence=n + 1), {"n": n})
        bus.reply(request(sequence=n + 1), {"answer": n, "text": "é\u0000" * (n % 7)})
    assert worker.runtime(bus, "local", "ada", many).step(5000)
    answers = heard[:]
    heard.clear()

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a replay needs no network")

    monkeypatch.setattr(socket, "socket", refuse)
    replayed = rerun(bus, "main", "s1", many)
    assert replayed["same"]
    assert heard == answers == [{"answer": n, "text": "é\u0000" * (n % 7)} for n in range(count)]
    assert bus.verify()["ok"]
