"""Kills: submissions to an agent that calls a service, while processes of both are killed all the time and replaced.

Every submission must complete with the right answer, each request must be answered once, a fork made half-way must see
nothing that its parent was told later, and the record must verify.
"""

from __future__ import annotations

import argparse
import contextlib
import random
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from crew import Crew, Watch, crew, is_wanted
from timeline_store import store

from refbus.kernel.errors import BusError
from refbus.timeline import worker
from refbus.timeline.bus import TimelineBus
from refbus.timeline.run import Run

ACK_WAIT_MS = 1_000
CALLERS = 8
TIMEOUT_MS = 120_000
LANES = 4  # timelines


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Each backend in turn."""
    figures: dict[str, Any] = {}
    broken: list[str] = []
    for backend in arguments.backends:
        with store(folder / backend, backend) as place:
            figures[backend], faults = _play(place, arguments)
        broken += [f"{backend}: {fault}" for fault in faults]
        print(f"{backend:8}{arguments.invokes} invokes, {figures[backend]}", flush=True)
    return {"invokes": arguments.invokes, "backends": figures}, broken


def _play(place: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    faults: list[str] = []
    done = Counter[str]()
    dice = random.Random(1)
    began = time.perf_counter()
    with crew() as members:
        roles = [_agent, _service] * 3
        for role in roles:
            members.start(role, str(place))
        threads = [
            threading.Thread(target=_call, args=(place, first, arguments.invokes, done, faults))
            for first in range(CALLERS)
        ]
        for thread in threads:
            thread.start()
        watch = Watch("kills", arguments.invokes)
        kills = 0
        while any(thread.is_alive() for thread in threads):
            time.sleep(arguments.kill_every_ms / 1000)
            _replace(members, roles, dice.randrange(len(roles)), place)
            kills += 1
            watch.see(done["calls"])
        watch.close()
    took = time.perf_counter() - began
    with TimelineBus(place) as bus:
        faults += _judge(bus, arguments.invokes)
    return {"kills": kills, "per_s": round(arguments.invokes / took, 1), "retried": done["retried"]}, faults


def _replace(members: Crew, roles: list[Any], victim: int, place: Path) -> None:
    members.kill(victim)
    role = roles.pop(victim)
    roles.append(role)
    members.start(role, str(place))


def _call(place: Path, first: int, invokes: int, done: Counter[str], faults: list[str]) -> None:
    """One caller: submits and waits, and asks again where nobody knows."""
    with TimelineBus(place, ack_wait_ms=ACK_WAIT_MS) as bus:
        for number in range(first, invokes, CALLERS):
            lane, submission = f"lane{number % LANES}", f"s{number}"
            deadline = time.monotonic() + 3 * TIMEOUT_MS / 1000
            while True:
                try:
                    answer = bus.run_agent(lane, submission, "cli", "local", "ada", number, TIMEOUT_MS)
                except BusError as error:
                    done["retried"] += 1
                    if time.monotonic() > deadline:
                        faults.append(f"{submission}: {error}")
                        break
                    continue
                if answer["payload"] != (number + 1) * 2:
                    faults.append(f"{submission} was answered {answer['payload']}")
                done["calls"] += 1
                break


def _agent(place: str) -> None:
    def handler(run: Run) -> object:
        more = run.call_service("math", "local", "add", run.payload, TIMEOUT_MS)
        return run.call_service("math", "local", "double", more, TIMEOUT_MS)

    with TimelineBus(Path(place), ack_wait_ms=ACK_WAIT_MS) as bus:
        _work(worker.runtime(bus, "local", "ada", handler))


def _service(place: str) -> None:
    def answer(message: worker.Message) -> object:
        operation = (message["key"] or {})["operation"]
        return message["payload"] + 1 if operation == "add" else message["payload"] * 2

    with TimelineBus(Path(place), ack_wait_ms=ACK_WAIT_MS) as bus:
        _work(worker.service(bus, "math", "local", answer))


def _work(member: worker.Worker) -> None:
    while is_wanted():
        with contextlib.suppress(BusError):
            member.step(1_000)


def _judge(bus: TimelineBus, invokes: int) -> list[str]:
    faults: list[str] = []
    if not (verified := bus.verify())["ok"]:
        faults.append(f"the record does not verify: {verified['faults'][:3]}")
    types: Counter[str] = Counter()
    subjects: Counter[str] = Counter()
    for lane in range(min(LANES, invokes)):
        messages = bus.log(f"lane{lane}", limit=10 * invokes)["messages"]
        types.update((message["key"] or {})["type"] for message in messages)
        subjects.update(message["subject"] for message in messages)
        half = len(messages) // 2
        bus.fork(f"fork{lane}", "s0", "ada", f"lane{lane}", half)
        seen = [message["number"] for message in bus.log(f"fork{lane}", limit=10 * invokes)["messages"]]
        if seen != list(range(1, half + 2)):
            faults.append(f"fork{lane} sees {len(seen)} messages, not {half + 1}")
    wanted = {"invoke": invokes, "complete": invokes, "request": 2 * invokes, "response": 2 * invokes}
    if types != wanted:
        faults.append(f"on record: {dict(types)}, not {wanted}")
    faults += [f"{subject} stands {times} times" for subject, times in subjects.items() if times > 1]
    return faults
