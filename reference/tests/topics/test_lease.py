"""Topics and names: the right to a name, and how long it lasts."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.kernel.clock import Clock
from refbus.kernel.errors import AgentNotJoined

Join = Callable[..., Any]


def test_a_takeover_by_a_server_without_fencing_is_seen_too(join: Join, clock: Clock, tmp_path: Path) -> None:
    """It moves last_claimed_at."""
    alice = join("alice")
    with sqlite3.connect(tmp_path / "bus.sqlite") as file:
        file.execute("UPDATE agent_name_reservations SET last_claimed_at = last_claimed_at + 1")
    file.close()
    with pytest.raises(AgentNotJoined):
        alice.sync()
