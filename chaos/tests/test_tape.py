"""A tape holds all that was told to the disk: its replay equals the disk, and anything not on it is noticed."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from buschaos.bus import RunFailed
from buschaos.nemeses.syscalls import Continue, WatchedChild
from buschaos.tape import image
from buschaos.tape.image import Disk
from buschaos.tape.step import Step

LOOP = "import os, sys, shutil, mmap, subprocess\nfor line in sys.stdin: exec(line); print('done', flush=True)"
NAMES = ("a", "b", "sub/c")


@contextlib.contextmanager
def program() -> Iterator[WatchedChild]:
    """A program that runs each line that it is told."""
    child = WatchedChild([sys.executable, "-c", LOOP])
    try:
        yield child
    finally:
        child.kill()


@pytest.fixture(scope="module")
def child() -> Iterator[WatchedChild]:
    """One for many examples."""
    with program() as child:
        yield child


def recorded(child: WatchedChild, folder: Path, code: str) -> tuple[image.Image, list[Step], list[str]]:
    """The folder before, the tape of the code, and the files that the tape missed."""
    before = image.of(folder)
    with child.watched(folder, lambda _: Continue(), records=True) as watch:
        child.write_line(f"os.chdir({str(folder)!r}); {code}".encode())
        assert child.read_line("the code", 20) == b"done\n"
    return before, watch.tape, image.difference(image.replay(before, watch.tape), image.of(folder))


names, sizes = st.sampled_from(NAMES), st.integers(0, 9000)
OPS = st.one_of(
    st.builds("open({!r}, 'wb').write(b'x' * {})".format, names, sizes),
    st.builds("open({!r}, 'ab').write(b'y' * {})".format, names, sizes),
    st.builds(
        "os.path.exists({0!r}) and os.pwrite(os.open({0!r}, os.O_WRONLY), b'z' * {1}, {2})".format, names, sizes, sizes
    ),
    st.builds("os.path.exists({0!r}) and os.truncate({0!r}, {1})".format, names, sizes),
    st.builds("os.posix_fallocate(os.open({!r}, os.O_CREAT | os.O_RDWR), {}, {} + 1)".format, names, sizes, sizes),
    st.builds("os.path.exists({0!r}) and os.replace({0!r}, {1!r})".format, names, names),
    st.builds("os.path.exists({0!r}) and not os.path.exists({1!r}) and os.link({0!r}, {1!r})".format, names, names),
    st.builds("os.path.exists({0!r}) or os.mknod({0!r})".format, names),
    st.builds("os.path.exists({0!r}) and os.unlink({0!r})".format, names),
    st.builds(
        "os.path.exists({0!r}) and not (os.path.exists({1!r}) and os.path.samefile({0!r}, {1!r}))"
        " and shutil.copyfile({0!r}, {1!r})".format,
        names,
        names,
    ),
    st.builds(
        "os.path.exists('d{0}') or os.mkdir('d{0}'); {1} and os.rmdir('d{0}')".format, st.integers(0, 1), st.booleans()
    ),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(codes=st.lists(OPS, max_size=12))
@example(codes=["os.pwrite(os.open('a', os.O_WRONLY), b'', 13)"])
def test_the_replay_of_a_tape_is_what_stands_on_the_disk(
    tmp_path_factory: pytest.TempPathFactory, child: WatchedChild, codes: list[str]
) -> None:
    """For anything that a program does to its files by system calls."""
    folder = tmp_path_factory.mktemp("tape")
    (folder / "sub").mkdir()
    (folder / "a").write_bytes(b"already here")
    code = "\n".join(f"exec({line!r})" for line in codes) or "pass"
    _, _, missed = recorded(child, folder, f"exec({code!r})")
    assert missed == []


@pytest.mark.parametrize(
    "code",
    [
        "f = open('a', 'r+b'); m = mmap.mmap(f.fileno(), 4); m[0:4] = b'mine'; m.close()",
        "r, w = os.pipe(); os.write(w, b'gone by'); os.splice(r, os.open('a', os.O_WRONLY), 7)",
    ],
)
def test_what_no_call_shows_is_missed_and_named(tmp_path: Path, child: WatchedChild, code: str) -> None:
    """A store through a mapping, a splice from a pipe."""
    (tmp_path / "a").write_bytes(b"data and more")
    assert recorded(child, tmp_path, code)[2] == ["a"]


def test_a_folder_that_is_there_already_is_not_made(tmp_path: Path, child: WatchedChild) -> None:
    """A program makes its store's folder if it is missing."""
    _, tape, missed = recorded(child, tmp_path, "os.makedirs(os.getcwd(), exist_ok=True)")
    assert (tape, missed) == ([], [])


def test_a_symbolic_link_in_the_path_hides_nothing(tmp_path: Path, child: WatchedChild) -> None:
    """The store is named by its link; changes by path are seen all the same."""
    (real := tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(real)
    code = f"open({str(tmp_path / 'link' / 'x')!r}, 'wb').write(b'1'); os.rename('x', 'y')"
    _, tape, missed = recorded(child, real, code)
    assert [step.kind for step in tape] == ["create", "write", "rename"]
    assert missed == []


def test_a_mapped_file_is_named_while_it_is_mapped(tmp_path: Path, child: WatchedChild) -> None:
    """But not SQLite's `-shm`, which is derived."""
    for name in ("a", "b-shm"):
        (tmp_path / name).write_bytes(bytes(4096))
    code = "".join(
        f"globals()['{n}'] = mmap.mmap(os.open('{f}', os.O_RDWR), 4); " for n, f in (("x", "a"), ("y", "b-shm"))
    )
    with child.watched(tmp_path, lambda _: Continue()):
        child.write_line(f"os.chdir({str(tmp_path)!r}); {code}".encode())
        child.read_line("the code", 20)
        assert child.mapped(tmp_path) == ["a"]
    child.write_line(b"x.close(); y.close()")
    child.read_line("the end", 20)


def test_an_image_is_put_as_it_was_taken(tmp_path: Path) -> None:
    """Files, folders, links, and when a file was changed."""
    (old := tmp_path / "old").mkdir()
    (old / "sub").mkdir()
    (old / "sub" / "f").write_bytes(b"content")
    (old / "l").symlink_to("sub/f")
    taken = image.of(old)
    taken.put(tmp_path / "new")
    again = image.of(tmp_path / "new")
    assert again.digest() == taken.digest()
    assert again.times == taken.times


def test_a_write_beyond_the_end_leaves_zeros_before_it() -> None:
    """As a file system does."""
    steps = [Step("create", "f"), Step("write", "f", offset=3, data=b"x"), Step("cut", "f", offset=6)]
    assert Disk(image.Image({})).play(steps).image().files == {"f": b"\0\0\0x\0\0"}


def test_a_folder_that_is_not_empty_stays() -> None:
    """A program tries to remove it, or to put another in its place, and is refused: the step did nothing."""
    base = image.Image({"lock/pid": b"1"}, frozenset({"lock", "mine"}))
    tape = [Step("rmdir", "lock"), Step("rename", "lock", source="mine")]
    left = image.replay(base, tape)
    assert left.folders == {"lock", "mine"}
    assert left.files == {"lock/pid": b"1"}
    emptied = image.replay(base, [*tape, Step("unlink", "lock/pid"), Step("rmdir", "lock")])
    assert emptied.folders == {"mine"}


def test_a_copy_has_named_pipes_and_sockets_that_lead_nowhere(tmp_path: Path) -> None:
    """Nobody waits at them, in a copy as in an image that is put elsewhere."""
    store = tmp_path / "store"
    store.mkdir()
    (store / "file").write_bytes(b"x")
    os.mkfifo(store / "pipe", 0o640)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(store / "socket"))
    image.copy(store, tmp_path / "copy")
    image.of(store).put(tmp_path / "put")
    for folder in ("copy", "put"):
        modes = {path.name: path.lstat().st_mode for path in (tmp_path / folder).iterdir()}
        assert [stat.S_IFMT(modes[name]) for name in ("file", "pipe", "socket")] == [
            stat.S_IFREG,
            stat.S_IFIFO,
            stat.S_IFSOCK,
        ]
        assert image.of(tmp_path / folder).digest() == image.of(store).digest()


def test_a_huge_file_is_refused_though_it_is_sparse(tmp_path: Path) -> None:
    """Its copies would not be, and each point has one."""
    (tmp_path / "store").mkdir()
    with open(tmp_path / "store" / "map", "wb") as file:
        file.truncate(1 << 42)
    with pytest.raises(RunFailed, match="4,194,304 MiB"):
        image.copy(tmp_path / "store", tmp_path / "copy")
    with pytest.raises(RunFailed, match="a file of the store, map"):
        image.of(tmp_path / "store")
