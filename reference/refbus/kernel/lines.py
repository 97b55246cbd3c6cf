"""Lines of a protocol on a pipe: a line that is too long is skipped, and not kept."""

from __future__ import annotations

from typing import IO

LINE_BYTES_MAX = 64 * 1024 * 1024


def read_line(lines: IO[bytes]) -> bytes:
    """The next line; if it is too long, only as much of it as shows that."""
    line = lines.readline(LINE_BYTES_MAX + 1)
    rest = line
    while len(line) > LINE_BYTES_MAX and rest and not rest.endswith(b"\n"):
        rest = lines.readline(LINE_BYTES_MAX)
    return line
