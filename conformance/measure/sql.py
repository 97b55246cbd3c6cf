"""Mutation operators for SQL: a tool for Python sees a statement as one text, and most of a bus is in its statements.

They are operators of cosmic-ray, beside its own: one token of one statement is another one of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from cosmic_ray.operators.operator import Operator

_IS_SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|WHERE|VALUES|ORDER BY)\b")

_SWAPS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "=": "<>",
    "<>": "=",
    "!=": "=",
    "+": "-",
    "-": "+",
    "AND": "OR",
    "OR": "AND",
    "MAX": "MIN",
    "MIN": "MAX",
    "DESC": "",
    "NOT": "",
    "IS NULL": "IS NOT NULL",
    "IS NOT NULL": "IS NULL",
    "IS NOT": "IS",
    "NOT IN": "IN",
    "NOT EXISTS": "EXISTS",
    "EXISTS": "NOT EXISTS",
    "DISTINCT": "",
    "0": "1",
    "1": "0",
    "NULL": "0",
    "COLLATE NOCASE": "",
    "IGNORE": "REPLACE",
    "LEFT JOIN": "JOIN",
}
_TOKEN = re.compile(
    r"(?<![\w'])(IS NOT NULL|IS NULL|IS NOT|NOT IN|NOT EXISTS|EXISTS|COLLATE NOCASE|LEFT JOIN"
    r"|AND|OR(?= (?!ABORT|REPLACE|IGNORE))|MAX|MIN|DESC|NOT|DISTINCT|NULL|IGNORE|(?<!EXISTS \(SELECT )[01])(?![\w'.])"
    r"|(?<= )(<=|>=|<>|!=|<|>|=|\+|-)(?= )"
)
_ASCENDING = re.compile(r"ORDER BY (?:\w+\.)?\w+(?=[,)\s\"']|$)(?! DESC)")


class _OfSql(Operator):  # type: ignore[misc]
    """On texts that are SQL."""

    def mutation_positions(self, node: Any) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
        """Each place in a statement, as a place in the file."""
        if node.type == "string" and _IS_SQL.search(node.value):
            line, column = node.start_pos
            for start, end, _ in self._places(node.value):
                before = node.value[:start]
                last = before.rfind("\n")
                here = (line + before.count("\n"), start - last - 1 if last >= 0 else column + start)
                yield here, (here[0], here[1] + end - start)

    def mutate(self, node: Any, index: int) -> Any:
        """With this place changed."""
        start, end, other = list(self._places(node.value))[index]
        node.value = node.value[:start] + other + node.value[end:]
        return node

    @classmethod
    def examples(cls) -> tuple[()]:
        """None: the tool's own tests do not know this operator."""
        return ()

    def _places(self, text: str) -> Iterator[tuple[int, int, str]]:
        raise NotImplementedError


class SqlToken(_OfSql):
    """A comparison, a connective, an aggregate, a constant."""

    def _places(self, text: str) -> Iterator[tuple[int, int, str]]:
        for match in _TOKEN.finditer(text):
            yield match.start(), match.end(), _SWAPS[match[0]]


class SqlOrder(_OfSql):
    """An ascending order descends."""

    def _places(self, text: str) -> Iterator[tuple[int, int, str]]:
        for match in _ASCENDING.finditer(text):
            yield match.end(), match.end(), " DESC"


OPERATORS = {"SqlToken": SqlToken, "SqlOrder": SqlOrder}
