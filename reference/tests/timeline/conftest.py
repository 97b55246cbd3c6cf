"""Fixtures of the tests of `timeline`: a store of their own, on each backend; and one real NATS server for a run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from reference.bench.nats_server import NatsServer
from reference.tests.conftest import opening

from refbus.kernel.clock import Clock
from refbus.timeline.bus import TimelineBus
from refbus.timeline.natsclient import Client
from refbus.timeline.stream import STREAM

T0_MS = 1_768_053_600_000
OpenBus = Callable[..., TimelineBus]


@pytest.fixture(scope="session")
def nats_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NatsServer]:
    """A server on a loopback port, its store in a scratch folder."""
    with NatsServer(tmp_path_factory.mktemp("nats")) as server:
        yield server


def empty(server: NatsServer) -> None:
    """Leave the server without a stream."""
    client = Client(server.url)
    client.ask(f"$JS.API.STREAM.DELETE.{STREAM}", b"", 10.0)
    client.close()


@pytest.fixture(params=["sqlite", "nats"])
def backend(request: pytest.FixtureRequest, store: Path) -> str:
    """Each test runs on both. A store's backend is said as a user says it: in its config.toml."""
    if request.param == "nats":
        server = request.getfixturevalue("nats_server")
        empty(server)
        (store / "config.toml").write_text(f'[queue]\nbackend = "nats"\nnats_url = "{server.url}"\n')
    return str(request.param)


@pytest.fixture
def open_bus(backend: str, store: Path, clock: Clock) -> Iterator[OpenBus]:
    """Buses on the store."""
    yield from opening(partial(TimelineBus, store, clock=clock))


@pytest.fixture
def bus(open_bus: OpenBus) -> TimelineBus:
    """A bus on the store, with default options."""
    return open_bus()


def invoke(timeline: str = "main", submission: str = "s1", **more: Any) -> dict[str, Any]:
    """A key to submit with."""
    key = {"type": "invoke", "timeline": timeline, "submission": submission}
    return {**key, "harness": "cli", "runtime": "local", "agent": "ada", **more}


def request(timeline: str = "main", submission: str = "s1", **more: Any) -> dict[str, Any]:
    """A key to call a service with."""
    key = {"type": "request", "timeline": timeline, "submission": submission, "agent": "ada", "service": "infer"}
    return {**key, "backend": "ollama", "operation": "chat", "sequence": 1, **more}


def delegation(timeline: str = "main", submission: str = "s1", **more: Any) -> dict[str, Any]:
    """A key to delegate with."""
    key = {"type": "delegate", "timeline": timeline, "submission": submission, "caller": "ada", "target": "bob"}
    return {**key, **more}
