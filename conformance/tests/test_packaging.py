"""The content that a user's site-packages receive."""

import json
import lzma
import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from busproof.play.explore import corpus

ROOT = Path(__file__).parents[2]
DEMO = "faults/planted/worker/cursor.py"


def wheel(of: Path, out: Path) -> zipfile.ZipFile:
    """Built as pip builds it."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run(build, cwd=of, check=True, capture_output=True)
    (path,) = out.glob("*.whl")
    return zipfile.ZipFile(path)


def project(folder: Path) -> Any:
    """Its table of pyproject.toml."""
    return tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_the_wheel_brings_four_packages_and_no_more_than_it_starts(tmp_path: Path) -> None:
    """Schemas and catalogues travel with them; the corpus as a packed file a system, and of the faults the demo's."""
    with wheel(ROOT, tmp_path) as archive:
        names = archive.namelist()
        packed = lzma.decompress(archive.read("busproof/corpus/worker/packed.jsonl.xz")).decode()
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name.split("/")[0]}
    assert tops == {"refbus", "busproof", "buschaos", "busspark"}
    assert {"refbus/worker/schema.sql", "busproof/requirements/worker.toml", f"busproof/{DEMO}"} <= set(names)
    assert not [name for name in names if "evidence/" in name or "/tests/" in name or name.endswith(".jsonl")]
    assert {json.loads(line)["name"] for line in packed.splitlines()} == set(corpus.names("worker")) - {
        corpus.EACH_BOUND
    }
    assert next(tmp_path.glob("*.whl")).stat().st_size < 2_000_000


def test_the_reference_alone_needs_nothing_of_the_kit(tmp_path: Path) -> None:
    """Its own wheel, in an interpreter that sees no other package at all, keeps a message."""
    with wheel(ROOT / "reference", tmp_path / "wheel") as archive:
        archive.extractall(tmp_path / "site")
    store = ["-m", "refbus", "worker", "--store", str(tmp_path / "store")]
    publish = ["publish", "--as", "ann", "task", '{"text": "hello"}']
    is_new = f"refbus: made a new store in '{tmp_path / 'store'}'\n"
    for command, expected, errors in ((publish, '"seq"', is_new), (["search", "hello"], "hello", "")):
        done = subprocess.run(
            [sys.executable, "-S", "-P", *store, *command],
            env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
            capture_output=True,
            text=True,
        )
        assert (done.returncode, done.stderr) == (0, errors)
        assert expected in done.stdout


def test_both_distributions_ask_for_the_same_versions() -> None:
    """A requirement of the reference stands in the root's list, in the extra of the same name or for all."""
    root, alone = project(ROOT), project(ROOT / "reference")
    always = set(root["dependencies"])
    assert set(alone["dependencies"]) <= always
    for extra, wanted in alone["optional-dependencies"].items():
        assert set(wanted) <= always | set(root["optional-dependencies"][extra])
