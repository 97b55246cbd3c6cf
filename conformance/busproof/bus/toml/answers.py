"""Values in the answer of a mapped call: by a JMESPath, or by a regular expression where the answer is a text.

An id may be any value of the bus. The kit knows ids as texts: `id_text` and `id_value` lead there and back. An id of
digits alone is a number, however the bus shows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Annotated, Any

import jmespath
from jmespath.exceptions import JMESPathError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

NOT_MAPPED = "is not as bus.toml maps it"  # of a bus that answered, and not what the file expects
DIGITS = re.compile(r"-?(0|[1-9][0-9]{0,17})")


def checked_path(path: str) -> str:
    """The JMESPath, or ValueError."""
    try:
        jmespath.compile(path)
    except JMESPathError as error:
        raise ValueError(f"{path!r} is no JMESPath: {str(error).splitlines()[0]}") from None
    return path


def checked_pattern(pattern: str) -> str:
    """The regular expression, or ValueError."""
    try:
        re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no regular expression: {error}") from None
    return pattern


Path = Annotated[str, AfterValidator(checked_path)]
Pattern = Annotated[str, AfterValidator(checked_pattern)]


class Match(BaseModel):
    """A regular expression on a text: its group `value`, its only group, or all of it."""

    model_config = ConfigDict(extra="forbid")

    match: Pattern
    within: Path = Field(default="@", alias="in", description="a JMESPath to the text; absent: the whole answer")


Take = Path | Match  # how a value is taken from an answer


class NotThere(Exception):
    """The answer has another form than the path or the pattern expects."""


def search(path: str, answer: Any) -> Any:
    """What the path leads to; None for nothing."""
    try:
        return jmespath.search(path, answer)
    except JMESPathError as error:
        raise NotThere(f"{path}: {str(error).splitlines()[0]}") from error


def take(how: Take, answer: Any) -> Any:
    """One value; None if there is none."""
    if isinstance(how, str):
        return search(how, answer)
    match = re.search(how.match, _text(search(how.within, answer)))
    if match is None:
        return None
    named = match.groupdict()
    return named["value"] if "value" in named else match[1] if match.re.groups else match[0]


def take_all(how: Take, answer: Any) -> list[Any]:
    """A list of messages: of a pattern, its named groups at each place where it matches."""
    if isinstance(how, Match):
        return [match.groupdict() for match in re.finditer(how.match, _text(search(how.within, answer)))]
    messages = search(how, answer)
    if messages is None or messages == "":
        return []
    if not isinstance(messages, list):
        raise NotThere(f"list = {how!r} leads to {json.dumps(messages)[:150]}, which is no list")
    return messages


def texts(answer: Any) -> Iterator[str]:
    """The texts in an answer."""
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, dict | list):
        for member in answer.values() if isinstance(answer, dict) else answer:
            yield from texts(member)


def id_text(value: Any) -> str:
    """A bus's id as a text of the kit's."""
    is_plain = isinstance(value, str) and (not _is_json(value) or isinstance(as_number(value), int))
    return str(value) if is_plain else json.dumps(value, ensure_ascii=False)


def id_value(text: str) -> Any:
    """The bus's id again, of its own type."""
    return json.loads(text) if _is_json(text) else text


def as_number(value: Any) -> Any:
    """The number that a text of digits is; any other value as it is."""
    return int(value) if isinstance(value, str) and DIGITS.fullmatch(value) else value


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)
