"""Artifacts: large results in files of their own, whole, and where they seem to lie."""

from __future__ import annotations

import os
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from refbus.comms.bus import CommsBus
from refbus.kernel.errors import BlobCorrupt, BusError, InvalidArgument, NotFound

PATH = ".claude/artifacts/bob/t1/result.json"


@pytest.mark.parametrize("tidied", [".claude/artifacts/bob", ".claude/artifacts"])
def test_an_artifact_is_written_again_where_somebody_has_tidied_up(bus: CommsBus, store: Path, tidied: str) -> None:
    """The seed's listing makes all of the path for each artifact."""
    bus.write_artifact("bob", "t1", {"n": 1})
    shutil.rmtree(store / tidied)
    bus.write_artifact("bob", "t1", {"n": 2})
    assert bus.read_artifact(PATH) == {"content": {"n": 2}}


def test_a_name_may_begin_with_a_dot(bus: CommsBus) -> None:
    """As scratch files do, which are made with a name that nobody has."""
    path = bus.write_artifact(".tmp-a", ".tmp-t", [1], ".tmp-x")["artifact_path"]
    assert bus.read_artifact(path) == {"content": [1]}


@pytest.mark.parametrize("at", ["bob", "bob/t1", "bob/t1/result.json"])
def test_symbolic_links_are_not_followed(bus: CommsBus, tmp_path: Path, at: str) -> None:
    """At any step of the way, to read or to write (C9)."""
    outside = tmp_path / "outside"
    (outside / "t1").mkdir(parents=True)
    (outside / "t1" / "result.json").write_text('"secret"')
    target = {"bob": outside, "bob/t1": outside / "t1", "bob/t1/result.json": outside / "t1" / "result.json"}[at]
    link = bus.store.artifacts / at
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(target)
    with pytest.raises(InvalidArgument, match="symbolic link"):
        bus.read_artifact(PATH)
    with pytest.raises(InvalidArgument, match="symbolic link"):
        bus.write_artifact("bob", "t1", "ours")
    assert (outside / "t1" / "result.json").read_text() == '"secret"'


def test_a_link_that_leads_to_itself_is_refused(bus: CommsBus) -> None:
    """It leads nowhere, which is no inner error."""
    (bus.store.artifacts / "loop").symlink_to("loop")
    for refused in (
        lambda: bus.write_artifact("loop", "t", 1),
        lambda: bus.read_artifact(".claude/artifacts/loop/t/r.json"),
    ):
        with pytest.raises(InvalidArgument):
            refused()


def test_what_cannot_be_read_says_why(bus: CommsBus, store: Path) -> None:
    """Not there, no JSON, no file; and no descriptor stays open."""
    with pytest.raises(NotFound):
        bus.read_artifact(PATH)
    bus.write_artifact("bob", "t1", {})
    for torn in (b'{"n": ', b"\xff", b"", b"NaN"):
        (store / PATH).write_bytes(torn)
        with pytest.raises(BlobCorrupt):
            bus.read_artifact(PATH)
    (store / PATH).unlink()
    (store / PATH).mkdir()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(BlobCorrupt):
        bus.read_artifact(PATH)
    assert len(os.listdir("/proc/self/fd")) == before


def test_where_only_the_record_fails_nobody_is_told_that_nothing_happened(
    bus: CommsBus, stranger: sqlite3.Connection
) -> None:
    """The file is there: the error is not definite."""
    stranger.execute("CREATE TRIGGER no BEFORE INSERT ON audit_log BEGIN SELECT raise(ABORT, 'no record'); END")
    with pytest.raises(BusError, match="no record") as caught:
        bus.write_artifact("bob", "t1", {"n": 1})
    assert not caught.value.definite
    assert bus.read_artifact(PATH) == {"content": {"n": 1}}


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/etc/passwd",
        ".claude/communications/a/b/c",
        ".claude/artifacts/bob/t1",
        ".claude/artifacts/bob/t1/r/s",
        ".claude/artifacts/../../../etc/passwd",
        ".claude/artifacts/bob/../result.json",
        ".claude/artifacts//t1/x",
        None,
        5,
    ],
)
def test_paths_that_lead_elsewhere_are_refused(bus: CommsBus, path: Any) -> None:
    """.claude/artifacts/AGENT/TASK/NAME and nothing else (C9)."""
    with pytest.raises(InvalidArgument):
        bus.read_artifact(path)
