"""The stdio door: one line in, one line out, whatever the line; and the process lives."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refbus import driver
from refbus.driver import Driver
from refbus.kernel import lines
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus

T0_MS = 1_768_053_600_000


class Door:
    """Calls a driver in this process, by lines."""

    def __init__(self, bus: type = WorkerBus) -> None:
        self.driver = Driver({"worker": bus})
        self._id = 0

    def line(self, line: bytes) -> dict[str, Any]:
        return json.loads(driver._encode(self.driver.answer(line)))  # type: ignore[no-any-return]

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self._id += 1
        request = {"jsonrpc": "2.0", "id": self._id, "method": method, "params": params}
        answer = self.line(json.dumps(request).encode())
        assert answer["id"] == self._id
        return answer.get("result") or answer.get("error") or {}


@pytest.fixture
def door(store: Path) -> Iterator[Door]:
    """A door, open on the store."""
    door = Door()
    assert door.call("hello", protocol=["1"], system="worker")["name"] == "refbus"
    assert door.call("open", store=str(store), options={}) == {}
    yield door
    door.call("close")


def test_hello_says_who_answers_and_what_it_can(door: Door) -> None:
    """All that is declared is offered."""
    hello = door.call("hello", protocol=["1", "2"])
    assert hello["protocol"] == "1"
    assert hello["systems"] == ["worker"]
    assert hello["clock"] == "manual"
    assert hello["limits"]["inline_payload_bytes_max"] == 4096
    assert {"seq", "fencing", "dump", "wait"} <= set(hello["features"])
    assert all(hasattr(WorkerBus, method) for method in WorkerBus.METHODS)


@pytest.mark.parametrize("params", [{"protocol": ["2"]}, {"protocol": "1"}, {"protocol": ["1"], "system": "comms"}])
def test_hello_refuses_what_it_does_not_speak(params: dict[str, Any]) -> None:
    """Definitely."""
    assert Door().call("hello", **params)["data"] == {"code": "INVALID_ARGUMENT", "definite": True}


def test_the_clock_stands_where_it_is_set_until_the_store_is_closed(door: Door, store: Path) -> None:
    """Then the next session starts on the wall clock."""
    door.call("clock.set", now_ms=T0_MS)
    door.call("publish", agent_id="alice", message={"type": "t"})
    door.call("close")
    door.call("open", store=str(store))
    door.call("publish", agent_id="alice", message={"type": "t"})
    first, second = door.call("poll", agent_id="bob")["messages"]
    assert first["ts_ms"] == T0_MS
    assert second["ts_ms"] != T0_MS
    for now_ms in (-1, True, 2**63, "1", None, 1.5):
        assert door.call("clock.set", now_ms=now_ms)["data"]["code"] == "INVALID_ARGUMENT"


def test_without_a_store_nothing_works(store: Path) -> None:
    """NOT_OPEN, definite; also after close, and after an open that failed."""
    door = Door()
    not_open = {"code": "NOT_OPEN", "definite": True}
    assert door.call("poll", agent_id="a")["data"] == not_open
    door.call("open", store=str(store))
    assert door.call("open", store="/nonexistent")["data"]["code"] == "INVALID_ARGUMENT"
    assert door.call("poll", agent_id="a")["data"] == not_open
    door.call("close")
    assert door.call("close") == {}


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"store": 5},
        {"store": None},
        {"options": {}},
        {"options": []},
        {"options": {"unknown": 1}},
        {"options": {"clock": 1}},
        {"options": {"unread_max": "x"}},
        {"options": None, "extra": 1},
    ],
)
def test_a_bad_open_is_refused(door: Door, store: Path, params: dict[str, Any]) -> None:
    """Unknown options, too."""
    if "options" in params:
        params = {"store": str(store), **params}
    if params != {"store": str(store), "options": {}}:
        assert door.call("open", **params)["data"] == {"code": "INVALID_ARGUMENT", "definite": True}


@pytest.mark.parametrize(
    ("line", "rpc", "answer_id"),
    [
        (b"\n", -32700, None),
        (b"{\n", -32700, None),
        (b"\xff\xfe\n", -32700, None),
        (b"nonsense\n", -32700, None),
        (b'{"jsonrpc": "2.0", "id": 7, "method": "poll", "params": {"limit": NaN}}\n', -32700, 7),
        (b'{"jsonrpc": "2.0", "id": "x", "method": "poll", "params": {"limit": 1e999}}\n', -32700, "x"),
        (b"[" * 100_000 + b"\n", -32700, None),
        (b"1" * 5000 + b"\n", -32700, None),
        (b'{"id": 1, "a": ' + b"[" * 300 + b"]" * 300 + b"}\n", -32700, 1),
        (b"[]\n", -32600, None),
        (b"5\n", -32600, None),
        (b"null\n", -32600, None),
        (b'"x"\n', -32600, None),
        (b"{}\n", -32600, None),
        (b'{"jsonrpc": "2.0", "method": "poll"}\n', -32600, None),
        (b'{"jsonrpc": "1.0", "id": 1, "method": "poll"}\n', -32600, 1),
        (b'{"jsonrpc": "2.0", "id": true, "method": "poll"}\n', -32600, None),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 5}\n', -32600, 1),
        (b'{"jsonrpc": "2.0", "id": 1}\n', -32600, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "poll", "params": []}\n', -32602, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "poll", "params": {"nope": 1}}\n', -32602, 1),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "poll"}\n', -32602, 1),
    ],
)
def test_every_bad_line_is_answered(door: Door, line: bytes, rpc: int, answer_id: Any) -> None:
    """With JSON-RPC's number, the bus's code, and a promise that nothing happened."""
    answer = door.line(line)
    assert answer["id"] == answer_id
    assert answer["error"]["code"] == rpc
    assert answer["error"]["data"] == {"code": "INVALID_ARGUMENT", "definite": True}


@pytest.mark.parametrize("method", ["nope", "__init__", "close_", "process", "db", "deliver", "hello.there", "\ud800"])
def test_only_the_protocols_methods_can_be_called(door: Door, method: str) -> None:
    """Nothing else of the object."""
    error = door.call(method)
    assert error["code"] == -32601
    assert error["data"] == {"code": "METHOD_NOT_FOUND", "definite": True}


def test_a_fault_of_the_program_is_an_answer_too(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Not definite, and its traceback is for humans."""

    class Faulty(WorkerBus):
        def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
            raise RuntimeError("a bug")

        def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
            return {"x": self.db.connection().execute("SELECT nonsense")}

    door = Door(Faulty)
    door.call("open", store=str(store))
    error = door.call("poll", agent_id="a")
    assert error["data"] == {"code": "INTERNAL", "definite": False} and "bug" not in error["message"]
    assert "a bug" in capsys.readouterr().err
    assert door.call("ack", agent_id="a", seq=0)["data"] == {"code": "INTERNAL", "definite": False}
    door.call("close")


def test_strangers_bytes_are_shown_as_text(door: Door) -> None:
    """A reply is always JSON."""
    bus = door.driver._bus
    bus.db.write("INSERT INTO messages (id, ts_ms, from_agent, type) VALUES ('x', 1, x'ff41', 't')")
    assert door.call("poll", agent_id="a")["messages"][0]["from_agent"] == "\ufffdA"
    assert driver._readable(5) == "5"


def test_a_line_that_is_too_long_is_skipped_whole(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The next one is read from its start."""
    for module in (driver, lines):
        monkeypatch.setattr(module, "LINE_BYTES_MAX", 10)
    path = tmp_path / "lines"
    path.write_bytes(b"x" * 35 + b"\n" + b"short\n" + b"y" * 11)
    with path.open("rb") as file:
        assert len(lines.read_line(file)) == 11
        assert lines.read_line(file) == b"short\n"
        assert len(lines.read_line(file)) == 11
        assert lines.read_line(file) == b""
    answer = Door().line(b"z" * 11)
    assert answer["error"]["data"] == {"code": "PAYLOAD_TOO_LARGE", "definite": True}


def test_the_real_process_lives_through_all_of_it(store: Path) -> None:
    """Over its own pipes, a stray print and 10 MB included; EOF ends it."""
    program = (
        "from refbus.driver import serve\n"
        "from refbus.worker.bus import WorkerBus\n"
        "class Chatty(WorkerBus):\n"
        "    def liveness(self):\n"
        "        print('stray')\n"
        "        return super().liveness()\n"
        "serve({'worker': Chatty})\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout

        def call(line: bytes) -> dict[str, Any]:
            process.stdin.write(line + b"\n")  # type: ignore[union-attr]
            process.stdin.flush()  # type: ignore[union-attr]
            return json.loads(process.stdout.readline())  # type: ignore[union-attr, no-any-return]

        def request(method: str, params: str) -> bytes:
            return f'{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}'.encode()

        assert "error" in call(b"garbage")
        assert call(request("open", json.dumps({"store": str(store)})))["result"] == {}
        large = json.dumps({"agent_id": "a", "message": {"type": "t", "payload": "x" * 10_000_000}})
        assert call(request("publish", large))["error"]["data"]["code"] == "PAYLOAD_TOO_LARGE"
        assert call(request("liveness", "{}"))["result"] == {"agents": []}
        assert call(request("publish", '{"agent_id": "a", "message": {"type": "t"}}'))["result"]["seq"] == 1
        process.stdin.close()
        assert process.wait(30) == 0
        assert process.stderr
        assert process.stderr.read() == b"stray\n"


def test_the_module_answers_lines_until_the_input_ends(store: Path) -> None:
    """In this process, with pipes in place of its own input and output."""
    saved = os.dup(0), os.dup(1)
    line = b'{"jsonrpc":"2.0","id":1,"method":"hello","params":{"protocol":["1"]}}\n'
    reader, writer = os.pipe()
    out_reader, out_writer = os.pipe()
    os.write(writer, line * 2)
    os.close(writer)
    try:
        os.dup2(reader, 0)
        os.dup2(out_writer, 1)
        runpy.run_path(driver.__file__, run_name="__main__")
    finally:
        for fd, number in zip(saved, (0, 1), strict=True):
            os.dup2(fd, number)
            os.close(fd)
        os.close(reader)
        os.close(out_writer)
    with os.fdopen(out_reader, "rb") as answers:
        assert [json.loads(answer)["result"]["name"] for answer in answers] == ["refbus", "refbus"]


def test_every_code_is_unique_and_says_whether_it_happened() -> None:
    """The tree at the top of errors.py."""
    kinds = BusError.__subclasses__()
    assert len({kind.code for kind in kinds}) == len(kinds)
    assert {kind.code for kind in kinds if not kind.definite} == {
        "IO_ERROR",
        "CORRUPT",
        "INTERNAL",
        "TIMEOUT",
        "UNREACHABLE",
    }
    assert BusError("x", definite=True).definite
