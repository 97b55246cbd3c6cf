"""Public buses: each folder is small, and tells each row that breaks. `tox run -e field` judges them again."""

import tomllib
from pathlib import Path

import pytest

from busproof.bus.toml.form import load
from busproof.contract.catalogue import catalogue

FIELD = Path(__file__).parents[1] / "examples" / "field"
BUSES = sorted(path.name for path in FIELD.iterdir() if path.is_dir())


@pytest.mark.parametrize("name", BUSES)
def test_a_public_bus_is_mapped_in_30_lines_and_its_code_has_25(name: str) -> None:
    """Blank lines included."""
    expected = tomllib.loads((FIELD / name / "expected.toml").read_text(encoding="utf-8"))
    programs = [*(FIELD / name).glob("call.*"), *(FIELD / name).glob("adapter.*")]
    assert [len(program.read_text(encoding="utf-8").splitlines()) <= 25 for program in programs] in ([], [True])
    if "adapter" not in expected:
        load(FIELD / name / "bus.toml")
        assert len((FIELD / name / "bus.toml").read_text(encoding="utf-8").splitlines()) <= 30


@pytest.mark.parametrize("name", BUSES)
def test_each_row_that_breaks_is_a_fault_that_the_readme_tells(name: str) -> None:
    """A misfit is a promise to be struck, and a fault of the kit is mended: neither stands here."""
    expected = tomllib.loads((FIELD / name / "expected.toml").read_text(encoding="utf-8"))
    broken = {**expected.get("failed", {}), **expected.get("chaos", {})}
    assert (expected["verdict"] == "invalid") == bool(expected.get("failed"))
    assert broken.keys() <= catalogue("mailbox").keys()
    assert all(reason.startswith("fault: ") for reason in broken.values())
    page = (FIELD / name / "README.md").read_text(encoding="utf-8") if broken else ""
    assert [row for row in broken if f"`{row}`" not in page] == []
