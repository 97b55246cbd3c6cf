"""The workload of `topics` goes on where a server refuses a call that a client would simply try again."""

import random
from typing import Any

import pytest

from busproof.bus.base import Refused
from busproof.play.workload.common import Step
from busproof.play.workload.topics import play_step

SYNC = Step("sync", {"topic": "north", "outbox": [], "again": False, "wait_seconds": 0, "max_items": 1})


class Stub:
    """A session whose `sync` is refused with a code, once."""

    agent, calls = "ann", ()

    def __init__(self, code: str) -> None:
        self._code = code

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.calls += (method,)
        if method == "sync" and self._code:
            code, self._code = self._code, ""
            raise Refused(code, "", definite=True)
        return {"topic_id": "t", "received": []}


def test_a_session_that_could_not_join_at_first_joins_later() -> None:
    """A race for a new file or a name must not leave a history without messages."""
    session = Stub("AGENT_NOT_JOINED")
    play_step(session, SYNC, random.Random(1))  # type: ignore[arg-type]
    play_step(session, SYNC, random.Random(1))  # type: ignore[arg-type]
    resolve, join = ("topic_resolve", "sync"), ("topic_create", "topic_join")
    assert session.calls == (*resolve, *join, *resolve)


def test_what_is_busy_is_not_joined_again() -> None:
    """It is recorded, and the next step goes on."""
    session = Stub("DB_BUSY")
    with pytest.raises(Refused, match="DB_BUSY"):
        play_step(session, SYNC, random.Random(1))  # type: ignore[arg-type]
    assert session.calls == ("topic_resolve", "sync")
