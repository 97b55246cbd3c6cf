"""`tox run -e release`: builds what a release publishes, and judges it. Exit 1 if it is not as RELEASING.md says.

Both distributions are built twice, and must come out byte by byte the same. Wheels keep to their sizes. dist/ has an
SBOM and the sums of all files. New environments of Debian's Python install the wheel and the sdist, and play check,
chaos and audit.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
DIST = ROOT / "dist"
DISTRIBUTIONS = {"busproof": ROOT, "refbus": ROOT / "reference"}
BYTES_MAX = {"busproof": 2_000_000, "refbus": 330_000}
PLAYED = (
    ["check", "worker", "--only", "worker.log.01"],
    ["chaos", "worker", "--quick", "--out", "chaos"],
    ["audit", "chaos/history.jsonl"],
)


def main() -> int:
    """Build, compare, measure, describe, install."""
    faults = [fault for name in DISTRIBUTIONS for fault in _built(name)]
    files = sorted(path for path in DIST.iterdir() if path.suffix in (".whl", ".gz"))
    (DIST / "sbom.json").write_text(json.dumps(_sbom(), indent=1) + "\n", encoding="utf-8")
    sums = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}" for path in [*files, DIST / "sbom.json"]]
    (DIST / "SHA256SUMS").write_text("\n".join(sums) + "\n", encoding="utf-8")
    for path in files:
        print(f"{path.stat().st_size:>9,} bytes  {path.name}")
    for archive in sorted(DIST.glob("busproof-*.*")):
        faults += _played(archive)
    print(*(f"✗ {fault}" for fault in faults), sep="\n")
    return int(bool(faults))


def _built(name: str) -> list[str]:
    """Build into dist/, build again elsewhere, and compare."""
    moment = subprocess.run(["git", "log", "-1", "--format=%ct"], cwd=ROOT, capture_output=True, text=True, check=True)
    env = {**os.environ, "SOURCE_DATE_EPOCH": moment.stdout.strip()}
    with tempfile.TemporaryDirectory() as again:
        for folder in (str(DIST), again):
            build = [sys.executable, "-m", "hatchling", "build", "-d", folder]
            subprocess.run(build, cwd=DISTRIBUTIONS[name], env=env, check=True, capture_output=True)
        built = list(Path(again).iterdir())
        differing = [path.name for path in built if path.read_bytes() != (DIST / path.name).read_bytes()]
    sizes = {path.name: path.stat().st_size for path in DIST.glob(f"{name}-*.whl")}
    return [
        *(f"{file} is not the same when it is built again" for file in differing),
        *(f"{file} has {size:,} bytes" for file, size in sizes.items() if size > BYTES_MAX[name]),
    ]


def _sbom() -> dict[str, Any]:
    """What both distributions are made of and ask for, in the form of CycloneDX."""
    components, version = {}, ""
    for name, folder in DISTRIBUTIONS.items():
        project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
        for scope, wanted in {"": project["dependencies"], **project["optional-dependencies"]}.items():
            for requirement in wanted if scope not in ("all", "dev") else []:
                package = requirement.split("[")[0].split(";")[0].rstrip("<>=!0123456789., ")
                if package != name:
                    components[package] = {
                        "type": "library",
                        "name": package,
                        "purl": f"pkg:pypi/{package.lower()}",
                        "scope": "optional" if scope else "required",
                        "description": requirement,
                    }
        version = version or next(DIST.glob(f"{name}-*.whl")).name.split("-")[1]
    root = {"type": "application", "name": "busproof", "version": version, "purl": f"pkg:pypi/busproof@{version}"}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": root},
        "components": [components[package] for package in sorted(components)],
    }


def _played(archive: Path) -> list[str]:
    """From `pip install` to verdicts, as a newcomer has them."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        began = time.monotonic()
        subprocess.run([_python(), "-m", "venv", f"{folder}/venv"], check=True)
        install = f"busproof[chaos,audit] @ {archive.as_uri()}"
        subprocess.run([f"{folder}/venv/bin/pip", "install", "--quiet", install], check=True)
        for argv in PLAYED:
            ended = subprocess.run([f"{folder}/venv/bin/busproof", *argv], cwd=folder, stdout=subprocess.DEVNULL)
            faults += [f"{archive.name}: busproof {argv[0]} ended with {ended.returncode}"] if ended.returncode else []
            print(f"{archive.name}: `pip install` to the end of {argv[0]}: {time.monotonic() - began:.0f} s")
    return faults


def _python() -> str:
    """Debian's own, where it can make environments; else this one."""
    debian = "/usr/bin/python3"
    can = Path(debian).exists() and subprocess.run([debian, "-c", "import ensurepip"], check=False).returncode == 0
    return debian if can else sys.executable


if __name__ == "__main__":
    sys.exit(main())
