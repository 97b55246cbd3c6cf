"""The doctor finds what is odd in a JetStream, and nothing in a sound one."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import nats
import pytest
from nats.js import JetStreamContext
from nats.js.api import AckPolicy, ConsumerConfig

from busproof.bus.fleet import Fleet, reference
from busproof.bus.nats import NatsServer
from busproof.oddities import jetstream
from busproof.play.scenarios.timeline.common import request
from busproof.run import doctor


@pytest.fixture
def server(tmp_path: Path) -> Iterator[NatsServer]:
    """Three messages and an answer on main, two of them forked, by the reference."""
    made = NatsServer()
    (tmp_path / "config.toml").write_text(f'[queue]\nbackend = "nats"\nnats_url = "{made.url}"\n')
    fleet = Fleet([reference("timeline")], system="timeline")
    door = fleet.door(0, tmp_path, {})
    for n in range(3):
        door.call("send", {"key": request(n, timeline="my.main"), "payload": n})
    delivery = door.call("fetch", {"filter": {"type": "request"}})["message"]["delivery"]
    door.call("ack", {"delivery": delivery})
    door.call("reply", {"key": request(1, timeline="my.main"), "payload": "one"})
    fork = {"timeline": "b.c", "submission": "s", "agent_name": "a", "parent": "my.main", "at": 2}
    door.call("fork", fork)
    fleet.give_back(door, retired=False)
    fleet.close()
    yield made
    made.close()


def change(server: NatsServer, how: Callable[[JetStreamContext], Awaitable[Any]]) -> None:
    """By somebody who has the server's address."""

    async def do() -> None:
        connection = await nats.connect(server.url)
        await how(connection.jetstream())
        await connection.close()

    asyncio.run(do())


def test_a_sound_record_has_nothing_odd(server: NatsServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """By its URL or by the folder whose config.toml names it; work that nobody fetches is a note."""
    assert doctor.examine(server.url) == 0
    assert doctor.examine(f"nats:{tmp_path}") == 0
    out = capsys.readouterr().out
    assert out.count("nothing odd") == 2
    assert "2 messages wait and 0 are held, and nobody fetches" in out


def test_what_was_published_under_a_number_that_is_taken_breaks_the_chain(server: NatsServer) -> None:
    """It looks recorded, but nobody chained it."""
    headers = {
        "Timeline-Number": "3",
        "Timeline-Time-Us": "1",
        "Timeline-Previous": "0" * 64,
        "Timeline-Hash": "f" * 64,
    }
    subject = "vlinder.my%2Emain.s.invoke.h.r.a"
    change(server, lambda js: js.publish(subject, b"1", headers=headers))
    odd, _ = jetstream.look(server.url, None)
    assert any("follows number 3" in text for text in odd)
    assert any("its hash is that of other fields" in text for text in odd)


def test_a_sender_that_knows_only_the_subjects_is_chained_by_who_reads(server: NatsServer) -> None:
    """Which is allowed, and worth a note."""
    change(server, lambda js: js.publish("vlinder.my%2Emain.s.invoke.h.r.a", b"1"))
    odd, noted = jetstream.look(server.url, None)
    assert odd == []
    assert any(text.startswith("1 messages were not chained by their senders") for text in noted)


def test_a_stream_that_forgets_is_odd(server: NatsServer) -> None:
    """A limit on its age deletes the record from its beginning."""

    async def limit(js: JetStreamContext) -> None:
        info = await js.stream_info("VLINDER")
        info.config.max_age = 3600
        await js.update_stream(info.config)

    change(server, limit)
    odd, _ = jetstream.look(server.url, None)
    assert odd == ["the stream has max_age: the oldest of the record will be deleted"]


@pytest.mark.parametrize(("limit", "says"), [(300, "has max_consumers 300"), (-1, "2.15 on means 300")])
def test_a_stream_that_has_hardly_room_for_consumers_is_worth_a_note(
    server: NatsServer, limit: int, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server lists 256 of them at a time."""

    async def fill(js: JetStreamContext) -> None:
        info = await js.stream_info("VLINDER")
        info.config.max_consumers = limit
        await js.update_stream(info.config)
        for n in range(280):
            await js.add_consumer("VLINDER", ConsumerConfig(durable_name=f"d{n}", ack_policy=AckPolicy.EXPLICIT))

    change(server, fill)
    monkeypatch.setattr(jetstream, "CONSUMERS_MAX", 300)  # a thousand real ones are slow to end
    _, noted = jetstream.look(server.url, None)
    assert any(text.startswith("281 consumers are made") and says in text for text in noted)


def test_where_no_stream_is_there_is_nothing_to_look_at(capsys: pytest.CaptureFixture[str]) -> None:
    """The same where no server answers."""
    empty = NatsServer()
    assert doctor.examine(empty.url) == 2
    empty.close()
    assert doctor.examine(empty.url) == 2
    assert capsys.readouterr().out.count("there is nothing to look at") == 2
