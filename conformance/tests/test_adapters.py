"""The doors: how a call can end, over a process, in this process, and on the file itself."""

import copy
import os
import shlex
import signal
import sys
import time
from pathlib import Path

import pytest

from busproof.bus import child as child_module
from busproof.bus.base import NESTED_MAX, Lost, Malformed, Refused, parsed
from busproof.bus.child import Child, Household
from busproof.bus.fleet import BusSpecError, Fleet, open_door, reference
from busproof.bus.mcp import McpDoor
from busproof.bus.python import PythonDoor
from busproof.bus.session import Session
from busproof.bus.sqlite import SqliteDoor
from busproof.bus.stdio import StdioDoor
from busproof.contract import HelloReply
from busproof.contract.history import Recorder, read
from busproof.oracle.models.spec import same_json
from busproof.play.explore import corpus
from busproof.play.explore.script import resolve
from busproof.systems import SYSTEMS


def program(tmp_path: Path, body: str) -> StdioDoor:
    """A door to a small adapter; `r` is the request."""
    path = tmp_path / "adapter.py"
    path.write_text(f"import sys, json, time\nfor line in sys.stdin:\n    r = json.loads(line)\n    {body}\n")
    return StdioDoor([sys.executable, str(path)])


def answer(text: str) -> str:
    """Python that answers with this JSON."""
    return f"print(json.dumps({{'jsonrpc': '2.0', 'id': r['id'], {text}}}), flush=True)"


def test_an_error_without_a_promise_is_not_definite(tmp_path: Path) -> None:
    """Only `definite: true` says that nothing happened; JSON-RPC's own errors come before any work."""
    for error, definite in (
        ("{'code': -32000, 'message': 'no'}", False),
        ("{'code': -32000, 'message': 'no', 'data': {'code': 'X', 'definite': True}}", True),
        ("{'code': -32601, 'message': 'no method'}", True),
    ):
        door = program(tmp_path, answer(f"'error': {error}"))
        with pytest.raises(Refused) as refused:
            door.call("poll", {})
        assert refused.value.definite is definite
        door.close()


@pytest.mark.parametrize(
    "body",
    [
        "raise SystemExit(3)",
        "time.sleep(60)",
        "print('no JSON', flush=True)",
        "print('[]', flush=True)",
        "print(json.dumps({'jsonrpc': '2.0', 'id': 999, 'result': {}}), flush=True)",
        "print(json.dumps({'jsonrpc': '2.0', 'id': r['id'], 'result': 7}), flush=True)",
    ],
)
def test_no_understandable_answer_is_lost(tmp_path: Path, body: str) -> None:
    """EOF, a time-out, junk, another id, no object: it may or may not have happened."""
    door = program(tmp_path, body)
    with pytest.raises(Lost):
        door.call("publish", {}, timeout_s=1)
    door.kill()


def test_a_killed_session_stays_lost_and_kill_is_idempotent(tmp_path: Path) -> None:
    """Every later call ends at once."""
    door = program(tmp_path, answer("'result': {}"))
    assert door.call("close", {}) == {}
    door.kill()
    door.kill()
    with pytest.raises(Lost):
        door.call("close", {})


def test_a_malformed_answer_says_what_was_sent_expected_and_got(tmp_path: Path) -> None:
    """And where it is documented; the history holds the answer."""
    door = program(tmp_path, answer("'result': {'messages': [{'seq': 'one'}]}"))
    recorder = Recorder(tmp_path / "history.jsonl", run="t", system="worker")
    session = Session(door, recorder, process=0, agent="a")
    with pytest.raises(Malformed, match=r"docs/protocol/worker.md#poll describes: messages.0.seq: .*sent .*got "):
        session.call("poll")
    recorder.close()
    door.close()
    assert [event.type for event in read(tmp_path / "history.jsonl")] == ["header", "invoke", "ok", "footer"]


class InProcess:
    """A bus in this process, for py:module:factory."""

    def hello(self, protocol: list[str], system: str) -> dict[str, object]:
        return {"name": "in-process"}

    def ack(self, agent_id: str, seq: int) -> None:
        error = ValueError("no such seq")
        error.code, error.definite = "INVALID_ARGUMENT", True  # type: ignore[attr-defined]
        raise error


def test_a_python_object_is_a_door() -> None:
    """Its methods are the protocol's; an exception's code and definite are the error."""
    door = PythonDoor(InProcess())
    assert door.call("hello", {"protocol": ["1"], "system": "worker"}) == {"name": "in-process"}
    with pytest.raises(Refused) as refused:
        door.call("ack", {"agent_id": "a", "seq": 1})
    assert (refused.value.code, refused.value.definite) == ("INVALID_ARGUMENT", True)
    with pytest.raises(Refused) as missing:
        door.call("poll", {})
    assert missing.value.rpc == -32601


def test_the_kit_joins_the_file_of_the_reference(tmp_path: Path) -> None:
    """Each reads the other's writes, blobs and cursors included."""
    fleet = Fleet([reference("worker"), "sqlite:"], system="worker")
    bus, kit = fleet.door(0, tmp_path, {}), fleet.door(1, tmp_path, {})
    large = {"text": "x" * 9000}
    bus.call("publish", {"agent_id": "a", "message": {"id": "m1", "type": "t", "payload": large}})
    kit.call("publish", {"agent_id": "a", "message": {"id": "m2", "type": "t", "payload": [large]}})
    for door in (bus, kit):
        rows = door.call("poll", {"agent_id": "b"})["messages"]
        assert [(row["id"], row["payload"]) for row in rows] == [("m1", large), ("m2", [large])]
    kit.call("ack", {"agent_id": "b", "seq": 1})
    assert [row["id"] for row in bus.call("poll", {"agent_id": "b"})["messages"]] == ["m2"]
    for door in (bus, kit):
        fleet.give_back(door, retired=False)
    fleet.close()


def test_the_kits_participant_refuses_what_the_seed_does_not_know(tmp_path: Path) -> None:
    """Definitely, and without a store nothing works."""
    door = SqliteDoor()
    with pytest.raises(Refused, match="NOT_OPEN"):
        door.call("poll", {"agent_id": "a"})
    door.call("hello", {"protocol": ["1"], "system": "worker"})
    door.call("open", {"store": str(tmp_path), "options": {}})
    for method, params in (
        ("ack", {"agent_id": "a", "seq": 7}),
        ("publish", {"agent_id": "a", "message": {}}),
        ("poll", {}),
    ):
        with pytest.raises(Refused) as refused:
            door.call(method, params)
        assert refused.value.definite
    door.close()


@pytest.mark.parametrize("spec", ["", "exec:", "http://x", "exec:/no/such/program"])
def test_what_is_no_bus_is_said_to_be_none(spec: str) -> None:
    """With the grammar in the message."""
    with pytest.raises(BusSpecError):
        open_door(spec)


def test_an_mcp_server_that_ends_is_lost_and_has_refused_nothing(tmp_path: Path) -> None:
    """Nobody knows what became of the call; an error would be the server's own word."""
    door = open_door(reference("topics"))
    assert isinstance(door, McpDoor)
    try:
        door.get_ready("topics")
        door.call("open", {"store": str(tmp_path), "options": {}})
        topic = door.call("topic_create", {"name": "work"})
        assert door.pid is not None
        os.kill(door.pid, signal.SIGKILL)
        with pytest.raises(Lost):
            door.call("topic_close", {"topic_id": topic["topic_id"]})
    finally:
        door.kill()


def left_behind(tmp_path: Path) -> list[Path]:
    """Programs whose process, named in a file, still runs; one that has ended may wait to be reaped."""
    return [path for path in tmp_path.glob("*.pid") if os.path.exists(f"/proc/{path.read_text()}/exe")]


LEAVES_ONE = """\
import pathlib, subprocess, sys
left = subprocess.Popen(["sleep", "300"], start_new_session=True)
pathlib.Path(sys.argv[1], "left.pid").write_text(str(left.pid))
"""


def program_of(tmp_path: Path, text: str) -> str:
    """The command of a small program that is told the folder."""
    path = tmp_path / "program.py"
    path.write_text(text)
    return shlex.join([sys.executable, str(path), str(tmp_path)])


@pytest.mark.parametrize("scheme", ["exec", "mcp"])
@pytest.mark.parametrize("ends", ["kill", "close"])
def test_a_process_that_is_left_with_the_pipes_is_ended_and_holds_nobody_up(
    tmp_path: Path, scheme: str, ends: str
) -> None:
    """It has a session of its own, and so escapes a kill of the group; it holds stdout, whose end never comes."""
    answer_all = (
        "import json\nfor line in sys.stdin:\n    r = json.loads(line)\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': r.get('id'), 'result': {}}), flush=True)\n"
    )
    household = Household()
    door = open_door(f"{scheme}:{program_of(tmp_path, LEAVES_ONE + answer_all)}", household.spawn)
    door.get_ready("topics")
    started = time.monotonic()
    getattr(door, ends)()
    assert time.monotonic() - started < 20
    assert len(left_behind(tmp_path)) == 1
    assert household.end() == ["sleep 300"]
    assert household.end() == []


def test_a_bus_that_ends_and_leaves_its_pipe_to_another_process_is_lost_at_once(tmp_path: Path) -> None:
    """No end of file comes, and nobody waits for the whole time."""
    household = Household()
    door = open_door(f"exec:{program_of(tmp_path, LEAVES_ONE)}", household.spawn)
    started = time.monotonic()
    with pytest.raises(Lost, match="ended before it answered"):
        door.call("hello", {}, timeout_s=300)
    assert time.monotonic() - started < 60
    door.kill()
    household.end()


@pytest.mark.parametrize("scheme", ["exec", "mcp"])
def test_a_bus_that_stops_reading_is_lost_when_the_time_is_over(tmp_path: Path, scheme: str) -> None:
    """A pipe takes 64 kB; the rest has the call's time."""
    answers_once = (
        "import json, sys, time\nr = json.loads(sys.stdin.readline())\n"
        "print(json.dumps({'jsonrpc': '2.0', 'id': r['id'], 'result': {}}), flush=True)\ntime.sleep(300)\n"
    )
    door = open_door(f"{scheme}:{program_of(tmp_path, answers_once)}")
    door.get_ready("topics")
    started = time.monotonic()
    with pytest.raises(Lost, match="stopped reading"):
        door.call("sync", {"outbox": "x" * 1_000_000}, timeout_s=1)
    assert time.monotonic() - started < 60
    door.kill()


@pytest.mark.parametrize("environment", ["None", "{}"], ids=["marked", "cleared"])
def test_a_fleet_ends_what_its_buses_left_running_and_tells_it(
    environment: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """However its doors ended, and though what is left has cleared its environment."""
    hello = HelloReply(protocol="1", name="x", version="1", language="python", systems=["worker"], nouns=[])
    serve = (
        "import json\nfor line in sys.stdin:\n    r = json.loads(line)\n    print(json.dumps("
        f"{{'jsonrpc': '2.0', 'id': r['id'], 'result': {hello.model_dump()}}}), flush=True)\n"
    )
    leaves = LEAVES_ONE.replace("=True", f"=True, env={environment}")
    Fleet([f"exec:{program_of(tmp_path, leaves + serve)}"], system="worker").close()
    assert left_behind(tmp_path) == []
    assert "left 1 process running" in capfd.readouterr().err


def test_a_server_with_a_format_of_its_own_declares_no_sqlite(tmp_path: Path) -> None:
    """Its file at AGENT_BUS_DB may have any content."""
    serve = (
        "import json, os, sys\nopen(os.environ['AGENT_BUS_DB'], 'w').write('no database\\n' * 99)\n"
        "for line in sys.stdin:\n    r = json.loads(line)\n"
        "    result = {'structuredContent': {}}\n"
        "    print(json.dumps({'jsonrpc': '2.0', 'id': r.get('id'), 'result': result}), flush=True)\n"
    )
    door = open_door(f"mcp:{program_of(tmp_path, serve)}")
    try:
        assert door.call("hello", {"system": "topics"})["features"] == []
    finally:
        door.close()


@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a": ', "}")])
def test_an_answer_is_let_in_as_deep_as_it_can_be_judged(opens: str, closes: str) -> None:
    """And no deeper: comparing, copying and resolving go as deep as the door."""

    def nested(depth: int) -> bytes:
        return (opens * depth + "1" + closes * depth).encode()

    value = parsed(nested(NESTED_MAX))
    assert same_json(value, resolve(copy.deepcopy(value), {}))
    for depth in (NESTED_MAX + 1, 100_000):
        with pytest.raises(ValueError, match="nested too deep"):
            parsed(nested(depth))


def test_a_long_answer_is_not_a_deep_one() -> None:
    """However many members it has."""
    assert parsed(b"[" + b"[1]," * 3000 + b"{}]")[-1] == {}


def test_what_a_process_has_not_read_yet_is_known() -> None:
    """It waits until it is told by a signal; then it reads all."""
    code = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print("up", flush=True)
signal.sigwait({signal.SIGUSR1})
print(len(input()), flush=True)
"""
    child = Child([sys.executable, "-c", code])
    try:
        assert child.read_line("its start") == b"up\n"
        child.write_line(b"12345")
        assert child.unread_bytes == 6
        os.kill(child.pid, signal.SIGUSR1)
        assert child.read_line("the length") == b"5\n"
        assert child.unread_bytes == 0
    finally:
        child.close()
    assert child.unread_bytes == 0


def test_an_answer_that_is_too_long_is_no_end_of_the_bus(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is told for what it is."""
    monkeypatch.setattr(child_module, "LINE_BYTES_MAX", 1 << 20)
    child = Child([sys.executable, "-c", "print('x' * (3 << 20))"])
    try:
        with pytest.raises(Lost, match="the answer to dump is longer than 1 MiB"):
            child.read_line("dump")
    finally:
        child.close()


LOSES_THE_ID = """
import json, sys
for line in sys.stdin:
    print(json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON"}}), flush=True)
"""


def test_only_a_line_that_is_no_json_may_be_answered_without_its_id(tmp_path: Path) -> None:
    """A strict parser cannot read the id of a line with NaN or half a surrogate; that of any other it can."""
    path = tmp_path / "strict.py"
    path.write_text(LOSES_THE_ID)
    door = StdioDoor([sys.executable, str(path)])
    for odd in (float("nan"), [float("inf")], "\ud800"):
        with pytest.raises(Refused) as refused:
            door.call("publish", {"payload": odd})
        assert refused.value.definite
    for good in (1.5, "NaN", "\U0001f600"):
        with pytest.raises(Lost):
            door.call("publish", {"payload": good})
    door.kill()


STRICT = """
import json, subprocess, sys
bus = subprocess.Popen([sys.executable, "-m", "refbus.driver"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
for line in sys.stdin.buffer:
    if b"NaN" in line or b"Infinity" in line:
        data = {"code": "PARSE_ERROR", "definite": True}
        answer = {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": "no JSON", "data": data}}
        print(json.dumps(answer), flush=True)
        continue
    bus.stdin.write(line)
    bus.stdin.flush()
    sys.stdout.buffer.write(bus.stdout.readline())
    sys.stdout.flush()
"""


def test_a_strict_parsers_refusal_of_nan_is_the_one_that_the_model_wants(tmp_path: Path) -> None:
    """Whatever code it has of its own: the line never came as far as the bus."""
    path = tmp_path / "strict.py"
    path.write_text(STRICT)
    fleet = Fleet([f"exec:{sys.executable} {path}"], system="worker")
    try:
        specification = SYSTEMS["worker"].model
        assert specification is not None
        replay = corpus.replay(fleet, specification, corpus.scripts("worker", only=["values"]))
    finally:
        fleet.close()
    assert {name: str(played.mismatch) for name, played in replay.broken.items()} == {}
