"""The valid values on a `worker` bus, and JSON and words in the form of its messages."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from busproof.contract.bounds import LEVELS_MAX
from busproof.contract.worker import CONTRACT
from busproof.oracle.models.parts import BIG_NUMBER, has_big_number
from busproof.oracle.models.spec import DoesNotApply, Model, is_json_text

SURELY_SHORT = 64  # every bus takes this length, declared or not


class Values(Model):
    """Refuses invalid values; each refusal is a row of `limit`."""

    def checked(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """No parameter missing, none too many."""
        if self.at != "hand" and method != "open":
            fields = CONTRACT.methods[method].params.model_fields
            if not {n for n, field in fields.items() if field.is_required()} <= params.keys() <= fields.keys():
                self.refuse("INVALID_ARGUMENT", "worker.limit.02")
        return params

    def text(self, value: Any) -> str:
        """Free text: an id, a type, a correlation."""
        if type(value) is not str:
            self.refuse("INVALID_ARGUMENT", "worker.limit.01", why=f"no text: {value!a:.80}")
        kinds = set() if value.isprintable() else set(map(unicodedata.category, value))
        if "Cs" in kinds:
            self.refuse("INVALID_ARGUMENT", "worker.limit.04", why=f"half a surrogate pair in {value!a:.80}")
        if "Cc" in kinds:
            self.refuse("INVALID_ARGUMENT", "worker.limit.03", why=f"a control character in {value!a:.80}")
        if not value or len(value) > (most := self.declared("text_chars_max", len(value))):
            why = f"a text of {len(value):,} characters, at most {most:,}" if value else "an empty text"
            self.refuse("INVALID_ARGUMENT", "worker.limit.01", why=why)
        return value

    def name(self, value: Any) -> str:
        """The name of an agent, a worker, a task: it becomes part of a path sooner or later."""
        self.text(value)
        if "/" in value or "\\" in value or ".." in value or value == ".":
            self.refuse("INVALID_ARGUMENT", "worker.limit.08", why=f"a name that is a path: {value!a:.80}")
        size = len(value.encode())
        if size > (most := self.declared("name_bytes_max", size)):
            self.refuse("INVALID_ARGUMENT", "worker.limit.01", why=f"a name of {size:,} bytes, at most {most:,}")
        return str(value)

    def declared(self, limit: str, wanted: int) -> int:
        """A limit that the bus declares; without one, nothing can be said of long values."""
        if limit not in self.limits and wanted > SURELY_SHORT:  # on another bus
            raise DoesNotApply
        return self.limits.get(limit, SURELY_SHORT)

    def optional(self, value: Any) -> str | None:
        """Free text, or null."""
        return None if value is None else self.text(value)

    def whole(self, field: str, value: Any) -> int:
        """A whole number; true is not one."""
        if type(value) is not int:
            self.refuse("INVALID_ARGUMENT", "worker.limit.01", why=f"no whole number: {value!a:.80}")
        return int(self.keep(field, value))

    def json(self, value: Any) -> str:
        """The text of a JSON value, as the seed's listing writes it."""
        try:
            json.dumps(value, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            self.refuse("INVALID_ARGUMENT", "worker.limit.04")
        try:
            text = json.dumps(value, allow_nan=False)
        except ValueError:
            self.refuse("INVALID_ARGUMENT", "worker.limit.06")
        if depth(value) > LEVELS_MAX:
            self.refuse("INVALID_ARGUMENT", "worker.limit.01")
        if len(text) > CONTRACT.bound_of["payload"].high:
            self.refuse("PAYLOAD_TOO_LARGE", "worker.limit.07")
        if has_big_number(value):
            self.may_refuse(BIG_NUMBER, "worker.limit.05")
        return TEXTS[self.choice("JSON text", *TEXTS)](value)


def _compact(value: Any, *, escaped: bool = False) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=escaped)


def _for_html(value: Any) -> str:
    """As Go writes it: a text that may stand in a page."""
    marks = "<>&\u2028\u2029"
    return re.sub(f"[{marks}]", lambda mark: f"\\u{ord(mark[0]):04x}", _compact(value))


# Forms of one value, by the languages that write them so. A blob's name, and what is short, go by the bus's own.
TEXTS: dict[str, Callable[[Any], str]] = {
    "as json.dumps": json.dumps,
    "compact": _compact,
    "compact, in ASCII": partial(_compact, escaped=True),
    "compact, in ASCII, slashes escaped": lambda value: _compact(value, escaped=True).replace("/", r"\/"),
    "compact, for HTML": _for_html,
    "spaced, not in ASCII": partial(json.dumps, ensure_ascii=False),
}


def ref_of(text: str) -> str:
    """The name of a blob."""
    return f"sha256-{hashlib.sha256(text.encode()).hexdigest()}"


def is_ref(name: Any) -> bool:
    """Is it a name that a blob may have?"""
    return type(name) is str and re.fullmatch("sha256-[0-9a-f]{64}", name) is not None


def depth(value: Any) -> int:
    """How deep a value is nested."""
    members = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if members is None else 1 + max(map(depth, members), default=0)


def whole_numbers(value: Any) -> Iterator[int]:
    """Every whole number in a value."""
    if type(value) is int:
        yield value
    for member in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from whole_numbers(member)


def tokens(text: str) -> list[str]:
    """Words as a full-text index has them: letters and digits, without case and accents."""
    folded = text.lower()
    if not folded.isascii():
        folded = "".join(char for char in unicodedata.normalize("NFD", folded) if not unicodedata.combining(char))
    return re.findall(r"[^\W_]+", folded)


def words_of(text: str | None) -> list[str]:
    """The readable words of a payload: from its strings, numbers and member names."""
    return [] if text is None else tokens(" ".join(leaves(json.loads(text))) if is_json_text(text) else text)


def leaves(value: Any) -> Iterator[str]:
    """Everything that a value says, in order."""
    if isinstance(value, dict):
        for key, member in value.items():
            yield key
            yield from leaves(member)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield str(value)


def holds(column: list[str], phrase: list[str]) -> bool:
    """Do these words stand side by side?"""
    if phrase and phrase[0] not in column:  # as in most
        return False
    return any(column[at : at + len(phrase)] == phrase for at in range(len(column) - len(phrase) + 1))
