"""The hook of the wheel's build: all scripts of a system's corpus in its packed file, instead of hundreds of files.

An editable installation has the files themselves. `busproof explore SYSTEM --unpack NAME` makes one a file again.
"""

from __future__ import annotations

import json
import lzma
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

CORPUS = "busproof/corpus"
PACKED = "packed.jsonl.xz"
# In text the character before says what comes next (lc); the place in a word of four bytes says nothing (pb).
_OF_TEXT = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0, "nice_len": 273}]


class Packed(BuildHookInterface):  # type: ignore[type-arg]
    """Called by hatchling before and after it builds a wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Pack into a folder of the hook's own."""
        if version == "editable":
            return
        self._folder = tempfile.TemporaryDirectory(prefix="busproof-wheel-")
        for system in sorted((Path(self.root) / "conformance" / CORPUS).iterdir()):
            made = Path(self._folder.name) / f"{system.name}.xz"
            made.write_bytes(_packed(system))
            build_data["force_include"][str(made)] = f"{CORPUS}/{system.name}/{PACKED}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if version != "editable":
            self._folder.cleanup()


def _packed(system: Path) -> bytes:
    """The scripts as `busproof.play.explore.corpus.pack` packs them; the kit itself may not be installed yet."""
    lines = dict[str, str]()
    if (before := system / PACKED).exists():
        lines = {line.split('"', 4)[3]: line for line in lzma.decompress(before.read_bytes()).decode().splitlines()}
    for path in system.glob("*.jsonl"):  # a file comes before the packed script of its name
        steps = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]
        lines[path.stem] = json.dumps({"name": path.stem, "steps": steps})
    brief = (json.dumps(json.loads(lines[name]), separators=(",", ":")) for name in sorted(lines))
    return lzma.compress("".join(f"{line}\n" for line in brief).encode(), filters=_OF_TEXT)
