"""The content that a user's site-packages receive."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def wheel(of: Path, out: Path) -> zipfile.ZipFile:
    """Built as pip builds it."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(build, cwd=of, check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def project(folder: Path) -> Any:
    """Its table of pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_wheel_brings_four_packages_and_nothing_called_reference_or_chaos(tmp_path: Path) -> None:
    """Top-level names are properly named packages only; schemas and catalogues travel with them."""
    with wheel(ROOT, tmp_path) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name.split("/")[0]}
    assert tops == {"refbus", "busproof", "buschaos", "busspark"}
    assert "refbus/worker/schema.sql" in names
    assert "busproof/requirements/worker.toml" in names


def test_the_reference_alone_needs_nothing_of_the_kit(tmp_path: Path) -> None:
    """Its own wheel, in an interpreter that sees no other package at all, keeps a message."""
    with wheel(ROOT / "reference", tmp_path / "wheel") as archive:
        archive.extractall(tmp_path / "site")
    store = ["-m", "refbus", "worker", "--store", str(tmp_path / "store")]
    payload = '{"text": "hello"}'
    for command, expected in ((["publish", "--as", "ann", "task", payload], '"seq"'), (["search", "hello"], "hello")):
        done = subprocess.run(
            [sys.executable, "-S", "-P", *store, *command],
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, "")
        assert expected in done.stdout


def test_both_distributions_ask_for_the_same_versions() -> None:
    """A requirement of the reference stands in the root's list, in the extra of the same name or for all."""
    root, alone = project(ROOT), project(ROOT / "reference")
    always = set(root["dependencies"])
    assert set(alone["dependencies"]) <= always
    for extra, wanted in alone["optional-dependencies"].items():
        assert set(wanted) <= always | set(root["optional-dependencies"][extra])
