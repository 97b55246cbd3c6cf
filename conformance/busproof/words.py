"""Words for people: the texts of a bus, a file or a library, made fit for a terminal.

A bus is a stranger. Its name, its values and its errors may hold escape sequences that clear a screen and print a
verdict of their own, or characters that turn the direction of a line. They are shown as escapes.
"""

from __future__ import annotations

import json
import re
import sys
import traceback
import unicodedata
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

_OURS = re.compile(r".*/(busproof|buschaos|busspark)/")  # up to a package of the kit
_HALF = re.compile("[\ud800-\udfff]")
REASON_CHARS_MAX = 1200
_HIDDEN = ("Cc", "Cf", "Cs", "Zl", "Zp")  # controls, directions and joiners, half surrogates, separators of lines


class _Escapes(dict[int, "int | str"]):
    """For str.translate: a character that acts on a terminal is its escape, any other is itself."""

    def __missing__(self, code: int) -> int | str:
        is_hidden = unicodedata.category(chr(code)) in _HIDDEN
        self[code] = ascii(chr(code))[1:-1] if is_hidden else code
        return self[code]


_IN_LINES, _IN_ONE_LINE = _Escapes({ord("\n"): "\n"}), _Escapes()


def printable(text: object, *, newlines: bool = True) -> str:
    """The text with each character that acts on a terminal written as an escape; lines stay lines, if wanted."""
    return str(text).translate(_IN_LINES if newlines else _IN_ONE_LINE)


def is_text(value: str) -> bool:
    """Is it Unicode? A half surrogate fits no UTF-8: no column of a history, no file."""
    return value.isascii() or not _HALF.search(value)


def one_line(text: object) -> str:
    """The same, in one line: a stranger's words cannot pass for a line of ours."""
    return printable(text, newlines=False)


def shortened(value: object, text_chars_max: int = 80, members_max: int = 40) -> object:
    """A JSON value for people: long texts and lists in it are cut, so that everything beside them is seen."""
    if isinstance(value, str) and len(value) > text_chars_max:
        return f"{value[: text_chars_max - 20]}… ({len(value):,} characters)"
    if isinstance(value, dict):
        return {shortened(key): shortened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        more = [f"… ({len(value):,} members)"] if len(value) > members_max else []
        return [shortened(member) for member in value[:members_max]] + more
    return value


def as_json(value: object) -> str:
    """A value as it stands on the wire. If anything in it is no JSON, that says itself what it is."""
    match value:
        case dict():
            return f"{{{', '.join(f'{as_json(key)}: {as_json(inner)}' for key, inner in value.items())}}}"
        case list() | tuple():
            return f"[{', '.join(map(as_json, value))}]"
        case str() | int() | float() | None:
            return json.dumps(value, ensure_ascii=False)
    return str(value)


def is_strict_json(value: object) -> bool:
    """Can any parser read it? One with NaN or half a surrogate is no JSON to most."""
    try:
        json.dumps(value, allow_nan=False, ensure_ascii=False).encode()
    except ValueError:
        return False
    return True


def say(text: object = "", out: IO[str] | None = None) -> None:
    """Print for people, at once."""
    print(printable(text), file=out or sys.stdout, flush=True)


def faults(error: ValidationError, most: int = 3) -> str:
    """The faults of a value, by place; without the library's own prose."""
    return "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:most])


def kit_failed(error: BaseException) -> str:
    """A fault of ours in one line: what was raised, and where in our code. No bus is to blame for it."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if _OURS.search(frame.filename)] or frames
    file = _OURS.sub(r"\1/", ours[-1].filename) if ours else "?"
    where = f"{file}:{ours[-1].lineno}" if ours else file
    return one_line(f"the kit failed: {type(error).__name__}: {error}, at {where}")


def reason(error: BaseException) -> str:
    """An error in one line."""
    from pydantic import ValidationError

    if isinstance(error, ValidationError):
        return one_line(faults(error))
    if isinstance(error, OSError) and error.strerror and error.filename is not None:
        return _cut(one_line(f"{error.filename}: {error.strerror}"))
    return _cut(one_line(error)) or type(error).__name__


def _cut(text: str) -> str:
    """A path may be as long as a page."""
    return (
        text if len(text) <= REASON_CHARS_MAX else f"{text[: REASON_CHARS_MAX // 2]} … {text[-REASON_CHARS_MAX // 2 :]}"
    )
