"""SIGKILL at any moment: everything that was acknowledged is there, once, and nothing is half."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from refbus.worker.bus import WorkerBus


def publisher(store: str, pipe: Connection) -> None:
    """Publishes for ever, small, large and in batches, and tells what was acknowledged."""
    with WorkerBus(Path(store)) as bus:
        number = 0
        while True:
            for payload in (number, "x" * 5000 + str(number)):
                pipe.send([bus.publish("alice", {"type": "t", "payload": payload})["id"]])
            pipe.send(bus.publish_many("alice", [{"type": "t", "payload": n} for n in range(5)])["ids"])
            number += 1


def claimer(store: str, pipe: Connection) -> None:
    """Claims, renews and releases for ever; tells the tokens."""
    with WorkerBus(Path(store)) as bus:
        while True:
            token = bus.try_claim_task("t", "alice").get("token")
            bus.renew_claim("t", "alice", token)
            bus.release_claim("t", "alice", token)
            pipe.send([str(token)])


@pytest.mark.parametrize(("work", "kills"), [(publisher, 6), (claimer, 4)])
def test_what_was_acknowledged_survives_a_kill(
    store: Path, work: Callable[[str, Connection], None], kills: int
) -> None:
    """Every acknowledged message once, every batch whole, every blob readable, tokens rising."""
    context = multiprocessing.get_context("spawn")
    acknowledged: list[str] = []
    for kill in range(kills):
        ours, theirs = context.Pipe(duplex=False)
        process = context.Process(target=work, args=(str(store), theirs))
        process.start()
        theirs.close()
        acknowledged += ours.recv()
        time.sleep(0.005 * kill)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        process.close()
        try:
            while True:
                acknowledged += ours.recv()
        except (EOFError, OSError):
            ours.close()
    with WorkerBus(store) as bus:
        dump = bus.dump()
        assert dump["integrity"] == "ok"
        if work is claimer:
            tokens = [int(token) for token in acknowledged if token != "None"]
            assert tokens == sorted(set(tokens))
            return
        messages = bus.poll("bob", limit=1_000_000)["messages"]
        assert not any("payload_error" in message for message in messages)
        ids = [message["id"] for message in messages]
        assert len(ids) == len(set(ids))
        assert set(acknowledged) <= set(ids)
        assert [message["seq"] for message in messages] == sorted(message["seq"] for message in messages)
