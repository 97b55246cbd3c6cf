"""Where the kit makes its stores."""

from pathlib import Path

import pytest

from busproof.bus import scratch


def test_the_folder_is_where_the_user_says_and_goes_in_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A bus that cannot live in memory is judged on a disk."""
    monkeypatch.setenv("BUSPROOF_SCRATCH", str(tmp_path))
    with scratch.scratch("try") as folder:
        assert folder.parent == tmp_path
        (folder / "store").mkdir()
    assert not folder.exists()


def test_memory_is_taken_only_where_there_is_room(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A container's 64 MiB are not enough for many stores, and a machine may have none."""
    monkeypatch.delenv("BUSPROOF_SCRATCH", raising=False)
    monkeypatch.setattr(scratch, "_MEMORY", tmp_path)
    with scratch.scratch() as folder:
        assert folder.parent == tmp_path
    with scratch.scratch(room_bytes=1 << 60) as folder:
        assert folder.parent != tmp_path
    monkeypatch.setattr(scratch, "_MEMORY", tmp_path / "none")
    with scratch.scratch() as folder:
        assert folder.is_dir()
