"""`busproof init`: an adapter to fill in, which already answers hello."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

from busproof.adapters.doors import SCHEMES
from busproof.protocol import CONTRACTS

_FILES = {"python": "adapter.py", "node": "adapter.mjs"}
_RUN = {"python": "python", "node": "node"}


def write(system: str, language: str, folder: Path) -> int:
    """Write the template and say what to do next. Refuses to overwrite."""
    scheme = CONTRACTS[system].scheme
    if scheme != "exec":
        print(f"No adapter is needed: {SCHEMES[scheme].no_adapter} is judged as it is, by its command:")
        print(f"  busproof check {system} --bus '{scheme}:CMD…'")
        return 0
    name = _FILES[language]
    path = folder / name
    if path.exists():
        print(f"busproof: {path} exists already; nothing was written", file=sys.stderr)
        return 2
    folder.mkdir(parents=True, exist_ok=True)
    text = (resources.files(CONTRACTS[system].package) / "templates" / system / f"{name}.txt").read_text(
        encoding="utf-8"
    )
    path.write_text(text, encoding="utf-8")
    bus = f"exec:{_RUN[language]} {path}"
    print(f"wrote {path}: fill in the methods marked TODO, and declare in hello only what your bus does. Then:")
    print(f"  busproof doctor --system {system} --bus '{bus}'")
    print(f"  busproof check {system} --bus '{bus}'")
    return 0
