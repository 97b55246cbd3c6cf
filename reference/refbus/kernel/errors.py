"""Every error that a bus answers with, by its code. `definite` says whether the operation certainly did not happen."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator


class BusError(Exception):
    """An operation did not succeed. `code` names why; `definite` promises that nothing happened."""

    code = "INTERNAL"
    definite = False

    def __init__(self, message: str, *, definite: bool | None = None) -> None:
        super().__init__(message)
        if definite is not None:
            self.definite = definite


class InvalidArgument(BusError):
    """A value that the operation does not take."""

    code, definite = "INVALID_ARGUMENT", True


class PayloadTooLarge(BusError):
    """More JSON than the bus carries."""

    code, definite = "PAYLOAD_TOO_LARGE", True


class IdConflict(BusError):
    """The id is taken by a message with other content."""

    code, definite = "ID_CONFLICT", True


class Backpressure(BusError):
    """The recipient has too many unread messages."""

    code, definite = "BACKPRESSURE", True


class StateConflict(BusError):
    """A worker is not in the state that the caller believes, or may not go where it is sent."""

    code, definite = "STATE_CONFLICT", True


class NotFound(BusError):
    """No such agent, vote, dead letter or artifact."""

    code, definite = "NOT_FOUND", True


class TopicNotFound(NotFound):
    """No such topic."""

    code = "TOPIC_NOT_FOUND"


class TopicClosed(BusError):
    """Nothing can be sent to a closed topic."""

    code, definite = "TOPIC_CLOSED", True


class AgentNameInUse(BusError):
    """The name is reserved, and the token does not prove that it is the caller's."""

    code, definite = "AGENT_NAME_IN_USE", True


class AgentNotJoined(BusError):
    """The session is nobody on this topic, or another session took its name over."""

    code, definite = "AGENT_NOT_JOINED", True


class NotClaimed(BusError):
    """A message that the caller has not claimed, or claimed and lost."""

    code, definite = "NOT_CLAIMED", True


class RateLimited(BusError):
    """The agent's token bucket is empty."""

    code, definite = "RATE_LIMITED", True


class CircuitOpen(BusError):
    """The circuit breaker lets nothing through."""

    code, definite = "CIRCUIT_OPEN", True


class VoteClosed(BusError):
    """The deadline of the vote has passed."""

    code, definite = "VOTE_CLOSED", True


class TimedOut(BusError):
    """No answer in time. The request itself was sent."""

    code = "TIMEOUT"


class NotOpen(BusError):
    """No store is open."""

    code, definite = "NOT_OPEN", True


class Locked(BusError):
    """Another orchestrator lives on this folder."""

    code, definite = "LOCKED", True


class SchemaMismatch(BusError):
    """The file is of a version that this program does not know."""

    code, definite = "SCHEMA_MISMATCH", True


class DbSchemaMismatch(SchemaMismatch):
    """The same, as the topics seed names it."""

    code = "DB_SCHEMA_MISMATCH"


class BlobInvalid(BusError):
    """The value is no name of a blob."""

    code, definite = "BLOB_INVALID", True


class BlobMissing(BusError):
    """The blob's file is not there."""

    code, definite = "BLOB_MISSING", True


class BlobCorrupt(BusError):
    """The blob's file is not what its name says."""

    code, definite = "BLOB_CORRUPT", True


class Busy(BusError):
    """Another process held the lock through all retries."""

    code, definite = "BUSY", True


class DbBusy(Busy):
    """The same, as the topics seed names it."""

    code = "DB_BUSY"


class Unreachable(BusError):
    """The server of the bus does not answer. Nobody knows what it still got, unless `definite` says so."""

    code = "UNREACHABLE"


class DiskFull(BusError):
    """No space; everything that was begun is rolled back."""

    code, definite = "DISK_FULL", True


class IoError(BusError):
    """The disk failed. Nobody knows what it kept, unless `definite` says so."""

    code = "IO_ERROR"


class Corrupt(BusError):
    """The database file is damaged."""

    code = "CORRUPT"


class Internal(BusError):
    """A fault of this program."""


INTERNAL_SAYS = "a fault of this program; its standard error says more"  # to a caller, who can mend nothing


@contextlib.contextmanager
def after_a_part(is_done: Callable[[], object] = lambda: True) -> Iterator[None]:
    """Around a later step of a call: once a part is done, no error of this step promises that nothing happened."""
    try:
        yield
    except BusError as error:
        error.definite = error.definite and not is_done()
        raise


def of_os_error(error: OSError, *, definite: bool) -> BusError:
    """The bus error for a failed system call; `definite`: the caller has undone what it had begun."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT) and definite:
        return DiskFull(str(error))
    return IoError(str(error), definite=definite)
