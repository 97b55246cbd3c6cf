"""A known fault of SQLite is forced, every time, on the library of this Python; a repaired library stands it."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from buschaos import walreset
from busproof.oddities.library import resets_wrongly


@pytest.mark.parametrize("turn", range(3))
def test_the_log_is_reset_under_a_checkpoint(tmp_path: Path, turn: int) -> None:
    """Something is lost exactly if the version has the fault; no luck is in it."""
    version, lost = walreset.lost(tmp_path.resolve())
    assert version == sqlite3.sqlite_version
    assert bool(lost) == resets_wrongly(sqlite3.sqlite_version_info[:3]), lost
