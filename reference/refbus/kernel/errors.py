"""Every error that a bus answers with, by its code. `definite` says whether the operation certainly did not happen."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator


class BusError(Exception):
    """An operation did not succeed. `code` names why; `definite` promises that nothing happened."""

    code = "INTERNAL"
    definite = False

    def __init_subclass__(cls, *, code: str | None = None, definite: bool | None = None) -> None:
        cls.code = cls.code if code is None else code
        cls.definite = cls.definite if definite is None else definite

    def __init__(self, message: str, *, definite: bool | None = None) -> None:
        super().__init__(message)
        if definite is not None:
            self.definite = definite


class InvalidArgument(BusError, code="INVALID_ARGUMENT", definite=True):
    """A value that the operation does not take."""


class PayloadTooLarge(BusError, code="PAYLOAD_TOO_LARGE", definite=True):
    """More JSON than the bus carries."""


class IdConflict(BusError, code="ID_CONFLICT", definite=True):
    """The id is taken by a message with other content."""


class Backpressure(BusError, code="BACKPRESSURE", definite=True):
    """The recipient has too many unread messages."""


class StateConflict(BusError, code="STATE_CONFLICT", definite=True):
    """A worker is not in the state that the caller believes, or may not go where it is sent."""


class NotFound(BusError, code="NOT_FOUND", definite=True):
    """No such agent, vote, dead letter or artifact."""


class TopicNotFound(NotFound, code="TOPIC_NOT_FOUND"):
    """No such topic."""


class TopicClosed(BusError, code="TOPIC_CLOSED", definite=True):
    """Nothing can be sent to a closed topic."""


class AgentNameInUse(BusError, code="AGENT_NAME_IN_USE", definite=True):
    """The name is reserved, and the token does not prove that it is the caller's."""


class AgentNotJoined(BusError, code="AGENT_NOT_JOINED", definite=True):
    """The session is nobody on this topic, or another session took its name over."""


class NotClaimed(BusError, code="NOT_CLAIMED", definite=True):
    """A message that the caller has not claimed, or claimed and lost."""


class RateLimited(BusError, code="RATE_LIMITED", definite=True):
    """The agent's token bucket is empty."""


class CircuitOpen(BusError, code="CIRCUIT_OPEN", definite=True):
    """The circuit breaker lets nothing through."""


class VoteClosed(BusError, code="VOTE_CLOSED", definite=True):
    """The deadline of the vote has passed."""


class TimedOut(BusError, code="TIMEOUT"):
    """No answer in time. The request itself was sent."""


class NotOpen(BusError, code="NOT_OPEN", definite=True):
    """No store is open."""


class Locked(BusError, code="LOCKED", definite=True):
    """Another orchestrator lives on this folder."""


class SchemaMismatch(BusError, code="SCHEMA_MISMATCH", definite=True):
    """The file is of a version that this program does not know."""


class DbSchemaMismatch(SchemaMismatch, code="DB_SCHEMA_MISMATCH"):
    """The same, as the topics seed names it."""


class BlobInvalid(BusError, code="BLOB_INVALID", definite=True):
    """The value is no name of a blob."""


class BlobMissing(BusError, code="BLOB_MISSING", definite=True):
    """The blob's file is not there."""


class BlobCorrupt(BusError, code="BLOB_CORRUPT", definite=True):
    """The blob's file is not what its name says."""


class Busy(BusError, code="BUSY", definite=True):
    """Another process held the lock through all retries."""


class DbBusy(Busy, code="DB_BUSY"):
    """The same, as the topics seed names it."""


class Unreachable(BusError, code="UNREACHABLE"):
    """The server of the bus does not answer. Nobody knows what it still got, unless `definite` says so."""


class DiskFull(BusError, code="DISK_FULL", definite=True):
    """No space; everything that was begun is rolled back."""


class IoError(BusError, code="IO_ERROR"):
    """The disk failed. Nobody knows what it kept, unless `definite` says so."""


class Corrupt(BusError, code="CORRUPT"):
    """The database file is damaged."""


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
