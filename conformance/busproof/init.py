"""`busproof init`: an adapter to fill in, which already answers hello."""

from __future__ import annotations

import sys
from importlib import resources
from pathlib import Path

from busproof.adapters.doors import SCHEMES
from busproof.protocol import CONTRACTS

_FILES = {"python": "adapter.py", "node": "adapter.mjs"}
_AGENTS = {"agent-shell": "agent.sh", "agent-python": "agent.py"}  # of relay, whose agents need no bus to talk to
_RUN = {"python": "python", "node": "node"}


def write(system: str, language: str, folder: Path) -> int:
    """Write the template and say what to do next. Refuses to overwrite."""
    if language in _AGENTS:
        return _write_agent(system, _AGENTS[language], folder)
    scheme = CONTRACTS[system].scheme
    if scheme != "exec":
        print(f"No adapter is needed: {SCHEMES[scheme].no_adapter} is judged as it is, by its command:")
        print(f"  busproof check {system} --bus '{scheme}:CMD…'")
        return 0
    name = _FILES[language]
    path = _written(system, name, folder)
    if path is None:
        return 2
    bus = f"exec:{_RUN[language]} {path}"
    print(f"wrote {path}: fill in the methods marked TODO, and declare in hello only what your bus does. Then:")
    print(f"  busproof doctor --system {system} --bus '{bus}'")
    print(f"  busproof check {system} --bus '{bus}'")
    return 0


def _write_agent(system: str, name: str, folder: Path) -> int:
    """A program that only writes and reads files."""
    if system != "relay":
        print(f"busproof: agents of {system} talk to their bus; only those of relay write files", file=sys.stderr)
        return 2
    path = _written(system, name, folder)
    if path is None:
        return 2
    path.chmod(0o755)
    print(f"wrote {path}: an agent to copy. Let it send something, and have its files judged as an orchestrator would:")
    print("  busproof doctor --bus files:DIR")
    return 0


def _written(system: str, name: str, folder: Path) -> Path | None:
    """The template, written; None where something stands there already."""
    path = folder / name
    if path.exists():
        print(f"busproof: {path} exists already; nothing was written", file=sys.stderr)
        return None
    folder.mkdir(parents=True, exist_ok=True)
    place = resources.files(CONTRACTS[system].package) / "templates" / system / f"{name}.txt"
    path.write_text(place.read_text(encoding="utf-8"), encoding="utf-8")
    return path
