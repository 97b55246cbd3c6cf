"""Which backend a store is on."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

from refbus.kernel.errors import InvalidArgument, Unreachable
from refbus.timeline import config
from refbus.timeline.bus import TimelineBus


def test_sqlite_is_the_default(store: Path) -> None:
    """No server is needed (T7)."""
    with TimelineBus(store) as bus:
        assert bus.store.backend == "sqlite"
    assert (store / "timeline.db").exists()


def test_the_seeds_own_file_is_read(store: Path) -> None:
    """Section Queue Backend."""
    (store / "config.toml").write_text(
        '[queue]\nbackend = "nats"\nnats_url = "nats://localhost:4222"\nnats_creds = "~/.nats.creds"\n'
    )
    assert config.load(store) == ("nats", "nats://localhost:4222", "~/.nats.creds", 1)
    assert config.load(store, backend="sqlite").backend == "sqlite"


@pytest.mark.parametrize(
    "text",
    [
        "[queue",
        "queue = 1",
        '[queue]\nbackend = "kafka"',
        "[queue]\nbackend = 1",
        "[queue]\nnats_url = 5",
        "[queue]\nnats_creds = 5",
        '[queue]\nurl = "x"',
        "[queue]\nnats_replicas = 0",
        '[queue]\nbackend = "nats"\nnats_url = "no url"',
    ],
)
def test_a_file_that_cannot_be_meant_is_refused(store: Path, text: str) -> None:
    """A misspelt name must not put the record somewhere else."""
    (store / "config.toml").write_text(text)
    with pytest.raises(InvalidArgument):
        TimelineBus(store)


def test_a_server_that_is_not_there_is_told_and_nothing_happened(store: Path) -> None:
    """In seconds."""
    with pytest.raises(Unreachable) as refused:
        TimelineBus(store, backend="nats", nats_url="nats://127.0.0.1:1")
    assert refused.value.definite


@pytest.mark.parametrize("creds", ["missing", ".", "without a package that signs"])
def test_credentials_that_cannot_be_used_are_refused_and_nothing_is_left(
    store: Path, monkeypatch: pytest.MonkeyPatch, creds: str
) -> None:
    """No file, a folder, and a file with which nobody here can sign: before a server is asked for."""
    if creds.startswith("without"):
        (store / creds).write_text("-----BEGIN NATS USER JWT-----")
        monkeypatch.setitem(sys.modules, "nkeys", None)
    with pytest.raises(InvalidArgument, match="nats_creds"):
        TimelineBus(store, backend="nats", nats_url="nats://127.0.0.1:1", nats_creds=str(store / creds))
    assert "nats" not in [thread.name for thread in threading.enumerate()]
