"""The project's folders and file: made if missing, left alone if there, refused if somebody else's."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.errors import InvalidArgument, SchemaMismatch

OpenBus = Callable[..., CommsBus]


def test_every_connection_has_the_seeds_pragmas(bus: CommsBus) -> None:
    """WAL, NORMAL, 5000 ms, 64 MB (seed: SQLite Configuration)."""
    connection = bus.store.db.connection()
    pragmas = {
        name: connection.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("journal_mode", "synchronous", "busy_timeout", "cache_size")
    }
    assert pragmas == {"journal_mode": "wal", "synchronous": 1, "busy_timeout": 5000, "cache_size": -64000}


def test_full_synchronous_is_an_option(open_bus: OpenBus) -> None:
    """For those who fear power cuts; nothing else is."""
    assert open_bus(synchronous="FULL").store.db.connection().execute("PRAGMA synchronous").fetchone() == (2,)
    for wrong in ("OFF", "full", None):
        with pytest.raises(InvalidArgument):
            open_bus(synchronous=wrong)


@pytest.mark.parametrize("version", ["1.1", "2.0", "", "1", "\udcff"])
def test_another_version_is_refused(store: Path, version: str) -> None:
    """Before anything is touched (seed: protocol_version.txt)."""
    folder = store / ".claude" / "communications"
    folder.mkdir(parents=True)
    (folder / "protocol_version.txt").write_bytes(version.encode("utf-8", "surrogateescape"))
    with pytest.raises(SchemaMismatch) as caught:
        CommsBus(store)
    assert caught.value.definite
    assert list((store / ".claude").rglob("*")) == [folder, folder / "protocol_version.txt"]


def test_the_version_may_end_with_a_newline(store: Path) -> None:
    """As an editor or echo writes it."""
    folder = store / ".claude" / "communications"
    folder.mkdir(parents=True)
    (folder / "protocol_version.txt").write_text("1.0\n")
    with CommsBus(store):
        assert (folder / "protocol_version.txt").read_text() == "1.0\n"


@pytest.mark.parametrize("root", ["/nowhere/at/all", "/etc/passwd", "a\0b", 5, None])
def test_a_project_is_a_folder_that_exists(root: Any) -> None:
    """Named by its path."""
    with pytest.raises(InvalidArgument):
        CommsBus(root)


@pytest.mark.parametrize("option", ["retry_jitter", "rate_capacity", "rate_refill_per_s"])
def test_an_option_out_of_range_is_refused_when_the_bus_is_opened(tmp_path: Path, option: str) -> None:
    """And not in the first pause that it would make endless, or negative."""
    for value in (-1.0, 1e300, float("nan")):
        with pytest.raises(InvalidArgument, match=option):
            CommsBus(tmp_path, **{option: value})
