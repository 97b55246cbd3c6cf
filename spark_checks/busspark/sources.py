"""The paths of `audit` and `compact`: histories, folders or patterns of them, or compact streams."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from glob import glob, has_magic
from pathlib import Path

from busproof.contract.history import HistoryError
from busspark.compact import compact, is_compact

ENDINGS = (".jsonl", ".jsonl.gz", ".jsonl.zst")
IS_URI = "://"


def histories(paths: Iterable[str]) -> list[Path]:
    """The files of histories that these paths name. HistoryError if one names none."""
    found: list[Path] = []
    for path in paths:
        here = [Path(one) for one in glob(path, recursive=True)] if has_magic(path) else [Path(path)]
        files = [file for one in here for file in _files(one)]
        if not files:
            raise HistoryError(f"there is no history in {path}; `busproof chaos worker --out DIR` records one")
        found += files
    return list(dict.fromkeys(found))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(file for file in path.rglob("*.jsonl*") if file.name.endswith(ENDINGS))
    return [path] if path.exists() else []


@contextmanager
def as_streams(paths: list[str]) -> Iterator[str]:
    """A folder, or a URI, of compact streams: the given one, or one made of the histories, as long as this lasts."""
    if len(paths) == 1 and (IS_URI in paths[0] or is_compact(Path(paths[0]))):
        yield paths[0]
        return
    files = histories(paths)
    with tempfile.TemporaryDirectory(prefix="busproof-streams-") as scratch:
        compact(files, Path(scratch))
        yield scratch
