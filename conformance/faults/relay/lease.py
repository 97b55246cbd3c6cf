"""Faults of relay, lease."""

import contextlib
import json
import os
from pathlib import Path
from typing import Any

from plant import fault, patch, rewrite

from refbus import driver
from refbus.relay import deliver, ledger, lock, process, recovery
from refbus.relay.bus import RelayBus
from refbus.relay.lock import Lock
from refbus.relay.passes import Passes
from refbus.relay.store import Store

CONTROL = "limit.permissions"


@fault("relay.lease.03")
def believes_its_own_number():
    """A .lock that names the opening process is taken for a live orchestrator's: in a container each is process 1."""
    rewrite(lock._living_holder, " and pid != os.getpid()", "")
    patch(lock, _ourselves=lambda: {"pid": os.getpid()})


@fault("relay.lease.03")
def believes_the_dead():
    """A number alone in .lock is taken for a live orchestrator's, also of a process that has ended."""
    _living_holder = lock._living_holder
    patch(lock, _living_holder=lambda content: int(content) if content.strip().isdigit() else _living_holder(content))


@fault("relay.lease.13", item="corpus:in_hand")
def calls_after_the_end():
    """A call after close is answered."""
    rewrite(driver.Driver._call, 'raise NotOpen("no store is open")', "return {}")


@fault("relay.lease.04")
def claims_anything():
    """A message that another one has claimed is processed."""
    rewrite(ledger.due, "WHERE status = 'pending'", "WHERE status IN ('pending', 'processing')")
    patch(ledger, claim=lambda tx, rows: list(rows))


@fault("relay.lease.08")
class DoneAgain(RelayBus):
    """A fresh orchestrator puts archived files back into the outboxes."""

    def __init__(self, root: Any, **options: Any) -> None:
        for path in list(Path(root).glob("archive/*/*/*.msg")):
            path.rename(path.parents[3] / "agents" / path.parent.name / "outbox" / f"2{path.name[1:]}")
        super().__init__(root, **options)


@fault("relay.lease.11", item="corpus:changes")
class EverybodyIsNew(RelayBus):
    """A fresh orchestrator takes all agents for inactive."""

    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        with self.store.transaction() as tx:
            tx.execute("UPDATE agents SET status = 'inactive'")


@fault("relay.lease.14")
class LetsGoBeforeItsEnd(RelayBus):
    """The lock is given away before the agents that were started have ended."""

    def close(self) -> None:
        self.store.lock.release()
        super().close()


@fault("relay.lease.03")
def locked_for_ever():
    """The lock of a dead orchestrator holds."""
    patch(lock, _living_holder=lambda content: json.loads(content)["pid"] if content else None)


@fault("relay.lease.02")
def locked_is_busy():
    """A second orchestrator is told that the ledger is busy."""
    rewrite(
        lock.Lock.take,
        'raise Locked(f"another orchestrator holds {self._path}") from None',
        'from refbus.kernel.errors import Busy\n\n                raise Busy("wait") from None',
    )


@fault("relay.lease.01")
def no_lock():
    """Nothing keeps a second orchestrator out."""
    rewrite(
        lock.Lock.take,
        "fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)",
        "fcntl.flock(fd, fcntl.LOCK_UN)\n                os.ftruncate(fd, 0)",
    )


@fault("relay.lease.05", "relay.lease.06")
def no_recovery():
    """A message that was in hand stays so for ever."""
    rewrite(
        recovery.Recovery._release_claims,
        'for row in self._rows(tx, "processing"):',
        'for row in self._rows(tx, "nothing"):',
    )


@fault("relay.lease.10")
class NobodyWaits(RelayBus):
    """Nobody waits for a locked ledger."""

    def __init__(self, root: Any, **options: Any) -> None:
        super().__init__(root, **options)
        self.store.db.connection().execute("PRAGMA busy_timeout = 0")


@fault("relay.lease.15")
def nothing_is_left_half_done():
    """A pass that an error ended is taken for one that left nothing half done: the next one begins without a
    recovery.
    """
    SCAN = Passes.scan

    def scan(self: Passes) -> Any:
        self._is_interrupted = False
        return SCAN(self)

    patch(Passes, scan=scan)


@fault("relay.lease.07")
def operations_stay_open():
    """Operations are never marked as done."""
    rewrite(deliver.Delivery.complete, "end(tx, operation)", "tx.now_ms")


@fault("relay.lease.17")
def refused_and_still_there():
    """An open that is refused for its options leaves its lock held: nobody else can run the folder."""
    _prepare = Store._prepare

    def forgets_its_lock(store: Store, options: dict[str, Any]) -> None:
        try:
            _prepare(store, options)
        except BaseException:
            store.lock.release = lambda: None
            raise

    patch(Store, _prepare=forgets_its_lock)


@fault("relay.lease.16", chaos={"holds": True, "only": "close", "twice": 24})
def removes_its_lock_first():
    """A close removes .lock before it lets go: another that has just opened the file then holds one without a name."""

    def removed(self: Lock) -> None:
        fd, self._fd = self._fd, None
        if fd is not None:
            with contextlib.suppress(OSError):
                os.unlink(self._path)
            os.close(fd)

    patch(Lock, release=removed)


@fault("relay.lease.09", item="corpus:changes")
def what_is_gone_waits():
    """A pending row whose file is gone waits."""
    rewrite(
        process.Processing._read,
        'raise Failure("file_disappeared") from error',
        '(later := Failure("file_disappeared")).is_transient = True\n            raise later from error',
    )
