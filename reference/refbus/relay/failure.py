"""Why a message fails: the first word of `last_error`."""

from __future__ import annotations

TRANSIENT = frozenset({"unknown_agent", "no_lead"})  # the agent that is meant may still come


class Failure(Exception):
    """A message cannot be handled. `reason` is one word, `detail` says more."""

    def __init__(self, reason: str, detail: str = "", *, is_final: bool = False) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.is_transient = reason in TRANSIENT and not is_final
