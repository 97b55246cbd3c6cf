"""A stranger's words are shown as escapes, and change nothing on a terminal; our own names say what a value is."""

import ast
import io
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from busproof.pages.report import terminal
from busproof.pages.report.lines import Report
from busproof.words import one_line, printable

ANYTHING = st.text(st.characters())  # half surrogates, too


@given(ANYTHING)
def test_nothing_printed_acts_on_a_terminal(text: str) -> None:
    """No control, direction, joiner, separator or half surrogate is left, and the text can be encoded."""
    for shown, allowed in ((printable(text), "\n"), (one_line(text), "")):
        shown.encode()
        left = {unicodedata.category(c) for c in shown if c not in allowed}
        assert not left & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@given(st.text(st.characters(categories=("L", "N", "P", "S"))))
def test_plain_words_stay_as_they_are(text: str) -> None:
    """In any script."""
    assert printable(text) == one_line(text) == text


HOSTILE = "\x1b[2J\x1b[1;32mVALID\x1b[0m\nVALID  good 1.0 as a worker bus: 300 pass\x9b2J\u202e\ud83d\r"


class Terminal(io.StringIO):
    """Says that it is one."""

    def isatty(self) -> bool:
        return True


def test_a_report_at_a_terminal_holds_no_line_and_no_escape_of_the_bus() -> None:
    """Name, version, reasons, values and error of a hostile bus."""
    row = {
        "requirement": "worker.log.01",
        "outcome": "fail",
        "check": "log.survives_kill",
        "fleet": "bus",
        "why": HOSTILE,
        "script": [],
        "events": [
            {"index": 1, "process": 0, "agent": HOSTILE, "type": "ok", "op": HOSTILE, "value": HOSTILE},
            {"index": 2, "process": 0, "type": "ok", "op": "poll", "value": {HOSTILE: [HOSTILE]}},
        ],
    }
    warned = {**row, "outcome": "warn"}
    hello = {"name": HOSTILE, "version": HOSTILE}
    header = {"hello": hello, "system": "worker", "bus": "exec:x", "known_faults": [HOSTILE]}
    footer = {"counts": {"fail": 1}, "known_failed": [], "verdict": "invalid"}
    out = Terminal()
    terminal.render(Report(header, [row, warned], footer), out)
    shown = out.getvalue()
    shown.encode()
    for colour in ("\x1b[1;31m", "\x1b[1;33m", "\x1b[0m"):  # the kit's own
        shown = shown.replace(colour, "")
    assert shown.replace("\n", "").isprintable()
    assert not [line for line in shown.splitlines() if line.startswith("VALID")]


def test_a_warning_is_told_in_lines_and_says_where_it_is_cut() -> None:
    """It was cut at 200 characters, in the middle of what differs."""
    hello = {"name": "bus", "version": "1"}
    header = {"hello": hello, "system": "worker", "bus": "exec:x"}
    footer = {"counts": {"warn": 1}, "known_failed": [], "verdict": "unknown"}
    row = {"requirement": "worker.log.11", "outcome": "warn", "check": "corpus", "fleet": "bus", "script": []}
    for words in (50, 500):
        why = " ".join(f"word{number}" for number in range(words))
        out = io.StringIO()
        terminal.render(Report(header, [{**row, "why": why, "events": []}], footer), out)
        shown = " ".join(out.getvalue().split())
        assert (why in shown) is (words == 50)
        assert ("… (the report has all)" in shown) is (words == 500)


ROOT = Path(__file__).parents[2]
EMPTY_NAMES = {"told", "found", "said", "one", "got"}  # a value came: what is it?


def local_names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """The line and the name of each variable and parameter; the members of a class are what the world calls them."""
    bodies = [statement for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for statement in node.body]
    members = {statement.target for statement in bodies if isinstance(statement, ast.AnnAssign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node not in members:
            yield node.lineno, node.id


def test_a_local_name_says_what_the_value_is() -> None:
    """`found` says that there was something, never what it is."""
    paths = [
        path.relative_to(ROOT)
        for top in ("reference", "conformance", "chaos", "spark_checks")
        for path in sorted((ROOT / top).rglob("*.py"))
    ]
    empty = [
        f"{path}:{line}: {name}"
        for path in paths
        for line, name in local_names(ast.parse((ROOT / path).read_text(encoding="utf-8")))
        if name in EMPTY_NAMES
    ]
    assert empty == []
