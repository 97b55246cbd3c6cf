"""An end that a signal handler may ask for, and the waits that it cuts short."""

from __future__ import annotations

import os
import queue
import shlex
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from refbus import cli
from refbus.kernel.beats import Beats
from refbus.kernel.errors import BusError, DiskFull
from refbus.kernel.stop import Stop
from refbus.timeline.bus import TimelineBus
from refbus.worker.bus import WorkerBus

LONG_S = 60.0
DAY_S = 24 * 60 * 60
NIGHTLY = pytest.mark.nightly
PROGRAMS = {  # that go on until they are told to end; the first two have handlers of their own
    "relay run": "relay --root {} run --no-watch",
    "hold": "worker --store {} hold --as alice task -- sleep 0.2",
    "worker heartbeat": "worker --store {} heartbeat --as alice --every 0.01 working",
    "comms heartbeat": "comms --project {} heartbeat --as alice --every 0.01 active",
    "tail": "worker --store {} tail",
    "export": "worker --store {} export --follow",
    "work": "timeline --store {} work request service=s -- true",
    "serve": "topics --db {}/topics.db serve",
    "web": "topics --db {}/topics.db web --port 0",
}
HANDLERS = "relay run", "hold"


def test_a_ring_ends_one_wait_and_no_pause() -> None:
    """A ring before the wait is heard, too; the end is heard by both."""
    stop = Stop()
    stop.ring()
    stop.wait(LONG_S)
    began = time.monotonic()
    threading.Timer(0.05, stop.ring).start()
    stop.pause(0.2)
    assert time.monotonic() - began >= 0.2
    threading.Timer(0.05, stop.set).start()
    stop.pause(LONG_S)
    stop.wait(LONG_S)
    assert stop.is_set()
    assert time.monotonic() - began < LONG_S


def test_more_rings_than_a_pipe_holds_block_nobody() -> None:
    stop = Stop()
    for _ in range(100_000):
        stop.ring()
    stop.wait(LONG_S)


def test_a_process_with_many_open_files_can_wait() -> None:
    """Descriptors above 1,023."""
    many = [os.dup(1) for _ in range(1_100)]
    try:
        stop = Stop()
        stop.ring()
        stop.wait(LONG_S)
    finally:
        for descriptor in many:
            os.close(descriptor)


@pytest.mark.parametrize(
    ("program", "signal", "places"),
    [
        *((program, "SIGTERM", 20) for program in HANDLERS),
        *(pytest.param(name, signal, 300, marks=NIGHTLY) for name in HANDLERS for signal in ("SIGINT", "SIGHUP")),
        *(pytest.param(name, "SIGTERM", 5_000, marks=NIGHTLY) for name in HANDLERS),
        *(pytest.param(name, "SIGINT", 50, marks=NIGHTLY) for name in PROGRAMS if name not in HANDLERS),
    ],
)
def test_a_signal_at_any_place_ends_a_program(tmp_path: Path, program: str, signal: str, places: int) -> None:
    """Also while the main thread waits: a handler that needs a lock would wait for itself."""
    WorkerBus(tmp_path).close()  # `export` and `tail` make no store, and would end by themselves
    signalled = Path(__file__).with_name("signalled.py")
    words = PROGRAMS[program].format(tmp_path).split()
    command = [sys.executable, str(signalled), signal, str(places), str(tmp_path), "--", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


# -- closed files


def test_a_program_whose_files_are_closed_ends_or_waits(tmp_path: Path) -> None:
    """All three are. `serve` has no client and ends; the others go on, use no processor, and end when they are told."""
    running: dict[str, subprocess.Popen[bytes]] = {}
    WorkerBus(tmp_path).close()  # `export` and `tail` make no store, and would end by themselves
    for name, words in PROGRAMS.items():
        command = words.format(tmp_path).replace("0.01", "0.5").replace("sleep 0.2", "sleep 60")
        closed = f"exec {shlex.quote(sys.executable)} -m refbus {command} 0<&- 1>&- 2>&-"
        running[name] = subprocess.Popen(["sh", "-c", closed])
    try:
        assert running.pop("serve").wait(LONG_S) == 0
        for name, program in running.items():
            _comes_to_rest(program.pid)
            assert program.poll() is None, name
            assert {os.readlink(f"/proc/{program.pid}/fd/{number}") for number in range(3)} == {os.devnull}, name
            program.terminate()
        assert {name: program.wait(LONG_S) for name, program in running.items()} == {
            name: {"relay run": 0, "hold": 143}.get(name, -15) for name in running
        }
    finally:
        for program in running.values():
            program.kill()
            program.wait()


def _comes_to_rest(pid: int) -> None:
    """A loop that is busy never does."""
    ticks, deadline = [10**9], time.monotonic() + LONG_S
    while len(ticks) == 1 or ticks[-1] - ticks[-2] > 10:  # of 100 in a second
        assert time.monotonic() < deadline
        time.sleep(0.7)
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        ticks.append(int(fields[11]) + int(fields[12]))


def test_a_payload_from_a_closed_input_is_no_payload(tmp_path: Path) -> None:
    """One line says so."""
    words = f"{shlex.quote(sys.executable)} -m refbus worker --store {tmp_path} publish --as a t - <&-"
    done = subprocess.run(["sh", "-c", words], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and done.stderr.startswith("refbus: INVALID_ARGUMENT: ")


# -- a day of failures


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[float]]:
    """The pauses of a loop that is told to end after a day of them; none is waited out."""
    pauses: list[float] = []

    def pause(stop: Stop, pause_s: float) -> None:
        pauses.append(pause_s)
        if sum(pauses) > DAY_S:
            stop.set()

    monkeypatch.setattr(Stop, "pause", pause)
    yield pauses
    assert sum(pauses) > DAY_S
    assert pauses == sorted(pauses) and (pauses[0], pauses[-1]) == (0.1, 5.0)


def _full(*_args: object, **_values: object) -> Any:
    raise DiskFull("no room")


def test_work_survives_a_day_of_failures(tmp_path: Path, pauses: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """Of its queue."""
    monkeypatch.setattr(TimelineBus, "fetch", _full)
    cli.main(["timeline", "--store", str(tmp_path), "work", "request", "--", "true"])


def test_an_export_survives_a_day_of_failures(
    tmp_path: Path, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind a first one that succeeds."""
    replies = iter([{"last_seq": 0}])
    monkeypatch.setattr(WorkerBus, "export_to_jsonl", lambda _: next(replies, None) or _full())
    WorkerBus(tmp_path).close()
    assert cli.main(["worker", "--store", str(tmp_path), "export", "--follow"]) == 0


def test_a_heart_survives_a_day_of_failures() -> None:
    """Each beat fails; the next one comes in its time."""
    beats = 0

    def beat(**_values: object) -> None:
        nonlocal beats
        beats += 1
        raise BusError("no room")

    class Commands:
        def get(self, timeout: float) -> None:
            if beats * timeout < DAY_S:
                raise queue.Empty

    heart = Beats(beat, "alice", 10.0)
    heart._commands = Commands()  # type: ignore[assignment]
    heart._beat_until_stopped()
    assert beats == DAY_S / 10


def test_hold_survives_a_day_of_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its command runs on, and its exit code is passed, though the task cannot even be given back."""
    waited_s, really_wait = 0.0, subprocess.Popen.wait

    def wait(process: subprocess.Popen[bytes], timeout: float | None = None) -> int:
        nonlocal waited_s
        if timeout is not None and waited_s < DAY_S:
            waited_s += timeout
            raise subprocess.TimeoutExpired("true", timeout)
        return really_wait(process) + 7

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    for method in ("renew_claim", "release_claim"):
        monkeypatch.setattr(WorkerBus, method, _full)
    monkeypatch.setattr("signal.signal", lambda *_: None)
    assert cli.main(["worker", "--store", str(tmp_path), "hold", "--as", "a", "task", "--", "true"]) == 7
    assert waited_s >= DAY_S
