"""Buses that mean harm, or are badly broken: each check ends in bounded time, with the right exit code, and leaves
no process. A fault before the first promise can be looked at is the adapter's, and decides nothing (2).
"""

import os
import shlex
import signal
import sys
import time
import uuid
import xml.etree.ElementTree as ET
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from busproof import cli
from busproof.pages.report import lines

ENDS_IN_S = 600  # guards against a hang, on a machine with much else to do; most kinds need three
AFTER_ALL_S = 60.0

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
HELLO = {  # scheme → a sound adapter's first answer
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

# -- kinds with the reference behind them: its lines go through `manner`, which may also be told to others by `tell`

BEHIND = (
    BARE
    + """\
import atexit, threading
behind = subprocess.Popen([sys.executable, "-m", MODULE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
calls = 0
def manner(line):
    return line
MANNERS
def ask():
    for line in iter(sys.stdin.buffer.readline, b""):
        behind.stdin.write(line)
        behind.stdin.flush()
    behind.stdin.close()
threading.Thread(target=ask, daemon=True).start()
for line in iter(behind.stdout.readline, b""):
    calls += 1
    tell(manner(line))
"""
)
ITEM = {  # scheme → system, the reference's program, the item that is played
    "exec": ("worker", "refbus.driver", "cursor.ack_beyond_the_log"),
    "mcp": ("topics", "refbus.topics.mcp.server", "log.exchange"),
    "files": ("relay", "", "relay.log.01"),
    "nats:exec": ("timeline", "", "corpus"),
}

MANNERED = {  # kind → manners, exit code: 0 where the promises are seen to be kept, 2 where nothing can be decided
    "ends its lines with CR LF": ("def manner(line): return line[:-1] + b'\\r\\n'", 0),
    "begins its lines with a byte order mark": ("def manner(line): return b'\\xef\\xbb\\xbf' + line", 0),
    "answers in pieces": ("def manner(line):\n    for byte in line[:-1]: tell(bytes([byte]))\n    return line[-1:]", 0),
    "answers each line twice": ("def manner(line): return line * 2", {"exec": 2, "mcp": 0}),
    "tells news before each answer": (
        'def manner(line): return b\'{"jsonrpc": "2.0", "method": "notifications/message"}\\n\' + line',
        {"exec": 2, "mcp": 0},
    ),
    "has NaN in its answers": ("def manner(line): return line[:-2] + b', \"n\": NaN}\\n'", 2),
    "dies at every fourth call": (
        "def manner(line):\n    if calls % 4 == 0: behind.kill(); os._exit(1)\n    return line",
        {"exec": 1, "mcp": 2},
    ),
    "writes to stderr all the time": (
        (
            "def chatter():\n    while True: os.write(2, b'x\\n' * 1000); time.sleep(0.001)\n"
            "threading.Thread(target=chatter, daemon=True).start()"
        ),
        0,
    ),
    "leaves a daemon with its pipes": ("subprocess.Popen(['sleep', '600'], start_new_session=True)", 0),
    "ignores SIGTERM and the end of its input": (
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\natexit.register(time.sleep, 600)",
        0,
    ),
    "refuses with escape sequences and a script": (
        (
            "import re\n"
            "def manner(line):\n"
            "    told = json.loads(line)\n"
            "    no = '\\x1b[2J\\ud83d\\nVALID<script>alert(1)</script>'\n"
            "    error = {'code': -32000, 'message': no}\n"
            "    if 'seq' in told.get('result', {}): told = {'id': told['id'], 'error': error}\n"
            "    if 'structuredContent' in told.get('result', {}):\n"
            "        told['result'] = {'isError': True, 'content': [{'type': 'text', 'text': no}],\n"
            "                          'structuredContent': {'error': {'code': 'NO', 'message': no}}}\n"
            "    return json.dumps({'jsonrpc': '2.0', **told}).encode() + b'\\n'"
        ),
        1,
    ),
}


def still_there(mark: str) -> list[str]:
    """Command lines of processes with the mark that do not go by themselves; this one got it too late to show it."""
    deadline = time.monotonic() + AFTER_ALL_S
    while (left := [path for path in Path("/proc").glob("[0-9]*") if has(path, mark)]) and time.monotonic() < deadline:
        time.sleep(0.05)
    commands = []
    for path in left:
        commands.append((path / "cmdline").read_bytes().decode(errors="replace"))
        os.kill(int(path.name), signal.SIGKILL)
    return commands


def has(process: Path, mark: str) -> bool:
    """Is it one of ours?"""
    try:
        return mark.encode() in (process / "environ").read_bytes()
    except OSError:
        return False


# -- the reference on a clock that lies. The promise that tells the time is broken, and no other.

LYING = """\
import itertools, runpy, time
from refbus.kernel.clock import Clock
true_ms, calls = Clock.now_ms, itertools.count()
Clock.now_ms = lambda self: LIE
Clock.now_us = lambda self: 1000 * self.now_ms()
runpy.run_module(MODULE, run_name="__main__")
"""
OF_TIME = {"exec": "worker.log.13", "mcp": "topics.log.38"}  # scheme → the row that tells the time, by log.fields

CLOCKS = {  # kind → its time instead; where the kit cannot set a clock, the machine's is the true one
    "follows the machine and not what it was told": ("time.time_ns() // 1_000_000", {"exec": 1, "mcp": 0}),
    "is an hour ahead": ("true_ms(self) + 3_600_000", 1),
    "stands still for ever": ("10**12", 1),
    "goes backwards at every look": ("true_ms(self) - 60_000 * next(calls)", 1),
}


@dataclass(frozen=True)
class Trial:
    """One run of `busproof check` on a program, within the time; every process of it has the mark."""

    folder: Path
    mark: str
    monkeypatch: pytest.MonkeyPatch
    capfd: pytest.CaptureFixture[str]

    def check(self, system: str, scheme: str, program: str, *items: str, patience: float | None = None) -> int:
        """The exit code."""
        if patience is not None:
            self.monkeypatch.setenv("BUSPROOF_PATIENCE", str(patience))
        path = self.folder / "bus.py"
        path.write_text(program)
        command = shlex.join([sys.executable, str(path)])
        argv = ["check", system, "--bus", f"{scheme}:{command}", "--mixed-with", "none", "-j", "1"]
        started = time.monotonic()
        code = cli.main([*argv, *(f"--only={item}" for item in items if item), "--out", str(self.folder / "out")])
        assert time.monotonic() - started < ENDS_IN_S
        return code

    def ended(
        self, expected: int | dict[str, int], scheme: str, program: str, *items: str, **how: Any
    ) -> tuple[int, str]:
        """Expect this exit code (of this scheme), no traceback, and nothing left; return it and the output."""
        system, module, item = ITEM[scheme]
        code = self.check(system, scheme, program.replace("MODULE", repr(module)), item, *items, **how)
        output = self.capfd.readouterr()
        assert code == (expected if isinstance(expected, int) else expected[scheme]), output
        assert "Traceback" not in output.out + output.err
        assert "\x1b" not in output.out + output.err
        assert "\nVALID" not in output.out or code == 0
        assert still_there(self.mark) == []
        return code, output.err

    def assert_decides_nothing(self, scheme: str, program: str) -> None:
        """Exit 2, and one fault, in words, with nothing that acts on a terminal."""
        _, errors = self.ended(2, scheme, program, patience=0.05)
        assert "busproof doctor" in errors
        assert "a fault of busproof" not in errors
        assert errors.replace("\n", "").isprintable()


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Trial:
    """In a folder of its own."""
    mark = uuid.uuid4().hex
    monkeypatch.setenv("BUSPROOF_TEST_OF", mark)
    return Trial(tmp_path, mark, monkeypatch, capfd)


@pytest.mark.parametrize("scheme", HELLO)
@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_adapter_decides_nothing(kind: str, scheme: str, trial: Trial) -> None:
    """Exit 2, a word about it, the way to the doctor, and nothing left."""
    trial.assert_decides_nothing(scheme, f"{BARE}HELLO = {HELLO[scheme]}\n{BROKEN[kind]}")


WITHOUT_WORDS = (  # those of BROKEN that suit a program without a dialogue in lines
    *("exits at once", "kills itself", "is silent", "closes all three", "floods stderr"),
    *("leaves a daemon with its pipes", "forks a crowd", "ignores all signals and the end of its input"),
)


@pytest.mark.nightly
@pytest.mark.parametrize("scheme", ["files", "nats:exec"])
@pytest.mark.parametrize("kind", WITHOUT_WORDS)
def test_a_broken_program_behind_files_or_nats_leaves_nothing(kind: str, scheme: str, trial: Trial) -> None:
    """An orchestrator without a ledger and an adapter that does not answer cannot be judged."""
    trial.assert_decides_nothing(scheme, f"{BARE}{BROKEN[kind]}")


@pytest.mark.parametrize("scheme", ["exec", pytest.param("mcp", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", MANNERED)
def test_a_bus_with_odd_manners_is_judged_by_its_promises(kind: str, scheme: str, trial: Trial) -> None:
    """Exit 0 where they are kept and 1 where one is broken; reports are written, and nothing is left."""
    manners, expected = MANNERED[kind]
    code, _ = trial.ended(expected, scheme, BEHIND.replace("MANNERS", manners), patience=0.5)
    if code != 2:
        page = (trial.folder / "out" / "report.html").read_text(encoding="utf-8")
        assert "<script>alert" not in page
        assert not set(map(chr, range(32))) & set(page) - {"\n"}
        assert ("&lt;script&gt;alert" in page) == ("script" in kind)
        ET.parse(trial.folder / "out" / "junit.xml")


@pytest.mark.parametrize("scheme", ["exec", pytest.param("mcp", marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", CLOCKS)
def test_a_clock_that_lies_breaks_the_promises_of_time_alone(kind: str, scheme: str, trial: Trial) -> None:
    """Exit 1, and nothing waits for a moment that never comes."""
    lie, expected = CLOCKS[kind]
    code, _ = trial.ended(expected, scheme, LYING.replace("LIE", lie), "log.fields")
    report = lines.load(trial.folder / "out" / "report.jsonl")
    assert report.footer["failed"] == [OF_TIME[scheme]] * code
