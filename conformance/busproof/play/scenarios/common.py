"""Small helpers for the scripts of all systems."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from busproof.bus.asleep import OURS, PAUSE_S, come_to_rest
from busproof.bus.base import Door, DoorError, Refused
from busproof.bus.session import GATE, Session
from busproof.contract import CONTRACTS
from busproof.play.suite import Ctx

try:
    import resource
except ImportError:  # not a POSIX system: it lets nobody bound another process
    resource = None  # type: ignore[assignment]

Row = dict[str, Any]

# For every call of a race to reach the lock: never near the five seconds for which sqlite3 waits by default.
AT_LOCK_S_MAX = 2.0
PATIENT_S = 4.0  # a call that gives up later has waited as the seeds say, five seconds


def ids(messages: list[Row]) -> list[str]:
    """Their ids, in order."""
    return [message["id"] for message in messages]


# Such as a reader may take for JSON: cut short, a value and more behind it, what only another language writes. An empty
# text is not among them: a seed's own reader takes it for no payload.
NOT_JSON_TEXTS = (
    *("{not json", '{"a": 1}{"b"', '{"a": 1} x', "1 2", '"a" "b"', "[1, 2", "[1,]", '{"a": 1,}', '{"a" 1}'),
    *(" ", "tru", "None", "'a'", "01", "+1", ".5", "1.", "0x10", '"a\tb"', '"\\x41"', "// 1\n1", "NaN 1"),
)

Joined = Callable[[], AbstractContextManager[sqlite3.Connection]]
# A unique one decides what may be there.
_INDEXES = "SELECT name FROM sqlite_master WHERE type = 'index' AND sql LIKE 'CREATE INDEX%' ORDER BY name"
_TABLE = re.compile(r"CREATE TABLE (?:IF NOT EXISTS )?(\w+)")


def lost_by_opening(ctx: Ctx, database: Joined, opens: Callable[[], object]) -> list[str]:
    """The rows of the seed's tables that are gone once a file that lacks one of the indexes was opened.

    A file of an older version, or of another program that needs less, is brought up to date so.
    """
    lost, schema = [], CONTRACTS[ctx.fleet.system].tables
    with database() as db:
        indexes = [name for (name,) in db.execute(_INDEXES)]
    for index in indexes:
        with database() as db:
            db.execute(f'DROP INDEX IF EXISTS "{index}"')
            before = {table: _rows_of(db, table) for table in _TABLE.findall(schema)}
        opens()
        with database() as db:
            gone = {table: [row for row in rows if row not in _rows_of(db, table)] for table, rows in before.items()}
        lost += [f"without {index}: {rows!s:.200} of {table} is gone" for table, rows in gone.items() if rows]
    return lost


def _rows_of(db: sqlite3.Connection, table: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in db.execute(f"SELECT * FROM {table}")]


def definite(refusal: Refused | None, *codes: str) -> bool:
    """Was it refused, certainly not done, and with one of these codes (any code, if none is named)?"""
    return refusal is not None and refusal.definite and (not codes or refusal.code in codes)


def said(refusal: Refused | None) -> str:
    """The bus's answer, for a `why`."""
    if refusal is None:
        return "the call was accepted"
    return f"the answer was {refusal.code} (definite: {str(refusal.definite).lower()}): {refusal.message}"


WAITED_OUT_MS_MAX = 5_000


def untrue_limits(ctx: Ctx, call: Callable[[str, Any], Refused | None]) -> list[str]:
    """The limits in `hello` that do not hold: a value at the limit must be taken, one past it refused with its code.

    `call` takes a field and its value; the first field of each bound is tried.
    """
    wrong = []
    for bound in CONTRACTS[ctx.fleet.system].bounds:
        for name, _ in bound.limits:
            if (limit := ctx.hello.limits.get(name)) is None:
                continue
            field = bound.fields.split()[0]
            at, over = (call(field, bound.at(limit, plus=plus)) for plus in (0, -1 if name.endswith("_min") else 1))
            if at is not None:
                wrong.append(f"{name} is {limit}, and so much is refused: {said(at)}")
            if not definite(over, bound.code):
                wrong.append(f"{name} is {limit}, and of one more {said(over)}, not {bound.code}")
    return wrong


def untrue_timeout(ctx: Ctx, name: str, wait: Callable[[], Refused | None]) -> list[str]:
    """Wait out a time-out that `hello` declares, if it is short. Only the lower bound counts: no load ends it early."""
    limit_ms = ctx.hello.limits.get(name, WAITED_OUT_MS_MAX + 1)
    if limit_ms > WAITED_OUT_MS_MAX:
        return []
    began_s = time.monotonic()
    refused = wait()
    took_ms = (time.monotonic() - began_s) * 1000
    is_kept = refused is not None and refused.code == "TIMEOUT" and took_ms >= limit_ms * 0.99
    return [] if is_kept else [f"{name} is {limit_ms}, and after {took_ms:.0f} ms {said(refused)}"]


@contextmanager
def joined(path: Path) -> Iterator[sqlite3.Connection]:
    """A database file, joined as any agent with SQLite bindings may."""
    with closing(sqlite3.connect(path, timeout=10, isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        yield connection


def remove(path: Path) -> None:
    """Take a database from under those who have it open, with the files beside it, as `git clean` does."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


@contextmanager
def bounded(bus: Session, more_files: int) -> Iterator[None]:
    """Its processes may open so many files more, where this machine lets the kit say so.

    Those alone that answer on a pipe of the kit's: the kit has the same pipe open, and must not be bounded itself.
    """
    pipes = {os.readlink(fd) for fd in Path("/proc/self/fd").glob("[0-9]*") if int(fd.name) > 2 and fd.is_symlink()}
    before = dict[int, tuple[int, int]]()
    for process in bus.door.processes():
        with suppress(OSError, ValueError, AttributeError):
            pid = int(process.name)
            if pid != os.getpid() and os.readlink(process / "fd" / "1") in pipes:
                more = len(list((process / "fd").iterdir())) + more_files
                before[pid] = resource.prlimit(pid, resource.RLIMIT_NOFILE)
                resource.prlimit(pid, resource.RLIMIT_NOFILE, (more, before[pid][1]))
    try:
        yield
    finally:
        for pid, limits in before.items():
            with suppress(OSError):
                resource.prlimit(pid, resource.RLIMIT_NOFILE, limits)


LOCKED_S = 0.5  # well above what clocks of one machine differ by
STAYS_S = 40.0  # a lock that stays: a bus that waits three times for its five seconds has long given up


def behind_a_lock(path: Path, call: Callable[[], object], locked_s: float = LOCKED_S) -> int:
    """Make a session's call while the kit holds the write lock of the file; when that was free, in epoch ms.

    The lock is held for so long once the session's process waits, or until the call is over.
    """
    asked: list[Door] = []
    with joined(path) as db:
        db.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=_after(lambda: GATE.set(asked.append), call))
        thread.start()
        _wait_at_the_lock(thread, asked)
        thread.join(locked_s)
        free_ms = time.time_ns() // 1_000_000
        db.execute("ROLLBACK")
        thread.join()
    return free_ms


def waits_for_ever(ctx: Ctx, session: Session, method: str, **params: Any) -> str:
    """What is wrong with the answer to a call for which a lock stays that another process holds; empty: nothing."""
    took_s: list[float] = []

    def call() -> None:
        began_s = time.monotonic()
        with suppress(DoorError):
            session.call(method, timeout_s=2 * STAYS_S, **params)
        took_s.append(time.monotonic() - began_s)

    behind_a_lock(ctx.store / CONTRACTS[ctx.fleet.system].store, call, STAYS_S)
    return "" if took_s[0] < STAYS_S else f"{method} waited {took_s[0]:.0f} s, for as long as the lock stayed"


def at_once(*calls: Callable[[], Row]) -> list[Row | DoorError]:
    """Run the calls in threads that start together; each gives its reply or its error."""
    gate = threading.Barrier(len(calls))
    return _in_threads([_after(gate.wait, call) for call in calls])


def while_doing(work: Callable[[], object], *calls: Callable[[], Row]) -> list[str]:
    """Repeat each call for as long as the work goes on, and once more; return the answers that were errors."""
    is_over = threading.Event()

    def works() -> Row:
        try:
            work()
        finally:
            is_over.set()
        return {}

    def again(call: Callable[[], Row]) -> Row:
        while not is_over.is_set():
            call()
        return call()

    results = at_once(works, *(partial(again, call) for call in calls))
    return [str(result) for result in results if isinstance(result, DoorError)]


def out_of_time(does: Callable[[], Iterable[float]]) -> list[float]:
    """The times in epoch milliseconds, of what was done now, that are not of this moment: a millisecond either way.

    Done by a process that was never told the time, as users have it: a clock that is set hides how a bus reads one.
    """
    odd: list[float] = []
    for _ in range(3):
        began_ms = time.time() * 1000
        times = list(does())
        ended_ms = time.time() * 1000
        odd += [at for at in times if not began_ms - 1 <= at <= ended_ms + 1]
        time.sleep(0.007)
    return odd


def raced(ctx: Ctx, *calls: Callable[[], Row], store: Path | None = None) -> list[Row | DoorError]:
    """The calls' first requests are all under way before any of them can write; each gives its reply or its error.

    On a store with the seed's tables the kit itself holds the write lock while they are sent off, and then lets it go:
    a bus that looks before it locks has looked by then, in every call, and acts on a state that is gone. Where there
    is no such lock, they only go out together, and the script is played more often (`Ctx.is_by_luck`). A call that
    waited long for the lock and gave up is made again: a busy machine gives the lock to one at a time, and slowly.
    """
    took_s: dict[int, float] = {}

    def timed(number: int, call: Callable[[], Row]) -> Row:
        began_s = time.monotonic()
        try:
            return call()
        finally:
            took_s[number] = time.monotonic() - began_s

    results = _raced(ctx, store or ctx.store, [partial(timed, number, call) for number, call in enumerate(calls)])
    busy = CONTRACTS[ctx.fleet.system].busy
    for number, result in enumerate(results):
        if isinstance(result, Refused) and definite(result, busy) and took_s[number] > PATIENT_S:
            results[number] = _in_threads([calls[number]])[0]
    return results


def _raced(ctx: Ctx, store: Path, calls: Sequence[Callable[[], Row]]) -> list[Row | DoorError]:
    gate = threading.Barrier(len(calls))
    asked: list[Door] = []

    def go(door: Door) -> None:
        asked.append(door)
        gate.wait()

    gated = [_after(lambda: GATE.set(go), call) for call in calls]
    path = store / CONTRACTS[ctx.fleet.system].store
    if not (ctx.has("sqlite") and path.exists()):
        ctx.is_by_luck = True
        return _in_threads(gated)
    results: list[Row | DoorError] = []
    with joined(path) as db:
        db.execute("BEGIN IMMEDIATE")
        thread = threading.Thread(target=lambda: results.extend(_in_threads(gated)))
        thread.start()
        _wait_at_the_lock(thread, asked, len(calls))
        db.execute("ROLLBACK")
        thread.join()
    return results


def _wait_at_the_lock(thread: threading.Thread, asked: Sequence[Door], count: int = 1) -> None:
    """Return when so many calls are asked in this thread, and their processes sleep; or when time is up."""
    deadline = time.monotonic() + AT_LOCK_S_MAX
    while len(asked) < count and thread.is_alive() and time.monotonic() < deadline:
        thread.join(PAUSE_S)
    # The kit's own threads sleep, too, when the calls are sent.
    come_to_rest([OURS, *(process for door in asked for process in door.processes())], deadline)


def _after(first: Callable[[], object], call: Callable[[], Any]) -> Callable[[], Any]:
    def run() -> Any:
        first()
        return call()

    return run


def _in_threads(calls: list[Callable[[], Row]]) -> list[Row | DoorError]:
    results: list[Row | DoorError] = [{} for _ in calls]

    def run(index: int, call: Callable[[], Row]) -> None:
        try:
            results[index] = call()
        except DoorError as error:
            results[index] = error

    threads = [threading.Thread(target=run, args=pair) for pair in enumerate(calls)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results
