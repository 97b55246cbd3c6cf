"""route: how a file comes into an inbox."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

from busproof.play.scenarios.relay.common import bodies, hand, scenario, write
from busproof.play.suite import Ctx

IN_MODIFY, IN_MOVED_TO, IN_CREATE = 0x2, 0x80, 0x100  # inotify(7)
HEAD = struct.Struct("iIII")


@scenario("route.atomic")
def atomic(ctx: Ctx) -> None:
    """A file is whole when its name appears: nothing is ever written to it in the inbox."""
    bus = ctx.agent("orchestrator")
    with hand(ctx, "ann", "bob") as agents:
        bus.call("scan")
        with watched(ctx.store / "agents" / "bob" / "inbox") as events:
            for body in ("one", "x" * 900_000):
                write(ctx, agents, "ann", f"TO: bob\n\n{body}")
            bus.call("scan")
            seen = events()
        came = sum(bool(mask & (IN_MOVED_TO | IN_CREATE)) for mask in seen)
        written = sum(bool(mask & IN_MODIFY) for mask in seen)
        ctx.expect(
            "relay.route.20",
            len(bodies(agents, "bob")) == 2 and came >= 2 and not written,
            f"{came} names came, and {written} times something was written to a file in the inbox",
        )


@scenario("route.one_inbox_is_none")
def one_inbox_is_none(ctx: Ctx) -> None:
    """Where one recipient's inbox takes nothing, the others get the message to all, and those sent with it."""
    bus = ctx.agent("orchestrator")
    names = ("ann", "bob", "cid", "dan")
    with hand(ctx, *names) as agents:
        bus.call("scan")
        missing = []
        for name, odd in itertools.product(names, ODD_INBOXES):
            sender, *others = [other for other in names if other != name]
            body = f"while {name}'s is a {odd}"
            with no_inbox(ctx, name, ODD_INBOXES[odd]):
                write(ctx, agents, sender, f"TO: *\n\n{body}")
                write(ctx, agents, sender, f"TO: {others[-1]}\n\n{body}, too")
                bus.call("scan")
            wanted = {others[0]: [body], others[1]: [body, f"{body}, too"]}
            came = {other: [text for text in bodies(agents, other) if text.startswith(body)] for other in others}
            if came != wanted:
                missing.append(f"{body}: {came}")
        ctx.expect("relay.route.22", not missing, f"what the others got, {'; '.join(missing)}")


ODD_INBOXES: dict[str, Callable[[Path], object]] = {
    "link": lambda path: path.symlink_to(path.parent),
    "link to nothing": lambda path: path.symlink_to(path.parent / "nothing"),
    "file": lambda path: path.write_bytes(b""),
}


@contextlib.contextmanager
def no_inbox(ctx: Ctx, name: str, make: Callable[[Path], object]) -> Iterator[None]:
    """Put something else in the inbox's place for a while."""
    inbox = ctx.store / "agents" / name / "inbox"
    aside = ctx.store.parent / f"inbox-of-{name}"
    if was_there := inbox.exists():
        inbox.rename(aside)
    make(inbox)
    try:
        yield
    finally:
        inbox.unlink()
        if was_there:
            aside.rename(inbox)


class _Events:
    """The events that the system has reported of a folder so far."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def __call__(self) -> list[int]:
        """The new events' masks, in their order."""
        masks, data = [], b""
        with contextlib.suppress(BlockingIOError):
            while more := os.read(self._fd, 65_536):
                data += more
        while data:
            _, mask, _, length = HEAD.unpack_from(data)
            masks.append(mask)
            data = data[HEAD.size + length :]
        return masks


@contextlib.contextmanager
def watched(folder: Path) -> Iterator[_Events]:
    """The system tells of names that come into a folder, and of writes to files in it."""
    libc = ctypes.CDLL(None, use_errno=True)
    fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if fd < 0 or libc.inotify_add_watch(fd, os.fsencode(folder), IN_MODIFY | IN_MOVED_TO | IN_CREATE) < 0:
            raise OSError(ctypes.get_errno(), "inotify")
        yield _Events(fd)
    finally:
        os.close(fd)
