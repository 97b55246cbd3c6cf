"""The adapters to copy are short, complete for the core, and valid."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from busproof.pages.report import lines

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(("path", "lines_max"), [("minimal_python/adapter.py", 40), ("minimal_node/adapter.mjs", 20)])
def test_the_adapter_is_short(path: str, lines_max: int) -> None:
    """A complete adapter fits in 40 lines of Python or 20 of Node."""
    assert len((EXAMPLES / path).read_text().splitlines()) <= lines_max


@pytest.mark.parametrize(
    ("program", "path"),
    [
        (sys.executable, "minimal_python/adapter.py"),
        pytest.param("node", "minimal_node/adapter.mjs", marks=pytest.mark.nightly),
    ],
)
def test_the_adapter_and_its_bus_are_valid_for_the_core(program: str, path: str, tmp_path: Path) -> None:
    """Held to the profile `core`. Without Node this fails, because then nothing was shown."""
    assert shutil.which(program), f"{program} is needed for this test (Debian: apt-get install nodejs)"
    command = [
        sys.executable,
        "-m",
        "busproof",
        "check",
        "worker",
        "--bus",
        f"exec:{program} {EXAMPLES / path}",
        "--profile",
        "core",
        "--out",
        str(tmp_path),
        "-j",
        "1",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    report = lines.load(tmp_path / "report.jsonl")
    assert set(report.footer["counts"]) == {"pass", "not-applicable"}
