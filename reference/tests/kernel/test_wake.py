"""Waking: an event when somebody writes, a look when one might be missed, and life without inotify."""

from __future__ import annotations

import itertools
import os
import time
from pathlib import Path

import pytest

from refbus.kernel import wake
from refbus.kernel.wake import Waiter, Waiters
from refbus.worker.bus import WorkerBus


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a log in it."""
    (tmp_path / "log").write_bytes(b"")
    return tmp_path


def write(path: Path) -> None:
    """One write to the file."""
    with path.open("ab") as file:
        file.write(b"x")


def unchanged() -> int:
    """The version of a file in which nobody commits."""
    return 1


def test_a_write_to_the_log_ends_a_wait_and_is_looked_after(folder: Path) -> None:
    """The first look comes after 0.1 ms, each next one later, until the next event."""
    waiter = Waiter(folder, "log", unchanged)
    write(folder / "log")
    start = time.monotonic()
    waiter._pause(60)
    looks = 0
    while waiter._look_s is not None:
        waiter._pause(60)
        looks += 1
    assert looks == 9
    assert time.monotonic() - start < 30
    waiter.close()
    waiter.close()


def test_a_new_log_file_counts_and_other_files_do_not(folder: Path) -> None:
    """A checkpoint may delete it and the next writer makes it anew."""
    waiter = Waiter(folder, "log", unchanged)
    write(folder / "other")
    waiter._pause(0.01)
    assert waiter._look_s is None
    (folder / "log").unlink()
    (folder / "log").write_bytes(b"")
    waiter._pause(60)
    assert waiter._look_s is not None
    waiter.close()


def test_an_event_between_looks_starts_them_again(folder: Path) -> None:
    """The next commit may need them."""
    waiter = Waiter(folder, "log", unchanged)
    waiter._look_s = wake.LAST_LOOK_S
    write(folder / "log")
    waiter._pause(60)
    assert waiter._look_s == wake.FIRST_LOOK_S
    waiter.close()


def test_a_reset_forgets_what_was_written(folder: Path) -> None:
    """One's own acknowledgement, for instance."""
    waiter = Waiter(folder, "log", unchanged)
    write(folder / "log")
    waiter.reset()
    waiter._pause(0.01)
    assert waiter._look_s is None
    waiter.close()


def test_a_wait_outlasts_what_is_written_and_not_committed(folder: Path) -> None:
    """Every look asks for the version; the reader is not bothered before it changes."""
    versions = itertools.chain([1] * 5, itertools.repeat(2))
    waiter = Waiter(folder, "log", lambda: next(versions))
    write(folder / "log")
    waiter.wait(60)
    assert next(versions) == 2 and waiter._look_s is not None
    waiter.close()


def test_a_commit_before_the_wait_ends_it_at_once(folder: Path) -> None:
    """Between the reader's query and its wait, say."""
    versions = iter([1, 2])
    waiter = Waiter(folder, "log", lambda: next(versions))
    waiter.wait(60)
    assert waiter._look_s is None
    waiter.close()


def test_a_wait_ends_without_a_commit_for_a_routine_look(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A thing that is due at a time needs no commit to be seen."""
    monkeypatch.setattr(wake, "SLEEP_S_MAX", 0.01)
    waiter = Waiter(folder, "log", unchanged)
    waiter.wait(60)
    waiter.close()


def test_waiters_are_kept_and_not_shared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between readers at the same time, or between parent and child."""
    waiters = Waiters(folder, "log", unchanged)
    with waiters.borrow() as first, waiters.borrow() as two:
        assert first is not two
    with waiters.borrow() as again:
        assert again in (first, two)
    pid = os.getpid()
    with monkeypatch.context() as patch:
        patch.setattr(wake.os, "getpid", lambda: pid + 1)
        with waiters.borrow() as childs:
            assert childs not in (first, two)
    for waiter in (first, two):
        waiter.close()
    waiters.close()


@pytest.mark.parametrize("how", ["system", "instances", "watches"])
def test_without_inotify_a_reader_looks_again_and_again(
    bus: WorkerBus, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """Another system, or the user's limit reached; the message arrives all the same."""

    class Libc:
        """Of another system, or of a user who has too many."""

        def inotify_init1(self, _flags: int) -> int:
            if how == "system":
                raise AttributeError("inotify_init1")
            return -1 if how == "instances" else os.open(os.devnull, os.O_RDONLY)

        def inotify_add_watch(self, *_: object) -> int:
            return -1

    monkeypatch.setattr(wake.ctypes, "CDLL", lambda *_, **__: Libc())
    waiter = Waiter(bus.folder, "bus.db-wal", unchanged)
    for _ in range(9):
        waiter._pause(1)
    assert waiter._blind_s == wake.BLIND_LAST_S
    waiter.reset()
    assert waiter._blind_s == wake.BLIND_FIRST_S
    waiter.close()
    assert bus.poll("bob", wait_ms=5) == {"messages": []}
