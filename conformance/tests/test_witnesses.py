"""Every kind of witness has a sentence, and every sentence a check that can say it."""

import ast
from pathlib import Path

import pytest

from busproof.oracle import checks
from busproof.oracle.checks.verdict import WHY, Witness

_SOURCES = [path for path in Path(checks.__file__).parent.rglob("*.py") if path.name != "verdict.py"]
_TEXTS = {
    node.value
    for path in _SOURCES
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
}
# The middle of these is the name of what was asked for: a renewal or a release.
_COMPOSED = {
    f"{what}{end}" for what in ("renewed", "released") for end in _TEXTS if end in ("_not_held", "_after_retake")
}


@pytest.mark.parametrize("kind", WHY)
def test_a_kind_is_told_in_its_sentence(kind):
    why = Witness((1, 2), kind, 17, 23, of="message 9").why
    assert "{" not in why
    assert why.endswith(": message 9")


@pytest.mark.parametrize("kind", WHY)
def test_a_kind_is_one_that_a_check_finds(kind):
    assert kind in _TEXTS | _COMPOSED


def test_the_kinds_that_checks_write_have_sentences():
    written = {
        node.args[1].value
        for path in _SOURCES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Witness" and len(node.args) > 1
        if isinstance(node.args[1], ast.Constant)
    }
    assert len(written) > 30
    assert written <= WHY.keys()


def test_a_kind_without_a_sentence_is_refused_where_it_is_made():
    with pytest.raises(ValueError, match="'batch_unordered' has no sentence"):
        Witness((1,), "batch_unordered")
