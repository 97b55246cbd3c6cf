"""What a user's site-packages receive."""

import subprocess
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_wheel_brings_four_packages_and_nothing_called_reference_or_chaos(tmp_path: Path) -> None:
    """Top-level names are properly named packages only; schemas and catalogues travel with them."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(build, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name.split("/")[0]}
    assert tops == {"refbus", "busproof", "buschaos", "busspark"}
    assert "refbus/worker/schema.sql" in names
    assert "busproof/requirements/worker.toml" in names
