"""The system-call nemesis stops every change to a folder, and carries out its verdict on it."""

from __future__ import annotations

import contextlib
import errno
import itertools
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from buschaos.duet import until
from buschaos.nemeses import bpf
from buschaos.nemeses.syscalls import (
    Change,
    Continue,
    Delay,
    Fail,
    Hold,
    Kill,
    Short,
    Torn,
    Unavailable,
    Verdict,
    WatchedChild,
    why_unavailable,
)
from busproof.bus.base import Lost

PYTHON = [sys.executable, "-c", "import os\nexec(input())\nprint('done')"]


@contextlib.contextmanager
def program(argv: list[str]) -> Iterator[WatchedChild]:
    """A program under the nemesis; it waits for a line."""
    door = WatchedChild(argv)
    try:
        yield door
    finally:
        door.kill()


def play(
    folder: Path, code: str, verdicts: dict[int, Verdict], argv: list[str] | None = None
) -> tuple[str, list[Change]]:
    """Run the code with these verdicts; return its output (or `died`) and the changes that it made."""
    with program(argv or PYTHON) as door, door.watched(folder, lambda c: verdicts.get(c.ordinal, Continue())) as watch:
        door.write_line(code.encode())
        try:
            answer = door.read_line("the program", 20).decode().strip()
        except Lost:
            answer = "died"
        return answer, watch.changes


def writes(path: Path) -> str:
    """Code that writes 'one', 'two', 'three' to a file."""
    return f"fd = os.open({str(path)!r}, os.O_CREAT | os.O_WRONLY); [os.write(fd, w) for w in b'one two three'.split()]"


def test_the_nemesis_works_on_this_machine() -> None:
    """No reason against it; if there is one, this test fails rather than being skipped."""
    assert why_unavailable() is None


def test_every_change_is_seen_in_order(tmp_path: Path) -> None:
    """Creation and writes, with their sizes, counted from 1."""
    answer, changes = play(tmp_path, writes(tmp_path / "f"), {})
    assert answer == "done"
    assert [str(change) for change in changes] == [
        "1: openat f",
        "2: write f (3 bytes)",
        "3: write f (3 bytes)",
        "4: write f (5 bytes)",
    ]


@pytest.mark.parametrize(("ordinal", "left"), [(2, b""), (3, b"one"), (4, b"onetwo")])
def test_a_kill_comes_exactly_before_its_change(tmp_path: Path, ordinal: int, left: bytes) -> None:
    """All that came earlier is in the file, and nothing else."""
    answer, _ = play(tmp_path, writes(tmp_path / "f"), {ordinal: Kill()})
    assert answer == "died"
    assert (tmp_path / "f").read_bytes() == left


def test_a_torn_write_leaves_its_first_bytes(tmp_path: Path) -> None:
    """At the file's position, and the process is dead."""
    answer, _ = play(tmp_path, writes(tmp_path / "f"), {4: Torn(2)})
    assert answer == "died"
    assert (tmp_path / "f").read_bytes() == b"onetwoth"


@pytest.mark.parametrize(
    "call",
    [
        "os.pwrite(fd, b'abcdef', 2)",
        "os.pwritev(fd, [b'abc', b'def'], 2)",
        "(os.lseek(fd, 2, 0), os.writev(fd, [b'ab', b'cdef']))",
    ],
)
def test_positioned_and_vectored_writes_are_torn_where_they_belong(tmp_path: Path, call: str) -> None:
    """pwrite, pwritev and writev."""
    path = tmp_path / "f"
    path.write_bytes(b"..........")
    answer, _ = play(tmp_path, f"fd = os.open({str(path)!r}, os.O_RDWR); {call}", {1: Torn(4)})
    assert answer == "died"
    assert path.read_bytes() == b"..abcd...."


def test_an_appending_write_is_torn_at_the_end(tmp_path: Path) -> None:
    """O_APPEND."""
    path = tmp_path / "f"
    path.write_bytes(b"log:")
    play(tmp_path, f"os.write(os.open({str(path)!r}, os.O_WRONLY | os.O_APPEND), b'entry')", {1: Torn(3)})
    assert path.read_bytes() == b"log:ent"


@pytest.mark.parametrize("flags", ["os.O_RDWR", "os.O_RDWR | os.O_APPEND"])
@pytest.mark.parametrize("call", ["os.write(fd, b'abcdef')", "os.writev(fd, [b'ab', b'cdef'])"])
def test_a_short_write_takes_its_first_bytes_and_says_how_many(tmp_path: Path, flags: str, call: str) -> None:
    """And the next one goes on behind them."""
    path = tmp_path / "f"
    path.write_bytes(b"")
    answer, _ = play(
        tmp_path, f"fd = os.open({str(path)!r}, {flags}); n = {call}; os.write(fd, b'|%d' % n)", {1: Short(4)}
    )
    assert answer == "done"
    assert path.read_bytes() == b"abcd|4"


@pytest.mark.parametrize("call", ["os.pwrite(fd, b'abcdef', 2)", "os.pwritev(fd, [b'abc', b'def'], 2)"])
def test_a_short_write_at_a_place_is_written_there(tmp_path: Path, call: str) -> None:
    """pwrite and pwritev: the descriptor's own position stays."""
    path = tmp_path / "f"
    path.write_bytes(b"..........")
    answer, _ = play(
        tmp_path, f"fd = os.open({str(path)!r}, os.O_RDWR); n = {call}; os.write(fd, b'%d' % n)", {1: Short(4)}
    )
    assert answer == "done"
    assert path.read_bytes() == b"4.abcd...."


def test_a_short_write_shortens_no_other(tmp_path: Path) -> None:
    """Threads that write side by side: every second write to one file takes one byte, all others take all."""
    code = (
        f"import threading; p = {str(tmp_path)!r}\n"
        "def work(i):\n"
        "    fd = os.open(p + '/%d' % i, os.O_CREAT | os.O_WRONLY)\n"
        "    for _ in range(20): assert os.write(fd, bytes(99)) == 99 or i == 0\n"
        "    os.close(fd)\n"
        "    os.rename(p + '/%d' % i, p + '/whole%d' % i)\n"
        "t = [threading.Thread(target=work, args=(i,)) for i in range(4)]\n"
        "[one.start() for one in t]; [one.join() for one in t]"
    )
    turns = itertools.count()

    def decide(change: Change) -> Verdict:
        return Short(1) if (change.call, change.path) == ("write", "0") and next(turns) % 2 else Continue()

    with program(PYTHON) as door, door.watched(tmp_path, decide):
        door.write_line(f"exec({code!r})".encode())
        assert door.read_line("the program", 60) == b"done\n"
    assert {path.name: path.stat().st_size for path in tmp_path.iterdir()} == {
        "whole0": 10 * 100,
        **{f"whole{i}": 20 * 99 for i in range(1, 4)},
    }


def test_an_error_is_told_once_and_the_call_does_not_happen(tmp_path: Path) -> None:
    """The program sees the errno and lives."""
    code = (
        f"fd = os.open({str(tmp_path / 'f')!r}, os.O_CREAT | os.O_WRONLY)\n"
        "try: os.write(fd, b'lost')\nexcept OSError as e: os.write(fd, str(e.errno).encode())"
    )
    answer, _ = play(tmp_path, f"exec({code!r})", {2: Fail(errno.ENOSPC)})
    assert answer == "done"
    assert (tmp_path / "f").read_bytes() == str(errno.ENOSPC).encode()


def test_a_held_call_waits_until_it_is_released(tmp_path: Path) -> None:
    """Nothing of it is in the file before."""
    path, hold, reached = tmp_path / "f", Hold(), threading.Event()

    def decide(change: Change) -> Verdict:
        if change.ordinal == 3:
            reached.set()
            return hold
        return Continue()

    with program(PYTHON) as door, door.watched(tmp_path, decide):
        door.write_line(writes(path).encode())
        assert reached.wait(20)
        assert path.read_bytes() == b"one"
        hold.released.set()
        assert door.read_line("the program", 20) == b"done\n"
    assert path.read_bytes() == b"onetwothree"


def test_a_delayed_call_happens(tmp_path: Path) -> None:
    """After the pause."""
    answer, _ = play(tmp_path, writes(tmp_path / "f"), {2: Delay(0.01)})
    assert answer == "done"
    assert (tmp_path / "f").read_bytes() == b"onetwothree"


def test_files_elsewhere_do_not_count(tmp_path: Path) -> None:
    """A folder whose name only begins the same is elsewhere, too."""
    watched, other = tmp_path / "store", tmp_path / "store-2"
    watched.mkdir()
    other.mkdir()
    answer, changes = play(watched, writes(other / "f"), {1: Kill()})
    assert (answer, changes) == ("done", [])


def test_a_rename_counts_from_either_side(tmp_path: Path) -> None:
    """Into the folder and out of it; the path told is the one inside."""
    watched = tmp_path / "store"
    watched.mkdir()
    (tmp_path / "a").write_bytes(b"")
    outside, inside = str(tmp_path / "a"), str(watched / "b")
    _, changes = play(watched, f"os.rename({outside!r}, {inside!r}); os.rename({inside!r}, {outside!r})", {})
    assert [(change.call, change.path) for change in changes] == [("rename", "b"), ("rename", "b")]


def test_relative_paths_and_folder_descriptors_are_resolved(tmp_path: Path) -> None:
    """chdir and dir_fd."""
    code = (
        f"os.chdir({str(tmp_path)!r}); os.mkdir('d'); fd = os.open('d', os.O_RDONLY); os.mkdir('e', dir_fd=fd); "
        "os.symlink('x', 'l'); os.unlink('l'); os.rmdir('d/e'); open('t', 'w').close(); os.truncate('t', 3)"
    )
    answer, changes = play(tmp_path, code, {})
    assert answer == "done"
    assert [(c.call, c.path) for c in changes] == [
        ("mkdir", "d"),
        ("mkdirat", "d/e"),
        ("symlink", "l"),
        ("unlink", "l"),
        ("rmdir", "d/e"),
        ("openat", "t"),
        ("truncate", "t"),
    ]


def test_children_and_threads_are_watched_too(tmp_path: Path) -> None:
    """One ordinal over the whole process tree."""
    code = (
        f"import threading, subprocess; p = {str(tmp_path)!r}; "
        "t = threading.Thread(target=lambda: open(p + '/thread', 'w').close()); t.start(); t.join(); "
        "subprocess.run(['sh', '-c', ': > ' + p + '/child'])"
    )
    _, changes = play(tmp_path, code, {})
    assert [(change.ordinal, change.path) for change in changes] == [(1, "thread"), (2, "child")]


def test_any_program_is_watched(tmp_path: Path) -> None:
    """A shell and its tools, in no language of ours."""
    shell = ["sh", "-c", 'read folder; printf abc > "$folder/x"; mv "$folder/x" "$folder/y"; echo done']
    answer, changes = play(tmp_path, str(tmp_path), {}, argv=shell)
    assert answer == "done"
    assert [change.path for change in changes][-1] in ("x", "y")
    assert {change.call for change in changes} & {"rename", "renameat", "renameat2"}


def test_a_program_sleeps_though_a_child_of_it_has_ended_and_nobody_asked_for_its_status() -> None:
    """It is no work that somebody waits for: whoever starts a server that is there already leaves such a child."""
    with program(PYTHON) as child:
        code = "import time\nchild = os.fork()\nif child == 0: os._exit(0)\n"
        code += "os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)\nprint('ended', flush=True)\ntime.sleep(60)"
        child.write_line(f"exec({code!r})".encode())
        assert child.read_line("the program", 20).strip() == b"ended"
        until(lambda: child.sleeps_in() is not None, 20)
        assert child.sleeps_in()


def test_io_uring_is_refused(tmp_path: Path) -> None:
    """It would pass by the filter."""
    machine = bpf.machine()
    assert machine is not None
    number = machine.numbers["io_uring_setup"]
    code = (
        f"import ctypes; c = ctypes.CDLL(None, use_errno=True); r = c.syscall({number}, 1, 0); "
        f"assert (r, ctypes.get_errno()) == (-1, {errno.ENOSYS})"
    )
    assert play(tmp_path, code, {})[0] == "done"


def test_a_command_that_does_not_exist_is_told(tmp_path: Path) -> None:
    """The launcher's last words reach the caller."""
    with program(["/nonexistent/bus"]) as door, pytest.raises(Lost, match="cannot execute /nonexistent/bus"):
        door.write_line(b"")
        door.read_line("anything", 20)


def test_without_a_table_for_the_processor_it_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    """And the reason is told."""
    monkeypatch.setattr(bpf, "machine", lambda: None)
    with pytest.raises(Unavailable, match="no system-call table"):
        WatchedChild(["true"])
    assert "no system-call table" in (why_unavailable() or "")


def test_both_tables_name_the_calls_that_every_program_may_use() -> None:
    """The old calls that take no folder exist on x86_64 alone."""
    assert set(bpf.MACHINES["aarch64"].numbers) <= set(bpf.MACHINES["x86_64"].numbers)
    for machine in bpf.MACHINES.values():
        code = bpf.program(machine)
        assert len(code) % 8 == 0
        assert len(code) // 8 < 256  # jumps are one byte long
