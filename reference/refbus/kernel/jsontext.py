"""JSON text as it is stored and sent: strict both ways, and shaped as the seeds shape it.

The text is what `json.dumps` writes by default (ASCII, `, ` and `: `), because a blob's name is the hash of its
text and participants in other languages hash what the seed's listing writes. A value that is no JSON (NaN, Infinity,
1e999), no Unicode (lone surrogates) or nested deeper than any reader can be expected to follow is refused when
written and is a decode error when read, so that one message can never break the reply that carries others.
"""

from __future__ import annotations

import json
from typing import Any, NoReturn

DEPTH_MAX = 256
AROUND_MAX = 8  # levels around a value: a letter's message, the lines of a door
SURELY_SHALLOW_CHARS = 2 * DEPTH_MAX  # a level costs two characters


def encode(value: Any) -> str:
    """The JSON text of a value. Raises ValueError for anything that is no JSON value."""
    try:
        text = "".join(_chunks(value, 0))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    if "\\ud" in text:
        # Pairs are fine, halves are not: only strict UTF-8 tells them apart.
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    if len(text) > SURELY_SHALLOW_CHARS:
        _refuse_depth(text, DEPTH_MAX)
    return text


def decode(text: str, around: int = 0) -> Any:
    """The value of a JSON text, `around` levels deeper than a value may be. ValueError for anything else."""
    try:
        value, end = scan(text, 0)
        if end == len(text) <= SURELY_SHALLOW_CHARS:
            return value
    except (StopIteration, TypeError, RecursionError):
        pass
    return _decode_with_care(text, DEPTH_MAX + around)


def _decode_with_care(text: str, levels: int) -> Any:
    """Also takes blanks around the value, names the place of an error, and measures the depth."""
    try:
        value = _decoder.decode(text)
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error
    _refuse_depth(text, levels)
    return value


def canonical(value: Any) -> str:
    """The same text for the same value, whatever the order of its members."""
    return json.dumps(value, sort_keys=True)


def _refuse_depth(text: str, levels: int) -> None:
    if text.count("[") + text.count("{") <= levels:
        return
    depth = 0
    in_string = escaped = False
    for char in text:
        if in_string:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                in_string = False
        elif char == '"':
            in_string = True
        elif char in "[{":
            depth += 1
            if depth > levels:
                raise ValueError(f"nested deeper than {levels}")
        elif char in "]}":
            depth -= 1


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if value - value != 0.0:
        raise ValueError(f"{digits} is beyond a double")
    return value


def _refuse_type(value: object) -> NoReturn:
    raise TypeError(f"{type(value).__name__} is no JSON value")


# json.dumps makes this anew for each call; made once, it costs a third. A circle ends in RecursionError.
_chunks = json.encoder.c_make_encoder(  # type: ignore[attr-defined]
    None, _refuse_type, json.encoder.encode_basestring_ascii, None, ": ", ", ", False, False, False
)
_decoder = json.JSONDecoder(parse_float=_finite, parse_constant=_refuse_constant)
# One call into C: the value and where it ends. Everybody but a tight loop wants `decode`.
scan = _decoder.scan_once  # type: ignore[attr-defined]
