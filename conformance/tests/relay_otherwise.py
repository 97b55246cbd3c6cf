"""The reference of `relay`, except that it chooses otherwise in all that docs/spec/relay.md lately leaves open."""

import functools
import inspect
import textwrap
from typing import Any

from refbus import driver
from refbus.kernel import msgfile
from refbus.relay import ledger, recovery, requests, scan, spawn
from refbus.relay.bus import RelayBus


def changed(module: Any, place: str, *pairs: tuple[str, str]) -> None:
    """A function, or a method, made anew with another text in some places."""
    owner = functools.reduce(getattr, place.split(".")[:-1], module)
    name = place.rpartition(".")[2]
    source = textwrap.dedent(inspect.getsource(getattr(owner, name)))
    for was, other in pairs:
        assert source.count(was) == 1, (place, was)
        source = source.replace(was, other)
    space: dict[str, Any] = {}
    exec(compile(source, place, "exec"), vars(module), space)
    setattr(owner, name, space[name])


# relay.log.41: the name of a header may begin with a digit.
msgfile._HEADER = msgfile.re.compile(r"([A-Z0-9_-]+):(.*)", msgfile.re.DOTALL)

# relay.log.30: an attempt that failed is no end of processing. relay.cursor.13: a pause goes on when the file changes.
TRIED = "CAST((SELECT value FROM orchestrator_state WHERE key = 'tried/' || messages.id) AS INTEGER)"
changed(ledger, "due", ("processed_at IS NULL OR processed_at + (?", f"{TRIED} + (?"))
changed(ledger, "retry", ("error, tx.now_ms, row.id),\n    )", "error, None, row.id),\n    )\n    tried(tx, row)"))


def tried(tx: Any, row: Any) -> None:
    """When."""
    tx.execute(
        "INSERT OR REPLACE INTO orchestrator_state VALUES (?, ?, ?)", (f"tried/{row.id}", str(tx.now_ms), tx.now_ms)
    )


vars(ledger)["tried"] = tried

# relay.retry.10: a message that went well in the end has no error.
changed(ledger, "complete", ("SET status = 'completed',", "SET status = 'completed', last_error = NULL,"))

# relay.retry.01: a file that is gone at a start was no attempt.
changed(
    recovery,
    "Recovery._release_claims",
    (
        'ledger.fail(tx, row, "file_disappeared")',
        'ledger.fail(tx, row._replace(retry_count=row.retry_count - 1), "file_disappeared")',
    ),
)

# relay.presence.33: the answer to a load has an id of the orchestrator.
changed(
    requests,
    "Requests._continuity",
    ("format_copy(names.ORCHESTRATOR, row.message_id,", "format_copy(names.ORCHESTRATOR, ID.format(row.name[:-4]),"),
)
vars(requests)["ID"] = "__orchestrator__/{}"

# relay.limit.01: a file that a later limit forbids fails when it is seen. relay.limit.04: only ready files wait.
# relay.cursor.14: a name that was used again is told when its file has settled.
changed(
    scan,
    "Scanner._sift",
    (
        'row.status != "pending":\n            if not file.stat.is_as(row.stat):',
        'row.status != "pending":\n            if not file.stat.is_as(row.stat) and settled(self, file):',
    ),
    (
        "if room == 0:",
        "if room == 0 and self._judged(file, outbox) is None:\n                pass\n            elif room == 0:",
    ),
    (
        "elif not file.stat.is_as(row.stat) or file.path in self.doubtful:\n            judged",
        "elif not file.stat.is_as(row.stat) or file.path in self.doubtful or large(self, file):\n            judged",
    ),
)


def settled(scanner: Any, file: Any) -> bool:
    """Is it old enough?"""
    unchanged_ns = scanner._monotonic_ns - scanner._first_seen[file.path][1]
    age_ns = msgfile.age_ns(file.stat, scanner._now_ns, unchanged_ns)
    return bool(age_ns >= scanner._store.config.settle_ms * 1_000_000)


vars(scan)["settled"] = settled
vars(scan)["large"] = lambda scanner, file: file.stat.size > scanner._store.config.message_bytes_max

# relay.limit.11: an odd entry in .pending is recorded, too.
changed(scan, "Scanner._pending", ("present.add(name)", "odd(self, status, path)\n            present.add(name)"))


def odd(scanner: Any, status: Any, path: str) -> None:
    """Record it, if it is."""
    if (event := scan.tree.refusal(status)) not in (None, "hard_link"):
        with scanner._store.transaction() as tx:
            scanner._audit.add(tx, event, path, None, scan.tree.stat_of(status))


vars(scan)["odd"] = odd


# Subscriptions end with their agent, and do not come back with it.
changed(
    spawn, "terminate", ('(name,))\n    tx.execute("DELETE', '(name,))\n    leaves(tx, name)\n    tx.execute("DELETE')
)


def leaves(tx: Any, name: str) -> None:
    """All its channels."""
    tx.execute("DELETE FROM subscriptions WHERE agent_name = ?", (name,))


vars(spawn)["leaves"] = leaves


# relay.lease.13: a session that is not open is refused at any call.
class Driver(driver.Driver):
    def close(self) -> dict[str, Any]:
        if self._bus is None:
            raise driver.NotOpen("no store is open")
        return super().close()


if __name__ == "__main__":
    driver.Driver = Driver  # type: ignore[misc]
    driver.serve({"relay": RelayBus})
