"""The paths of `audit` and `compact`: histories, folders or patterns of them, or compact streams."""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path

from busproof.contract.history import HistoryError, opened, unpacked
from busproof.words import say
from busspark.compact import compact, is_compact

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")
IS_URI = "://"


def histories(paths: Iterable[str]) -> list[Path]:
    """The files of histories that these paths name. HistoryError if one names none."""
    all_files: list[Path] = []
    for path in paths:
        here = [Path(match) for match in glob(path, recursive=True)] if has_magic(path) else [Path(path)]
        files = [file for place in here for file in _files(place)]
        if not files:
            raise HistoryError(f"there is no history in {path}; `busproof chaos SYSTEM --out DIR` records one")
        all_files += files
    return list(dict.fromkeys(all_files))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [
            file
            for file in sorted(path.rglob("*.jsonl*"))
            if file.name.endswith(ENDINGS) and not _is_of_another_kind(file)
        ]
    return [path] if path.exists() else []


def _is_of_another_kind(file: Path) -> bool:
    """A report, or a bus's export. A file that may be a damaged history is none of these."""
    with opened(file) as lines:
        line = next(unpacked(lines), b"")
        try:
            first = None if isinstance(line, Exception) else json.loads(line)
        except (ValueError, RecursionError):
            return False
    is_other = isinstance(first, dict) and first.keys().isdisjoint(("mono_ns", "process"))
    if is_other:
        say(f"busproof: {file} is no history, and is passed over", sys.stderr)
    return is_other


@contextmanager
def as_streams(paths: list[str]) -> Iterator[str]:
    """A folder of compact streams: the given one, or one made of the histories, as long as this lasts."""
    if len(paths) == 1 and is_compact(Path(paths[0])):
        yield paths[0]
        return
    files = histories(paths)
    with tempfile.TemporaryDirectory(prefix="busproof-streams-") as scratch:
        compact(files, Path(scratch))
        yield scratch
