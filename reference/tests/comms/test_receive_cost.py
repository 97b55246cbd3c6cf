"""Receiving on comms: the cost of a look does not depend on messages that are pending for others."""

from __future__ import annotations

from pathlib import Path

from refbus.comms import route
from refbus.comms.bus import CommsBus


def test_a_look_passes_over_nobody_elses_messages_and_sorts_nothing(tmp_path: Path) -> None:
    """Both halves come sorted from the index by addressee, and are merged."""
    with CommsBus(tmp_path) as bus:
        values = {"channel": "general", "agent": "bob", "now": "", "limit": 10}
        plan = [row[-1] for row in bus.store.db.rows(f"EXPLAIN QUERY PLAN {route._READY}", values)]
    assert sum("idx_ready_for_agent (channel=? AND to_agent=? AND status=?)" in step for step in plan) == 2
    assert not any("TEMP B-TREE" in step or "SCAN" in step for step in plan)
