"""The cases that NATS adds: a server that dies and comes back, strangers who know only the subjects, and a cluster."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from reference.bench.nats_server import NatsServer
from reference.tests.timeline.conftest import invoke, request

from refbus.kernel import iso
from refbus.kernel.errors import BusError, Busy, Internal, TimedOut, Unreachable
from refbus.timeline import worker
from refbus.timeline.bus import TimelineBus
from refbus.timeline.natsclient import CONNECT_S, Client

Answer = TypeVar("Answer")

OLLAMA = {"type": "request", "service": "infer", "backend": "ollama"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """One to kill."""
    folder = tmp_path / "nats"
    folder.mkdir()
    with NatsServer(folder) as started:
        yield started


def free_ports(count: int) -> list[int]:
    """Ports of this machine that nobody listens on, all different."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [listener.getsockname()[1] for listener in sockets]
    for listener in sockets:
        listener.close()
    return ports


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[list[NatsServer]]:
    """Three servers that keep three copies of the stream."""
    ports = free_ports(3)
    routes = ",".join(f"nats://127.0.0.1:{port}" for port in ports)
    servers: list[NatsServer] = []
    for number, port in enumerate(ports):
        folder = tmp_path / f"node{number}"
        folder.mkdir()
        listen = f"nats://127.0.0.1:{port}"
        options = ["-n", f"node{number}", "--cluster_name", "c", "--cluster", listen, "--routes", routes]
        servers.append(NatsServer(folder, *options))
    yield servers
    for server in servers:
        server.stop()


def test_a_thousand_groups_and_one_more_have_their_consumers(server: NatsServer, store: Path) -> None:
    """nats-server 2.15 gives a stream that names no number 1,000."""
    with open_on(server, store) as bus:
        for n in range(1_001):
            assert bus.fetch({"type": "invoke"}, group=str(n))["message"] is None
    server.kill()  # it takes ten seconds to end that many in order


def test_an_account_with_fewer_consumers_makes_its_stream_and_says_when_they_are_gone(
    tmp_path: Path, store: Path
) -> None:
    """The account's limit holds, the refusal is definite and says how to mend it."""
    conf = tmp_path / "account.conf"
    conf.write_text(
        'accounts { a { jetstream { max_consumers: 3 }, users [{user: "u", password: "p"}] } }\nno_auth_user: "u"\n'
    )
    with NatsServer(tmp_path, "-c", str(conf)) as server, open_on(server, store) as bus:
        for n in range(3):
            bus.fetch({"type": "invoke"}, group=str(n))
        with pytest.raises(Internal, match="raise max_consumers of stream VLINDER") as refused:
            bus.fetch({"type": "invoke"}, group="fourth")
        assert refused.value.definite
        bus.fetch({"type": "invoke"}, group="0")


def test_a_consumer_that_has_not_heard_of_a_message_yet_is_asked_again(
    server: NatsServer, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server answers the sender first, and tells the consumer after that: on a busy machine some ms later."""
    with open_on(server, store) as bus:
        bus.send(invoke("one"), 1)
        pull, early = Client.pull, [None, None]
        monkeypatch.setattr(Client, "pull", lambda *asked: early.pop() if early else pull(*asked))
        fetched = bus.fetch({"type": "invoke"})["message"]
        assert fetched is not None
        assert not early
        early += [None]
        assert bus.fetch({"type": "invoke"})["message"] is None
        assert not early


def until_answered(ask: Callable[[], Answer]) -> Answer:
    """Asked again while the others elect, however long that takes; a call may be sent twice, it is the same message."""
    deadline = time.monotonic() + 300  # guards against a hang
    while True:
        try:
            return ask()
        except (Unreachable, Busy):
            if time.monotonic() > deadline:
                raise


@pytest.mark.nightly
def test_nothing_acknowledged_is_lost_when_a_node_of_three_is_killed(cluster: list[NatsServer], store: Path) -> None:
    """Three copies, the leader's node killed and not replaced: the others elect, and the bus goes on. A message that
    nobody answered is sent again, and is there once."""
    urls = ",".join(server.url for server in cluster)
    (store / "config.toml").write_text(f'[queue]\nbackend = "nats"\nnats_url = "{urls}"\nnats_replicas = 3\n')
    sent: list[str] = []
    with until_answered(lambda: TimelineBus(store)) as bus:
        queue: Any = bus.store.queue
        for n in range(300):
            if n == 100:
                leader = until_answered(lambda: queue.stream.api("STREAM.INFO.VLINDER", {}))["cluster"]["leader"]
                cluster[int(leader[-1])].kill()
            sent.append(until_answered(partial(bus.send, request(sequence=n), n))["hash"])
        assert [message["hash"] for message in until_answered(lambda: bus.log("main", limit=1_000))["messages"]] == sent
        assert until_answered(bus.verify)["ok"]


def open_on(server: NatsServer, store: Path, **options: int) -> TimelineBus:
    """A session on that server."""
    return TimelineBus(store, backend="nats", nats_url=server.url, **options)  # type: ignore[arg-type]


def kills(server: NatsServer, store: Path, times: int) -> None:
    """Callers call, workers answer, and the server is killed and started again on the same store, so many times."""
    stop = threading.Event()
    acknowledged: dict[int, str] = {}
    undecided: set[int] = set()

    def call() -> None:
        with open_on(server, store) as bus:
            n = 0
            while not stop.is_set():
                n += 1
                try:
                    answer = bus.call_service("main", "s1", "ada", "infer", "ollama", "chat", n, n, 2_000)
                    assert answer["payload"] == n + 1
                    acknowledged[n] = answer["hash"]
                except (TimedOut, Unreachable):
                    undecided.add(n)

    def work() -> None:
        with open_on(server, store, ack_wait_ms=1_000) as bus:
            service = worker.service(bus, "infer", "ollama", lambda message: message["payload"] + 1)
            while not stop.is_set():
                with contextlib.suppress(BusError):  # the server is away: taken messages come again
                    service.step(200)

    threads = [threading.Thread(target=target) for target in (call, work, work)]
    for thread in threads:
        thread.start()
    for kill in range(times):
        seen = len(acknowledged)
        while len(acknowledged) < seen + 10:
            assert all(thread.is_alive() for thread in threads), f"after {kill} kills"
            stop.wait(0.02)
        server.kill()
        server.start()
    stop.set()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    with open_on(server, store) as bus:
        assert bus.verify()["ok"]
        logged = {message["hash"] for message in bus.log("main", limit=100_000)["messages"]}
        assert set(acknowledged.values()) <= logged
        for n in undecided - acknowledged.keys():
            with contextlib.suppress(TimedOut):  # a definite time-out, or the answer
                assert bus.call_service("main", "s1", "ada", "infer", "ollama", "chat", n, n, 0)["payload"] == n + 1


def test_nothing_acknowledged_is_lost_when_the_server_is_killed(server: NatsServer, store: Path) -> None:
    """Twice here."""
    kills(server, store, 2)


@pytest.mark.nightly
def test_nothing_acknowledged_is_lost_when_the_server_is_killed_often(server: NatsServer, store: Path) -> None:
    """Twenty times."""
    kills(server, store, 20)


def test_a_server_that_stays_away_is_told(server: NatsServer, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After the session's patience, with nobody knowing what happened; and the session lives on."""

    def patience(seconds: float) -> None:
        for module in ("jetstream", "stream"):
            monkeypatch.setattr(f"refbus.timeline.{module}.PATIENCE_S", seconds)

    patience(0.5)
    with open_on(server, store) as bus:
        bus.send(invoke(), "x")
        server.kill()
        with pytest.raises(Unreachable):
            bus.send(request(), "y")
        server.start()
        patience(20.0)
        assert next(message["payload"] for message in bus.log("main")["messages"]) == "x"
        bus.send(request(), "y")
        assert bus.verify()["ok"]


def test_a_server_that_refuses_the_connection_is_told_at_once(store: Path) -> None:
    """Not after a time-out, and not as one."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        url = f"nats://127.0.0.1:{nobody.getsockname()[1]}"
        began_s = time.monotonic()
        with pytest.raises(Unreachable, match="Connect call failed") as caught:
            TimelineBus(store, backend="nats", nats_url=url)
    assert caught.value.definite
    assert time.monotonic() - began_s < CONNECT_S


def test_the_server_of_the_example_syncs_what_it_acknowledges(server: NatsServer) -> None:
    """A stock server syncs every two minutes."""
    shown = (server.folder / "server.log").read_text()
    assert "sync_interval: always" in (server.folder / "nats.conf").read_text() and "nats.conf" in shown


def test_a_stranger_who_knows_only_the_subjects_takes_part(server: NatsServer, store: Path) -> None:
    """Its requests are worked on, its answers heard, and later messages chained to them (the seed's table)."""
    with open_on(server, store) as bus:
        bus.send(invoke(), "before")
        stranger = Client(server.url)
        stranger.ask("vlinder.main.s1.req.ada.infer.ollama.chat.1", b'{"q": 1}')
        taken = bus.fetch(OLLAMA, wait_ms=5_000)["message"]
        assert taken is not None and (taken["key"], taken["payload"], taken["number"]) == (request(), {"q": 1}, 2)
        stranger.ask("vlinder.main.s1.res.infer.ollama.ada.chat.1", b'{"a": 1}')
        answer = bus.call_service("main", "s1", "ada", "infer", "ollama", "chat", 1, {"q": 1})
        assert (answer["payload"], answer["number"], answer["replayed"]) == ({"a": 1}, 3, True)
        assert bus.send(request(sequence=2), "after")["number"] == 4
        bus.reply(invoke(), "end")
        stranger.ask("vlinder.main.s1.fork.someone", b"no JSON at all")
        stranger.close()
        messages = bus.log("main")["messages"]
        assert [message["previous"] for message in messages] == ["0" * 64, *(m["hash"] for m in messages[:-1])]
        assert [message["number"] for message in bus.log("main", after=2, limit=2)["messages"]] == [3, 4]
        assert len(bus.replay("main", "s1")["messages"]) == 6
        assert bus.verify()["ok"]


@pytest.mark.parametrize(
    ("fraction", "fraction_us"), [("33.587270001Z", 587_270), ("33.58727Z", 587_270), ("33.5Z", 500_000), ("33Z", 0)]
)
def test_a_servers_time_is_read_however_many_digits_it_has(fraction: str, fraction_us: int) -> None:
    """It leaves out zeros at the end: one message in ten has fewer than nine digits."""
    assert iso.parse("time", f"2026-11-22T06:38:{fraction}") % 1_000_000 == fraction_us


def test_more_than_a_page_is_read_whole(server: NatsServer, store: Path) -> None:
    """In order, from any number on, of one submission."""
    with open_on(server, store) as bus:
        for n in range(1_201):
            bus.send(request(submission=f"s{n % 2}", sequence=n))
        assert [message["number"] for message in bus.log("main", limit=2_000)["messages"]] == list(range(1, 1_202))
        assert [message["number"] for message in bus.log("main", after=1_100)["messages"]] == list(range(1_101, 1_202))
        assert len(bus.replay("main", "s0")["messages"]) == 601
        assert bus.fork("side", "s0", "ada", "main", 777)["number"] == 778
        assert bus.verify()["checked"] == 1_202
