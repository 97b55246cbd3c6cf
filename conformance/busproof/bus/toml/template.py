"""Arguments of a mapped call: any TOML value in which `$name` stands for a variable.

A text that is one variable alone keeps the variable's type. A variable without a value leaves the argument out. What a
variable holds is never looked at again, so a message may hold `$`. `$$` is a dollar; `${id.room}` is a member;
`{ "$json" = … }` is the JSON text of what it holds, and `{ "$text" = "$id" }` a number as a text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any
from urllib.parse import quote

VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|(?P<plain>[a-z_][a-z0-9_]*)|\{(?P<path>[a-z_][a-z0-9_.]*)\})")


class Absent(Exception):
    """A variable has no value: the argument that names it is left out."""


def fill(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with its variables replaced. Raises Absent if nothing of it is left."""
    match template:
        case {"$json": inner, **others} if not others:
            return json.dumps(fill(inner, values), ensure_ascii=False)
        case {"$text": inner, **others} if not others:
            return as_text(fill(inner, values))
        case dict():
            return dict(_filled(template.items(), values))
        case list():
            return [value for _, value in _filled(enumerate(template), values)]
        case str():
            return _text(template, values)
    return template


def words(template: list[Any], values: Mapping[str, Any]) -> list[str]:
    """The arguments of a command line. A list in the list is a group, which is left out as a whole."""
    arguments: list[str] = []
    for part in template:
        try:
            group = [fill(word, values) for word in part] if isinstance(part, list) else [fill(part, values)]
        except Absent:
            continue
        arguments += [as_text(word) for word in group]
    return arguments


def path(template: str, values: Mapping[str, Any]) -> str:
    """A path of a URL: what a variable holds is quoted."""
    return _replaced(template, values, lambda value: quote(as_text(value), safe=""))


def raw(jmespath: str, values: Mapping[str, Any]) -> str:
    """A JMESPath: what a variable holds stands in a raw text, `'$me'`."""
    return _replaced(jmespath, values, lambda value: as_text(value).replace("'", "\\'"))


def names(template: Any) -> Iterator[str]:
    """The variables that a template names."""
    match template:
        case dict():
            for inner in template.values():
                yield from names(inner)
        case list():
            for inner in template:
                yield from names(inner)
        case str():
            for match in VARIABLE.finditer(template):
                if not match["dollar"]:
                    yield (match["plain"] or match["path"]).partition(".")[0]


def as_text(value: Any) -> str:
    """A value as a word of a command line, or as a part of a text."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _filled(members: Any, values: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    for place, inner in members:
        try:
            yield place, fill(inner, values)
        except Absent:
            continue


def _text(template: Any, values: Mapping[str, Any]) -> Any:
    if not isinstance(template, str):
        return template
    whole = VARIABLE.fullmatch(template)
    if whole and not whole["dollar"]:
        return _value(whole, values)
    return _replaced(template, values, as_text)


def _replaced(template: str, values: Mapping[str, Any], written: Callable[[Any], str]) -> str:
    return VARIABLE.sub(lambda match: "$" if match["dollar"] else written(_value(match, values)), template)


def _value(match: re.Match[str], values: Mapping[str, Any]) -> Any:
    name, *inner = (match["plain"] or match["path"]).split(".")
    value = values.get(name)
    for member in inner:
        value = value.get(member) if isinstance(value, dict) else None
    if value is None:
        raise Absent(name)
    return value
