"""Buses that mean harm, or are badly broken: each check ends in bounded time, with the right exit code, and leaves
no process. What is wrong before the first promise can be looked at is the adapter's fault, and decides nothing (2).
"""

import os
import shlex
import signal
import sys
import time
import uuid
from pathlib import Path

import pytest

from busproof import cli

ENDS_IN_S = 120  # on a machine with much else to do; most kinds need three
AFTER_ALL_S = 10.0

# -- kinds that no bus is behind: short programs with `take()` a request, `tell(bytes)` and `answer(request, result)`

BARE = """\
import json, os, signal, subprocess, sys, time
def take():
    line = sys.stdin.buffer.readline()
    if not line:
        sys.exit()
    return json.loads(line)
def tell(data):
    while data:
        data = data[os.write(1, data):]
def line_of(r, result):
    return json.dumps({"jsonrpc": "2.0", "id": r.get("id"), "result": result}).encode() + b"\\n"
def answer(r, result):
    tell(line_of(r, result))
"""
HELLO = {  # scheme → what a sound adapter answers first
    "exec": '{"protocol": "1", "name": "x", "version": "1", "language": "?", "systems": ["worker"], "nouns": ["log"]}',
    "mcp": '{"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {"name": "x", "version": "1"}}',
}
SLEEP = "time.sleep(600)\n"

BROKEN = {
    "exits at once": "sys.exit(0)",
    "kills itself": "os.kill(os.getpid(), signal.SIGKILL)",
    "stops itself": "os.kill(os.getpid(), signal.SIGSTOP)",
    "is silent": "time.sleep(600)",
    "closes stdin": "os.close(0); time.sleep(600)",
    "closes stdout": "os.close(1); time.sleep(600)",
    "closes all three": "os.closerange(0, 3); time.sleep(600)",
    "writes garbage": "take(); tell(b'hello, world\\n'); time.sleep(600)",
    "greets before it answers": "tell(b'my bus 1.0 is ready\\n')\nwhile True: answer(take(), HELLO)",
    "writes binary": "take()\nwhile True: tell(os.urandom(4096))",
    "writes UTF-16": "tell(line_of(take(), HELLO).decode().encode('utf-16')); time.sleep(600)",
    "writes one line without end": "take()\nwhile True: tell(b'x' * 1000000)",
    "floods lines before it is asked": "while True: tell(b'{}\\n' * 10000)",
    "floods lines in answer": 'take()\nwhile True: tell(b\'{"jsonrpc": "2.0", "method": "log"}\\n\' * 5000)',
    "floods stderr": "while True: os.write(2, b'x\\n' * 10000)",
    "floods one line of stderr": "while True: os.write(2, b'x' * 10000)",
    "writes half a line": "tell(line_of(take(), HELLO)[:40]); time.sleep(600)",
    "writes half a line and ends": "tell(line_of(take(), HELLO)[:40])",
    "drips": "take()\nwhile True: tell(b'{'); time.sleep(0.01)",
    "answers another id": "r = take(); r['id'] = 10**9; answer(r, {}); time.sleep(600)",
    "answers an id that is a list": "r = take(); r['id'] = [{}]; answer(r, {}); time.sleep(600)",
    "answers before the question": "tell(line_of({'id': 7}, HELLO) * 3); time.sleep(600)",
    "answers NaN": "r = take(); answer(r, {**HELLO, 'limits': {'n': float('nan')}}); time.sleep(600)",
    "nests deep": "take(); tell(b'[' * 200000 + b']' * 200000 + b'\\n'); time.sleep(600)",
    "nests deep in its answer": (
        "r = take(); tell(line_of(r, HELLO)[:-2] + b', \"deep\": ' + b'[' * 5000 + b']' * 5000 + b'}\\n'); " + SLEEP
    ),
    "answers a number of 10,000 digits": (
        "r = take(); tell(line_of(r, HELLO)[:-2] + b', \"n\": ' + b'9' * 10000 + b'}\\n'); " + SLEEP
    ),
    "answers half a character": "answer(take(), {**HELLO, 'name': '\\ud83d'}); time.sleep(600)",
    "answers no object": "while True: answer(take(), [])",
    "answers null": "while True: answer(take(), None)",
    "answers an error that is a word": (
        "while True: tell(json.dumps({'jsonrpc': '2.0', 'id': take()['id'], 'error': 'no'}).encode() + b'\\n')"
    ),
    "answers an error of odd parts": (
        "while True: tell(json.dumps({'jsonrpc': '2.0', 'id': take()['id'],"
        " 'error': {'code': [], 'data': [1], 'message': {}}}).encode() + b'\\n')"
    ),
    "answers each line twice": "while True: tell(line_of(take(), HELLO) * 2)",
    "reads its first line only": "answer(take(), HELLO); time.sleep(600)",
    "leaves a child with its pipes": "subprocess.Popen(['sleep', '600'])",
    "leaves a daemon with its pipes": "subprocess.Popen(['sleep', '600'], start_new_session=True)",
    "forks a crowd": "for _ in range(20): subprocess.Popen(['sleep', '600'], start_new_session=True)\ntime.sleep(600)",
    "ignores all signals and the end of its input": (
        "for s in set(signal.Signals) - {signal.SIGKILL, signal.SIGSTOP}: signal.signal(s, signal.SIG_IGN)\n"
        "time.sleep(600)"
    ),
}

# -- kinds with the reference behind them: `bus(line)` is its answer

BEHIND = (
    BARE
    + """\
from refbus.driver import Driver
from refbus.worker.bus import WorkerBus
driver = Driver({"worker": WorkerBus})
def bus(line):
    return json.dumps(driver.answer(line)).encode() + b"\\n"
def lines():
    return iter(sys.stdin.buffer.readline, b"")
"""
)
ACK = "cursor.ack_beyond_the_log"

MANNERED = {  # kind → program, what is played, exit code
    "ends its lines with CR LF": ("for l in lines(): tell(bus(l)[:-1] + b'\\r\\n')", ACK, 0),
    "ignores SIGTERM and the end of its input": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\nfor l in lines(): tell(bus(l))\ntime.sleep(600)",
        ACK,
        0,
    ),
    "refuses with escape sequences": (
        (
            "no = {'code': -32000, 'message': '\\x1b[2J\\ud83d\\nVALID'}\n"
            "def refusal(l): return json.dumps({'jsonrpc': '2.0', 'id': json.loads(l)['id'], 'error': no}).encode()\n"
            "for l in lines():\n    is_known = json.loads(l)['method'] in ('hello', 'open', 'close', 'clock.set')\n"
            "    tell(bus(l) if is_known else refusal(l) + b'\\n')"
        ),
        ACK,
        1,
    ),
}


@pytest.fixture
def mark(monkeypatch: pytest.MonkeyPatch) -> str:
    """What every process of this test has in its environment."""
    name = uuid.uuid4().hex
    monkeypatch.setenv("BUSPROOF_TEST_OF", name)
    return name


def still_there(mark: str) -> list[str]:
    """Command lines of processes with the mark that do not go by themselves; this one got it too late to show it."""
    deadline = time.monotonic() + AFTER_ALL_S
    while (left := [path for path in Path("/proc").glob("[0-9]*") if has(path, mark)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    found = []
    for path in left:
        found.append((path / "cmdline").read_bytes().decode(errors="replace"))
        os.kill(int(path.name), signal.SIGKILL)
    return found


def has(process: Path, mark: str) -> bool:
    """Is it one of ours?"""
    try:
        return mark.encode() in (process / "environ").read_bytes()
    except OSError:
        return False


def check(tmp_path: Path, system: str, scheme: str, program: str, item: str) -> int:
    """The exit code of `busproof check`, within the time."""
    path = tmp_path / "bus.py"
    path.write_text(program)
    command = shlex.join([sys.executable, str(path)])
    argv = ["check", system, "--bus", f"{scheme}:{command}", "--mixed-with", "none", "-j", "1"]
    started = time.monotonic()
    code = cli.main([*argv, *(["--only", item] if item else []), "--out", str(tmp_path / "out")])
    assert time.monotonic() - started < ENDS_IN_S
    return code


@pytest.mark.parametrize("scheme", HELLO)
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_adapter_decides_nothing(
    kind: str,
    scheme: str,
    tmp_path: Path,
    mark: str,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Exit 2, a word about it, the way to the doctor, and nothing left."""
    monkeypatch.setenv("BUSPROOF_PATIENCE", "0.05")
    system, item = {"exec": ("worker", ACK), "mcp": ("topics", "log.exchange")}[scheme]
    assert check(tmp_path, system, scheme, f"{BARE}HELLO = {HELLO[scheme]}\n{BROKEN[kind]}", item) == 2
    assert_plain(capfd.readouterr().err)
    assert still_there(mark) == []


def assert_plain(told: str) -> None:
    """One fault, in words; no traceback, nothing that acts on a terminal."""
    assert "busproof doctor" in told
    assert "a fault of busproof" not in told
    assert "Traceback" not in told
    assert told.replace("\n", "").isprintable()


@pytest.mark.parametrize("kind", MANNERED)
def test_a_bus_with_odd_manners_is_judged_by_its_promises(
    kind: str, tmp_path: Path, mark: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """Exit 0 where they are kept and 1 where one is broken; reports are written, and nothing is left."""
    program, item, code = MANNERED[kind]
    monkeypatch.setenv("BUSPROOF_PATIENCE", "0.5")
    assert check(tmp_path, "worker", "exec", BEHIND + program, item) == code
    told = capfd.readouterr()
    assert "Traceback" not in told.out + told.err
    assert "\x1b" not in told.out + told.err
    assert "\nVALID" not in told.out or code == 0
    assert (tmp_path / "out" / "report.html").exists()
    assert still_there(mark) == []
