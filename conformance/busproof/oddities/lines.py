"""The oddities of an export: a file of JSON Lines that only grows, in which each number stands once and they rise."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from busproof.oddities.common import some


def numbered(path: Path, key: str, *, is_shared: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """The lines that have this number. The last may be on its way; a shared file's other lines are others' business.

    ValueError if a line of ours is none.
    """
    with path.open("rb") as file:
        for place, line in enumerate(file, 1):
            try:
                message = json.loads(line)
                yield message[key] + 0, message
            except (ValueError, TypeError, KeyError):
                if not is_shared and line.endswith(b"\n"):
                    raise ValueError(f"line {place} of {path.name} is no whole message") from None


def odd_lines(path: Path, key: str, *, is_shared: bool = False) -> Iterator[str]:
    """Numbers that come again, or fall."""
    times, last, fallen = Counter[int](), 0, []
    try:
        for number, _ in numbered(path, key, is_shared=is_shared):
            times[number] += 1
            if number < last:
                fallen.append(number)
            last = number
    except ValueError as error:
        yield str(error)
    if twice := [number for number, count in times.items() if count > 1]:
        yield f"{key} that stand twice in {path.name}: {some(twice)}"
    if fallen:
        yield f"{key} that stand after a higher one in {path.name}: {some(fallen)}"
