"""Parts of a run side by side, each in a process of its own.

Acts have nothing in common but the folder of the run, and each waits for its buses most of the time.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from typing import Any, Generic, TypeVar

from buschaos.bus import RunFailed
from buschaos.limits import INTERRUPTED, Enough, Progress, Time
from buschaos.state import Problem
from busproof.bus.fleet import BusSpecError
from busproof.run.ended import by_sigterm, with_the_parent
from busproof.words import kit_failed, reason

T = TypeVar("T")
Part = Callable[[Progress, Time], T]  # can be sent to another process, and so can its result
JOIN_LIMIT_S = 30.0
AGAIN_S = 20.0  # without a word, after which a lane that was told to end is told again


class Lanes(Generic[T]):
    """So many parts at a time. `why` tells after a run why it was ended early, if it was."""

    def __init__(self, lanes: int, progress: Progress, time: Time) -> None:
        self._lanes, self._progress, self._time = lanes, progress, time
        self._running: dict[Any, tuple[int, Any]] = {}  # pipe → number of the part, its process
        self.why = ""

    def play(self, parts: list[Part[T]]) -> dict[int, T]:
        """Begin the parts in this order; return the results of those that began, by number.

        Enough problems and Ctrl-C end those that are under way, whose results tell what they know.

        Raises:
            RunFailed: a part could not tell anything.
        """
        from multiprocess.connection import wait

        results: dict[int, T] = {}
        waiting = list(enumerate(parts))
        with self._none_outlives_it():
            while self._running or (waiting and not self.why):
                while waiting and len(self._running) < self._lanes and not self.why:
                    self._begin(*waiting[0], self._time.part(max(1, len(waiting) / self._lanes)))
                    del waiting[0]
                try:
                    heard = wait(list(self._running), AGAIN_S if self.why else None)
                    for pipe in heard:
                        self._hear(pipe, results)
                    if self.why and not heard:
                        self._interrupt()  # it was at a moment that let the first one pass
                except KeyboardInterrupt:
                    if self.why == INTERRUPTED:
                        raise  # whoever asks twice does not wait for what is known
                    self._end(INTERRUPTED)
                except Enough as enough:
                    self._end(str(enough))
        return results

    def _begin(self, number: int, part: Part[T], time: Time) -> None:
        import multiprocess  # of the extra: `busproof chaos --help` does without

        context = multiprocess.get_context("forkserver")
        context.set_forkserver_preload(["buschaos.workload"])
        ours, theirs = context.Pipe()
        process = context.Process(target=_lane, args=(part, time, theirs, dict(os.environ), os.getcwd()))
        process.start()
        theirs.close()
        self._running[ours] = number, process

    def _hear(self, pipe: Any, results: dict[int, T]) -> None:
        number, process = self._running[pipe]
        try:
            what, *values = pipe.recv()
        except (EOFError, ConnectionError):
            process.join()
            raise RunFailed(f"a part of the run ended before its time (exit code {process.exitcode})") from None
        if what == "failed":
            raise RunFailed(*values)
        if what != "result":
            getattr(self._progress, what)(*values)
            return
        results[number] = values[0]
        del self._running[pipe]
        process.join()
        pipe.close()

    def _end(self, why: str) -> None:
        """Each part that is under way ends as by Ctrl-C, which only this process has heard."""
        if not self.why:
            self.why = why
            self._interrupt()

    def _interrupt(self) -> None:
        for _, process in self._running.values():
            with contextlib.suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGINT)

    @contextlib.contextmanager
    def _none_outlives_it(self) -> Iterator[None]:
        try:
            yield
        finally:
            for pipe, (_, process) in self._running.items():
                pipe.close()
                process.terminate()
                process.join(JOIN_LIMIT_S)
                if process.is_alive():
                    process.kill()
                    process.join()


class _Told(Progress):
    """The progress of a lane: the parent hears of it."""

    def __init__(self, pipe: Any) -> None:
        super().__init__()
        self._pipe = pipe

    def say(self, text: str) -> None:
        self._pipe.send(("say", text))

    def point(self, count: int = 1) -> None:
        self._pipe.send(("point", count))

    def found(self, problem: Problem, act: str) -> None:
        self._pipe.send(("found", problem, act))


def _lane(part: Part[Any], time: Time, pipe: Any, environment: dict[str, str], folder: str) -> None:
    """A process of its own. The server that it was forked from has the environment of the first run."""
    os.setsid()  # Ctrl-C is for the parent, which ends this one once
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    with_the_parent()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background of a shell ignores it
    try:
        with by_sigterm():
            result = part(_Told(pipe), time)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        pipe.send(("result", result))
    except ConnectionError:
        pass  # the parent has given up
    except (RunFailed, BusSpecError) as error:
        pipe.send(("failed", reason(error)))
    except BaseException as error:
        pipe.send(("failed", kit_failed(error)))
