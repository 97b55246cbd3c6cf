"""Evidence: records are packed, found again by their id, and named where they are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from busproof import evidence
from busproof.evidence import NoEvidenceError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An evidence folder of its own."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_same_records_make_the_same_bytes_in_whatever_order_they_come() -> None:
    records = [{"diff": f"+{n}", "id": f"blind-{n}", "text": "-a\n+ü\u2028\n" * n} for n in range(19)]
    first = evidence.write("faults", records).read_bytes()
    assert evidence.write("faults", reversed(records)).read_bytes() == first
    assert sorted(evidence.read("faults").values(), key=records.index) == records
    assert evidence.record("faults", "blind-1") == records[1]
    assert evidence.kinds() == ["faults"]


@pytest.mark.usefixtures("folder")
def test_an_update_replaces_records_of_the_same_id_and_keeps_the_others() -> None:
    evidence.update("kills", [{"id": "a", "rows": []}, {"id": "b", "rows": []}])
    evidence.update("kills", [{"id": "b", "rows": ["worker.log.01"]}])
    assert evidence.read("kills") == {"a": {"id": "a", "rows": []}, "b": {"id": "b", "rows": ["worker.log.01"]}}


def test_what_is_missing_is_named(folder: Path) -> None:
    evidence.write("kills", [{"id": "worker.lease.over"}])
    with pytest.raises(NoEvidenceError, match=r"no evidence of the kind 'blind': there are kills"):
        evidence.read("blind")
    with pytest.raises(NoEvidenceError, match=r"near it: worker\.lease\.over"):
        evidence.record("kills", "worker.lease.ower")
    with pytest.raises(ValueError, match="two records of kills have the id 'a'"):
        evidence.write("kills", [{"id": "a"}, {"id": "a"}])
    assert list(evidence.read("kills")) == ["worker.lease.over"]
    assert [path.name for path in folder.iterdir()] == ["kills.jsonl.xz"]


def test_an_installed_kit_says_that_evidence_is_in_the_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(evidence, "FOLDER", tmp_path / "nowhere")
    with pytest.raises(NoEvidenceError, match="in a checkout"):
        evidence.read("kills")
