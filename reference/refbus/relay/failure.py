"""Why a message fails, and errors of the disk on one file.

Such a file waits, all others go on, and the pass tells of it in the end. Not at once, though. Most such errors are gone
in the next pass, and no message shall overtake another for one of those: an error that is met for the first time ends
its pass. A file that meets it again in the next one is left alone.
"""

from __future__ import annotations

import logging

log = logging.getLogger("refbus.relay.failure")

TRANSIENT = frozenset({"unknown_agent", "no_lead"})  # the agent that is meant may still come


class Failure(Exception):
    """A message cannot be handled. The first word of `last_error` is `reason`; `detail` says more."""

    def __init__(self, reason: str, detail: str = "", *, is_final: bool = False) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.is_transient = reason in TRANSIENT and not is_final


class Later(Exception):
    """Nothing can be said of a message now. Its row stays as it is, and the next pass looks again."""


class Changed(Later):
    """A pending file is not the one that entered the ledger: the next look reads it again."""


class Troubles:
    """Of one pass, and the paths of those of the last one."""

    def __init__(self) -> None:
        self._before: set[str] = set()
        self._met: dict[str, OSError] = {}

    def begin(self) -> None:
        """Another pass."""
        self._before, self._met = set(self._met), {}

    def add(self, path: str, error: OSError) -> None:
        """Nothing can be done with this file now. An owner may forbid it: that ends no pass."""
        log.warning("left", extra={"path": path, "error": str(error)})
        if not isinstance(error, PermissionError):
            self._met[path] = error

    def stop(self) -> None:
        """Raise an error that was not met in the last pass."""
        for path, error in self._met.items():
            if path not in self._before:
                raise error

    @property
    def first(self) -> OSError | None:
        """The first error of this pass, if there was any."""
        return next(iter(self._met.values()), None)
