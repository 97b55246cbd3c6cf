"""A program that starts from a warm process is that program: its streams, its folder, its end."""

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest

from busproof.bus.base import Lost
from busproof.bus.child import Child
from busproof.bus.fleet import open_door, reference
from busproof.bus.forked import Forked
from busproof.bus.warm import Warm

SAYS = """
import os, sys
print(os.getcwd(), os.environ["WORD"], sys.argv[1:], sys.stdin.read(), flush=True)
print("to stderr", file=sys.stderr)
sys.exit(7)
"""


def argv(warm: Warm, program: Path, *more: str) -> list[str]:
    """The command that starts it warm."""
    return warm.spec(f"exec:{sys.executable} {program}").removeprefix("exec:").split() + list(more)


def test_a_program_has_its_streams_its_folder_its_environment_and_its_exit_code(warm: Warm, tmp_path: Path) -> None:
    """As if it had been started cold."""
    program = tmp_path / "says.py"
    program.write_text(SAYS)
    done = subprocess.run(
        argv(warm, program, "a", "b"),
        input="words",
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "WORD": "here"},
        check=False,
    )
    assert (done.stdout, done.stderr) == (f"{tmp_path} here ['a', 'b'] words\n", "to stderr\n")
    assert done.returncode == 7


@pytest.mark.parametrize("way", [signal.SIGKILL, signal.SIGTERM])
def test_a_kill_reaches_the_program(warm: Warm, tmp_path: Path, way: signal.Signals) -> None:
    """When its streams have ended, it has."""
    program = tmp_path / "waits.py"
    program.write_text("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)\n")
    with subprocess.Popen(argv(warm, program), stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        pid = int(started.stdout.readline())
        assert pid != started.pid
        started.send_signal(way)
        assert started.stdout.read() == ""
    with pytest.raises(ProcessLookupError):
        while True:  # between the end of its streams and its own there is a moment
            os.kill(pid, 0)
            time.sleep(0.001)


def test_a_program_that_is_killed_ends_as_killed(warm: Warm, tmp_path: Path) -> None:
    """By the same signal."""
    program = tmp_path / "ends.py"
    program.write_text("import os, signal\nos.kill(os.getpid(), signal.SIGABRT)\n")
    assert subprocess.run(argv(warm, program), check=False).returncode == -signal.SIGABRT


def test_what_one_program_changes_no_other_sees(warm: Warm, tmp_path: Path) -> None:
    """A patch of the reference stays in its process."""
    program = tmp_path / "patches.py"
    program.write_text(
        "from refbus.worker.bus import WorkerBus\nprint(WorkerBus.DURABILITY)\nWorkerBus.DURABILITY = 'none'\n"
    )
    outputs = [subprocess.run(argv(warm, program), capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert outputs[0] == outputs[1] != "none\n"


def test_its_socket_has_a_path_that_fits_wherever_temporary_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The system takes 107 bytes of it."""
    deep = tmp_path / ("deep" * 30)
    deep.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(deep))
    program = tmp_path / "up.py"
    program.write_text("print('up')\n")
    with Warm([]) as warm:
        assert subprocess.run(argv(warm, program), capture_output=True, text=True, check=True).stdout == "up\n"


def test_the_end_of_its_owner_is_the_end_of_all(tmp_path: Path) -> None:
    """Nothing is left behind."""
    program = tmp_path / "waits.py"
    program.write_text("import time\nprint('up', flush=True)\ntime.sleep(600)\n")
    warm = Warm([])
    with subprocess.Popen(argv(warm, program), stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "up\n"
        warm.close()
        assert started.stdout.read() == ""


@pytest.mark.parametrize("order", [(0, 1), (1, 0)], ids=["the program first", "its caller first"])
def test_a_program_and_its_caller_that_end_at_once_end_nothing_else(tmp_path: Path, order: tuple[int, int]) -> None:
    """The warm process stands still while they end, so it sees both ends together."""
    program = tmp_path / "waits.py"
    program.write_text("import os, time\nprint(os.getpid(), os.getppid(), flush=True)\ntime.sleep(600)\n")
    with Warm([]) as warm, subprocess.Popen(argv(warm, program), stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        pid, server = map(int, started.stdout.readline().split())
        os.kill(server, signal.SIGSTOP)
        for turn in order:
            os.kill((pid, started.pid)[turn], signal.SIGKILL)
            if turn == 0:
                started.stdout.read()
            else:
                started.wait()
        os.kill(server, signal.SIGCONT)
        program.write_text("print('up')\n")
        assert subprocess.run(argv(warm, program), capture_output=True, text=True, check=True).stdout == "up\n"


def test_a_bus_of_another_kind_is_left_as_it_is(warm: Warm) -> None:
    """Not ours, not Python, not a program."""
    for spec in ("sqlite:", "exec:node bus.js", "py:module:factory"):
        assert warm.spec(spec) == spec


@pytest.mark.parametrize("system", ["worker", "topics"])
def test_the_reference_answers_from_a_warm_start(warm: Warm, system: str, tmp_path: Path) -> None:
    """Both doors."""
    door = open_door(warm.spec(reference(system)))
    try:
        assert system in door.call("hello", {"protocol": ["1"], "system": system})["systems"]
        door.call("open", {"store": str(tmp_path), "options": {}})
    finally:
        door.kill()


def test_a_door_has_the_program_itself_for_its_child(warm: Warm, tmp_path: Path) -> None:
    """Nothing stands between them: its number, its lines, its folder, its words for people and its end."""
    program = tmp_path / "says.py"
    program.write_text(
        "import os, sys\nprint(os.getpid(), os.getsid(0), os.getcwd(), flush=True)\nsys.exit('no ' + input())\n"
    )
    child = Child(argv(warm, program), cwd=str(tmp_path))
    assert child.read_line("its number").split() == [f"{child.pid}".encode()] * 2 + [os.fsencode(tmp_path)]
    assert not child.has_ended
    child.write_line(b"more")
    with pytest.raises(Lost, match="no more"):
        child.read_line("anything")
    child.close()
    assert child.has_ended


@pytest.mark.parametrize(
    ("source", "code"),
    [
        ("", 0),
        ("import sys; sys.exit(7)", 7),
        ("import sys; sys.exit('why')", 1),
        ("raise ValueError", 1),
        ("import os; os._exit(3)", 3),
        ("import os; os.abort()", -signal.SIGABRT),
        ("import atexit, os; atexit.register(os._exit, 4)", 4),
        ("import os, threading, time; threading.Timer(0.01, os._exit, [5]).start()", 5),
    ],
)
def test_it_ends_as_python_ends_it(warm: Warm, tmp_path: Path, source: str, code: int) -> None:
    """Also at its exit handlers, and when its last thread ends."""
    program = tmp_path / "ends.py"
    program.write_text(source)
    started = Forked(argv(warm, program), str(tmp_path), os.environ)
    with started.stdin, started.stdout, started.stderr:
        assert started.wait(30) == started.poll() == started.wait() == code
        assert subprocess.run([sys.executable, program], capture_output=True, check=False).returncode == code


def test_what_does_not_end_in_time_is_waited_for_again(warm: Warm, tmp_path: Path) -> None:
    """As subprocess says it; then it is killed, and its whole session with it."""
    program = tmp_path / "waits.py"
    program.write_text(
        "import os, subprocess, time\nprint(subprocess.Popen(['sleep', '600']).pid, flush=True)\ntime.sleep(600)\n"
    )
    started = Forked(argv(warm, program), str(tmp_path), os.environ)
    with started.stdin, started.stdout, started.stderr:
        helper = int(started.stdout.readline())
        assert started.poll() is None
        with pytest.raises(subprocess.TimeoutExpired):
            started.wait(0.01)
        os.killpg(started.pid, signal.SIGKILL)
        assert started.wait() == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        while True:
            os.kill(helper, 0)
            time.sleep(0.001)


def test_how_it_ended_is_waited_for_when_its_pipes_end_first(
    warm: Warm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The warm process stands still meanwhile, so it has told no end when the pipes have ended."""
    monkeypatch.setattr("busproof.bus.child.SLICE_S", 30.0)
    program = tmp_path / "waits.py"
    program.write_text("import os, time\nprint(os.getppid(), flush=True)\ntime.sleep(600)\n")
    child = Child(argv(warm, program))
    server = int(child.read_line("its parent"))
    os.kill(server, signal.SIGSTOP)
    goes_on = threading.Timer(0.3, os.kill, [server, signal.SIGCONT])
    os.kill(child.pid, signal.SIGKILL)
    goes_on.start()
    with pytest.raises(Lost, match="exit status -9"):
        child.read_line("anything")
    goes_on.join()
    child.close()


def test_a_warm_process_that_is_over_starts_nothing(tmp_path: Path) -> None:
    """It is an error of the operating system, as a program that is not there; no pipe is left open."""
    with Warm([]) as warm:
        command = argv(warm, tmp_path / "any.py")
    before = os.listdir("/proc/self/fd")
    with pytest.raises(OSError, match=r"No such file|refused|over"):
        Child(command)
    assert len(os.listdir("/proc/self/fd")) == len(before)
