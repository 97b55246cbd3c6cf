"""The user of a command may end it by Ctrl-C, and CI by SIGTERM: then all that it started ends, too."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator

_PR_SET_PDEATHSIG = 1


class Terminated(KeyboardInterrupt):
    """SIGTERM: like Ctrl-C, but of this process alone, and not of those that it has started."""


@contextlib.contextmanager
def by_sigterm() -> Iterator[None]:
    """Inside, SIGTERM raises Terminated."""

    def end(*_: object) -> None:
        raise Terminated

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def with_the_parent() -> None:
    """This process is killed when the one that forked it is gone. Elsewhere than on Linux it goes on to its end."""
    if sys.platform == "linux":
        import ctypes  # not for those who only ask for help

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
