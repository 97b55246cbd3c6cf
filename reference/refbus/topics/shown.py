"""The words of others, as a part of a text that models and people read: they stay in their place.

A body is quoted line by line, so that no line of it can pass for a header or for another message. Everything else is
one line, and characters that cannot be seen in it are escaped.
"""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime

_PLAIN = re.compile(r"[\w .:@/+-]+")


def quoted(body: str) -> str:
    """Every line of a body behind `> `. A line ends wherever Unicode, a terminal or a model may think so."""
    return "".join(f"> {line}" for line in body.splitlines(keepends=True))


def printed(body: str) -> str:
    """The same for people: signs that would turn a line round, hide in it or move a cursor are escaped. Tabs stay."""
    return "\n".join("> " + "\t".join(map(line, part.split("\t"))) for part in body.splitlines())


def line(text: object) -> str:
    """Anything on one line: controls, format characters and line separators are escaped."""
    shown = str(text)
    return shown if shown.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in shown)


def name(text: object) -> str:
    """A name or a type: as it is if it is plain ASCII, with its escapes beside it or instead of it if it is not."""
    shown = str(text)
    if not _PLAIN.fullmatch(shown):
        return json.dumps(shown)
    return shown if shown.isascii() else f"{shown} {json.dumps(shown)}"


def title(text: object) -> str:
    """A topic's name, in quotation marks that it cannot close."""
    return '"' + line(str(text).replace("\\", "\\\\").replace('"', '\\"')) + '"'


def when(seconds: float) -> str:
    """Unix seconds as a person in Greenwich reads them."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (TypeError, ValueError, OverflowError, OSError):  # another program's
        return line(seconds)
