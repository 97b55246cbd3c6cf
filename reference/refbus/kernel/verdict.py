"""Replies that are as true as what they say: the seeds return a bool where the reply has more to tell."""

from __future__ import annotations

from typing import Any, TypeVar, cast

Reply = TypeVar("Reply")


class Verdict(dict[str, Any]):
    """A reply whose first member says yes or no, and that is true only at a yes: `if bus.claim_message(…)`."""

    def __bool__(self) -> bool:
        return bool(next(iter(self.values())))


def verdict(reply: Reply) -> Reply:
    """The same reply, as true as its first member."""
    return cast("Reply", Verdict(cast("dict[str, Any]", reply)))
