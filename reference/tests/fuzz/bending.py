"""Calls that nobody would send: the corpus of each system, played in its order, with every second call bent.

The corpus was searched for its reach, so its programs lead deep into a store; bending leads off their path.
Values that a bus chose (ids, tokens, numbers) are learnt from its replies and put where a program refers to them, or
anywhere.
"""

from __future__ import annotations

import copy
import json
import random
from collections import deque
from collections.abc import Callable, Iterator, Mapping, MutableMapping, MutableSequence
from typing import Any

from busproof.contract.common import Method
from busproof.play.explore import corpus
from busproof.play.explore.script import Step

REMEMBERED = 20  # values of a name
SHORT = {"wait_ms": 1, "wait_seconds": 0, "timeout_ms": 1, "timeout_seconds": 0.001}  # waits: longer ones take long
LONG = 10**9  # beyond what any bus may accept

ODD: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 0.0, -0.0, 0.5, 1e308, 5e-324, 2**31, 2**53 + 1, 2**63 - 1, 2**63, -(2**63) - 1),
    *(10**30, 10**4000, "", " ", "0", "x", "null", "a\0b", "a\nb", "\x1b[2J", "\x85", "\ud83d", "\u200b", "\u202eab"),
    *("\U0001f600", "e\u0301", "\u00c5", "\u212b", "../../x", "/etc/passwd", "C:\\x", "a/b", ".", "..", "*", ">", "%"),
    *("'; DROP TABLE messages; --", '"', "a OR b", "NEAR(", "*:", "sha256-" + "0" * 64, "{}", "[", "\ufeff", "\ufffe"),
    *(
        "9" * 5000,
        "y" * 65_537,
        "z" * 70_000,
        "\u6f22" * 300,
        [],
        {},
        [None],
        [[]],
        {"": ""},
        {"a": {"b": []}},
        [1, "1"],
    ),
)


class Bender:
    """Draws calls for one system. The same seed draws the same, for a bus that answers the same."""

    def __init__(self, system: str, methods: Mapping[str, Method], rng: random.Random) -> None:
        self._rng = rng
        self._methods = {name: set(method.params.model_fields) for name, method in sorted(methods.items())}
        self._programs = list(corpus.scripts(system).values())
        self._learnt: dict[str, deque[Any]] = {}

    def program(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """The calls of one program: "open" with its options, "clock.set", the system's methods, and "hand." ones."""
        for step in self._rng.choice(self._programs):
            if step.at == "hand":
                yield f"hand.{step.method}", self._bent_text(self._plain(step.params))
                continue
            for method, params in self._calls(step):
                if method == "open" and self._rng.random() < 0.1:
                    yield method, self._bent(params)
                elif method != "open" and self._rng.random() < 0.5:
                    params = self._bent(params)
                    if self._rng.random() < 0.1:
                        method = self._rng.choice((*self._methods, "no_such_method", "__init__", ""))
                yield method, self._short(method, params)

    def learn(self, value: Any, name: str = "") -> None:
        """Remember what a reply holds, by the names of its fields."""
        if isinstance(value, dict):
            for key, member in value.items():
                self.learn(member, key)
        elif isinstance(value, list):
            for item in value[-3:]:
                self.learn(item, name)
        elif isinstance(value, str | int) and len(str(value)) < 200:
            self._learnt.setdefault(name, deque(maxlen=REMEMBERED)).append(value)

    @staticmethod
    def plain(method: str, params: dict[str, Any]) -> dict[str, Any]:
        """A request as it should be."""
        return {"jsonrpc": "2.0", "id": 0, "method": method, "params": params}

    def line_that_is_none(self, request: Any) -> bytes:
        """The same, but a torn line is no JSON any more, so that nobody takes it for another request."""
        line = self.line(request)
        try:
            json.loads(line)
        except (ValueError, RecursionError):
            return line
        return json.dumps(request).encode()

    def line(self, request: Any) -> bytes:
        """A request as a line; one in twelve is no longer one, or another."""
        line = json.dumps(request).encode()
        return line if self._rng.random() > 0.08 else self._torn(line)

    def _calls(self, step: Step) -> Iterator[tuple[str, dict[str, Any]]]:
        if step.do == "open":
            yield "open", {"options": step.params.get("options", {})}
        elif step.do == "clock":
            yield "clock.set", step.params
        for call in (step, *step.calls):
            if call.method in self._methods:
                yield call.method, self._plain(call.params)

    def _plain(self, value: Any) -> Any:
        """Parameters with something of this run where the program refers to something of its own."""
        if isinstance(value, dict):
            if "$" in value:
                return self._known(value["$"].rpartition(".")[2].rstrip("0123456789"))
            if "$text" in value:
                most = 5_000_000 if self._rng.random() < 0.01 else 70_000
                return "".join(char * min(times, most) for char, times in value["$text"])
            if "$many" in value:
                return [self._plain(value["of"]) for _ in range(min(60, value["$many"]))]
            return {key: self._plain(member) for key, member in value.items()}
        return [self._plain(item) for item in value] if isinstance(value, list) else value

    def _known(self, word: str) -> Any:
        """A value that was learnt under this name, or one that has it in its own."""
        names = [word] if word in self._learnt else [name for name in self._learnt if word in name]
        return self._rng.choice(self._learnt[self._rng.choice(names)]) if names else "0123456789"

    def request(self, method: str, params: dict[str, Any], id_: int | str) -> Any:
        """One request of JSON-RPC; one in thirty has an odd member."""
        request = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        if self._rng.random() < 0.03:
            request[self._rng.choice((*request, "_meta", "result"))] = self._odd()
        return request

    def _bent_text(self, params: dict[str, Any]) -> dict[str, Any]:
        """A file's content is bent; its name and place are as they were: nothing is written elsewhere."""
        data = params.get("data")
        if type(data) is str and data and self._rng.random() < 0.5:
            at = self._rng.randrange(len(data))
            odd = self._rng.choice([odd for odd in ODD if type(odd) is str and odd.isprintable()])
            params["data"] = data[:at] + self._rng.choice((odd, "\n", "\n\n", "\0", "\r", ":")) + data[at:]
        return params

    def _bent(self, params: dict[str, Any]) -> dict[str, Any]:
        params = copy.deepcopy(params)
        for _ in range(self._rng.choice((1, 1, 1, 2, 3))):
            places = list(_places(params))
            if not places or self._rng.random() < 0.1:
                params[self._rng.choice(("extra", "limit", "agent_id", ""))] = self._odd()
            else:
                holder, key = self._rng.choice(places)
                self._bend(holder, key)
        return params

    def _bend(self, holder: Any, key: Any) -> None:
        how = self._rng.random()
        if how < 0.15:
            del holder[key]
        elif how < 0.35 and self._learnt:
            holder[key] = self._rng.choice(self._learnt[self._rng.choice(sorted(self._learnt))])
        elif how < 0.5 and type(holder[key]) is int:
            holder[key] += self._rng.choice((-1, 1, 1000))
        elif how < 0.6 and isinstance(holder[key], str):
            holder[key] = self._rng.choice(_SPOILED)(holder[key])
        else:
            holder[key] = self._odd()

    def _short(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """With waits that are over soon, or so long that they must be refused."""
        for name, short in SHORT.items():
            wait = params.get(name)
            is_long = type(wait) in (int, float) and 0 < wait < LONG
            if name in self._methods.get(method, ()) and (wait is None or is_long):
                params[name] = short
        return params

    def _odd(self) -> Any:
        """One that is odd, alone or deep in another."""
        value = copy.deepcopy(self._rng.choice(ODD))
        if self._rng.random() < 0.02:
            for _ in range(self._rng.choice((3, 100, 255, 400))):
                value = [value] if self._rng.random() < 0.5 else {"k": value}
        return value

    def _torn(self, line: bytes) -> bytes:
        """With bytes gone, doubled, changed or put in; no newline among them."""
        data = bytearray(line)
        for _ in range(self._rng.choice((1, 1, 2, 5))):
            at = self._rng.randrange(len(data) + 1)
            match self._rng.randrange(5):
                case 0:
                    del data[at : at + self._rng.choice((1, 2, 20))]
                case 1:
                    data[at:at] = self._rng.choice(
                        (b"\xff", b"\0", b"{", b"[" * 300, b'"', b"NaN", b"\\ud800", b",", b" ")
                    )
                case 2:
                    data[at:at] = data[at : at + 20]
                case 3:
                    del data[at:]
                case _:
                    data[at : at + 1] = bytes((self._rng.randrange(256),))
        return bytes(data).replace(b"\n", b" ").replace(b"\r", b" ")


_SPOILED: tuple[Callable[[str], str], ...] = (
    str.upper,
    lambda text: text[:-1],
    lambda text: text + " ",
    lambda text: text + "\u200b",
    lambda text: text * 2,
    lambda text: text[::-1],
)


def _places(value: Any) -> Iterator[tuple[MutableMapping[str, Any] | MutableSequence[Any], Any]]:
    """Every member, with its container."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, member in pairs:
        yield value, key
        yield from _places(member)
