"""What was measured, and how the kit was tried: packed records, one kind a file, in a checkout of the project only.

A record is a JSON object with an `id`. A kind of records is `conformance/evidence/KIND.jsonl.xz`: a record a line,
sorted by id, so that the same records make the same bytes and records that look alike stand side by side.
`conformance/evidence/README.md` says what each kind holds.
"""

from __future__ import annotations

import contextlib
import difflib
import json
import lzma
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def _folder() -> Path:
    """Beside this package; where the package is installed, in the checkout around the working folder."""
    roots = [Path(__file__).parents[2]]
    with contextlib.suppress(OSError):  # a working folder that is gone
        roots += [Path.cwd(), *Path.cwd().parents]
    return next((folder for root in roots if (folder := root / "conformance/evidence").is_dir()), Path("evidence"))


FOLDER = _folder()
# A dictionary that holds a whole file: a record may repeat what another said megabytes before.
_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "dict_size": 1 << 25}]


class NoEvidenceError(Exception):
    """There is no such kind, or no such record, or this is no checkout; the words say which."""


def kinds() -> list[str]:
    """The names of all kinds of records."""
    return sorted(path.name.removesuffix(".jsonl.xz") for path in FOLDER.glob("*.jsonl.xz"))


def read(kind: str) -> dict[str, Record]:
    """All records of a kind, by id."""
    return {each["id"]: each for each in map(json.loads, _lines(kind))}


def record(kind: str, record_id: str) -> Record:
    """One record of a kind; no other is parsed."""
    start = f'{{"id": {json.dumps(record_id, ensure_ascii=False)}'
    for line in _lines(kind):
        if line.startswith(start):
            whole: Record = json.loads(line)
            return whole
    near = difflib.get_close_matches(record_id, read(kind), n=3, cutoff=0.4)
    raise NoEvidenceError(f"no record {record_id!r} in {kind!r}" + f"; near it: {', '.join(near)}" * bool(near))


def write(kind: str, records: Iterable[Record]) -> Path:
    """Replace all records of a kind, at once or not at all."""
    by_id: dict[str, Record] = {}
    for each in records:
        if by_id.setdefault(each["id"], each) is not each:
            raise ValueError(f"two records of {kind} have the id {each['id']!r}")
    lines = "".join(_line({"id": key} | by_id[key]) + "\n" for key in sorted(by_id))
    path = _path(kind)
    beside = path.with_suffix(f".{os.getpid()}")
    beside.write_bytes(lzma.compress(lines.encode(), check=lzma.CHECK_CRC64, filters=_FILTERS))
    beside.replace(path)
    return path


def _line(whole: Record) -> str:
    """As text; a record with half a character, which is none, in ASCII."""
    text = json.dumps(whole, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(whole)
    return text


def update(kind: str, records: Iterable[Record]) -> Path:
    """Add records to a kind, in place of those with the same ids."""
    older = read(kind) if _path(kind).exists() else {}
    return write(kind, (older | {each["id"]: each for each in records}).values())


def _lines(kind: str) -> list[str]:
    path = _path(kind)
    if not path.exists():
        raise NoEvidenceError(f"no evidence of the kind {kind!r}: there are {', '.join(kinds()) or 'none'}")
    # Not splitlines: a text may hold another character that ends a line.
    return lzma.decompress(path.read_bytes()).decode().split("\n")[:-1]


def _path(kind: str) -> Path:
    if not FOLDER.is_dir():
        raise NoEvidenceError(f"evidence is read in a checkout of the project, and there is no {FOLDER}")
    return FOLDER / f"{kind}.jsonl.xz"
