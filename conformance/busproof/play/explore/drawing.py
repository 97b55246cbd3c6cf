"""The base of the generators of all systems: a die, the tags of the next step, values that are odd anywhere."""

from __future__ import annotations

import random
from typing import Any

from busproof.play.explore.script import Step

ODD_NAMES = (
    *("ann", "Ann", "ANN", "ann ", " ann", "an_", "an%", "bob", "caf\u00e9", "cafe\u0301", "a.b", "a b", "ann\u200d"),
    *("'x", '"', "0", "null", "n" * 199, "n" * 200, "\u00e9" * 100, "\u6f22\u5b57", "*", "-", ".hidden", "\U0001f600"),
)
BAD_TEXTS: tuple[Any, ...] = ("", "a\x00", "\x1b[0m", "\ud800", "\x85", 5, True, ["t"], {})
# Values taken for another by a program that goes by truth, by number, by form or by place.
ALIKE: tuple[Any, ...] = (
    *(0, 0.0, False, "", None, [], {}, 1, 1.0, True, "1", "true", "null", 2**31, 2**53, 2**53 + 1, 2**63, 1e308, -1),
    *("\u00e9", "e\u0301", "\u2028", "\U0001f600", [0], [False], [None], {"": None}, {"a": 1, "b": 2}, [[]]),
    *("a\x00b", "a\nb"),
)

# Names of a store's folder, of which a path, a URI, a pattern, a shell or an option may make something else.
FOLDERS = (
    *("a b", "100%", "%41", "what?mode=ro", "x#y", "it's", 'say "hi"', "caf\u00e9", "cafe\u0301", "[ab]*", "{x}", "~"),
    *("-rf", "$HOME", "a;b&c", "a\\b", "a:b", "a,b=c", "+", ".hidden", "\U0001f600", "n" * 200, "tab\there", "store."),
)
NOW_MS_LAST = 2**53 // 1000  # of a clock: its microseconds are exact in the numbers of every language


class Drawing:
    """The memory of a generator while it draws a program."""

    def __init__(self, rng: random.Random, features: frozenset[str]) -> None:
        self.r, self.features = rng, features
        self.queue: list[Step] = []  # comes before all drawn steps
        self.tags: list[str] = []  # of the next step
        self.serial = 0

    def _tag(self, tag: str, value: Any = None) -> Any:
        """The value, drawn for an edge."""
        self.tags.append(tag)
        return value

    def _restart(self, at: int) -> Step:
        is_kill = self.r.random() < 0.3
        return Step("restart", at, params={"kill": is_kill}, tags=("kill" if is_kill else "restart",))
