"""The page about the library and the command lines."""

from __future__ import annotations

from pathlib import Path

from reference.page import LIBRARY, methods, page

RAISES_NOTHING = {"validate_message"}
PAGE = Path(__file__).parents[2] / "docs" / "refbus.md"


def test_the_page_is_current() -> None:
    """After a change of a signature, a docstring, a reply or a command: python -m reference.page docs/refbus.md."""
    assert PAGE.read_text("utf-8") == page(), "docs/refbus.md is stale: tox run -e pages"


def test_every_method_names_its_errors_and_its_reply() -> None:
    """A method that takes nothing may have no error of its own; every reply but an empty one has its fields listed."""
    text = page()
    for system, _, bus, _, _ in LIBRARY:
        for method in methods(bus):
            head = text.split(f"## The library of `{system}`")[1].split(f"### `{method}(")[1]
            entry = head.split("\n### ")[0]
            assert "Errors:" in entry or entry.startswith(") ->") or method in RAISES_NOTHING, method
            assert "dict[str, Any]`" not in entry.split("->")[1].splitlines()[0], method
