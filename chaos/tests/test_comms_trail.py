"""The audit trail after a run: any bus's own lines are understood, and lost or doubled lines are found."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from buschaos.state import Evidence, Promise
from buschaos.subjects.comms import files
from buschaos.subjects.comms.state import problems

SENT = {"was": "sent", "by": "ann", "on": "m1"}
CLAIMED = {"was": "taken", "by": "bob", "on": "m1"}
STRANGERS = {"tool": "Edit"}


def problems_of(store: Path, *lines: dict[str, Any], end: str = "\n") -> list[str]:
    """The problems of a store of one message, claimed once, and this trail."""
    trail = store / ".claude" / "audit-trail.jsonl"
    trail.parent.mkdir()
    trail.write_text("\n".join(map(json.dumps, lines)) + end)
    message = {"id": "m1", "payload": "{}", "status": "processing", "to_agent": "bob", "delivery_count": 1}
    promise = Promise("m1", None, {"payload": {}})
    evidence = Evidence({"messages": [message]}, files.facts(store), [promise], exported=True)
    return [problem.why for problem in problems(evidence)]


def test_members_may_have_any_name(tmp_path: Path) -> None:
    """No number and no word of the reference's is asked for; lines of others stand among them."""
    assert problems_of(tmp_path, STRANGERS, SENT, STRANGERS, CLAIMED) == []


@pytest.mark.parametrize(
    ("lines", "end", "says"),
    [
        ((CLAIMED,), "\n", "missing in the audit trail"),
        ((SENT,), "\n", "missing in the audit trail"),
        ((SENT, CLAIMED, CLAIMED), "\n", "doubled"),
        ((SENT, CLAIMED), "", "torn: the last line is not ended"),
    ],
)
def test_what_is_lost_doubled_or_torn_is_found(
    tmp_path: Path, lines: tuple[dict[str, Any], ...], end: str, says: str
) -> None:
    """Each line counts."""
    assert any(says in why for why in problems_of(tmp_path, *lines, end=end))
