"""`topics`, as chaos sees it: an MCP server, looked at from outside."""

from __future__ import annotations

from typing import Any

from buschaos.plan import Call
from buschaos.subjects.base import Subject
from buschaos.subjects.topics.operations import OPERATIONS, enter, prepare
from buschaos.subjects.topics.state import comparable, facts, problems, promises, read


class NoMemory:
    """Nobody plays in random kills."""

    def fill(self, call: Call) -> dict[str, Any]:
        """As planned."""
        return call.params

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """Forgotten."""


SUBJECT = Subject(
    operations=OPERATIONS, prepare=prepare, roles=(), memory=NoMemory, retried=frozenset(), expected=frozenset(),
    settle=("topic_list", {"status": "all"}), export=None, inspect=facts, files=lambda _: [],
    comparable=comparable, promises=promises, problems=problems, read_all=lambda _: None, settle_ms=0,
    enter=enter, read=read, acts=frozenset({"chaos.kill_points", "chaos.gone_callers"}), is_slow_to_start=True,
)  # fmt: skip
