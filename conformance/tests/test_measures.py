"""Pages of figures agree with the data beside them, and each mutant that lives has a reason."""

from __future__ import annotations

import shlex
import sys
from contextlib import closing
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet
from busproof.play.explore import corpus
from busproof.play.explore.search import play
from busproof.play.explore.worker import SPECIFICATION

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "conformance" / "measure"))

import page  # noqa: E402
import remember  # noqa: E402
import valid  # noqa: E402


def test_what_valid_means_is_told_with_the_figures_of_today() -> None:
    """docs/valid.md is as its command writes it."""
    assert (ROOT / "docs" / "valid.md").read_text() == valid.text()


def test_the_page_of_mutants_is_what_its_results_say_and_each_that_lives_has_a_reason() -> None:
    """docs/mutation/README.md; a reason whose mutant died is stale."""
    assert (page.FOLDER / "README.md").read_text() == page.text()
    assert page.wrong() == []


DEAD_LETTERS, PURE = "refbus.worker.retry:Redelivery.dead_letters", "refbus.kernel.rules"
LOOKS = corpus.scripts("worker", only=["each_look_around_each_change"])["each_look_around_each_change"]


def test_functions_that_read_are_made_to_remember_and_no_others() -> None:
    assert DEAD_LETTERS in set(remember.sites("worker"))
    assert not [site for site in remember.sites("kernel") if site.startswith(PURE)]


@pytest.mark.parametrize(
    ("site", "is_found"),
    [
        (DEAD_LETTERS, True),
        ("refbus.worker.presence:Presence.liveness", True),
        ("refbus.worker.export:Export.holds", False),
    ],
)
def test_a_process_that_only_looks_and_remembers_is_found(site: str, is_found: bool) -> None:
    """One that never asks twice is not; and it is the memory that is found: a bus without one passes."""
    argv = [sys.executable, remember.__file__, "--bus", "refbus.driver", site]
    with closing(Fleet([f"exec:{shlex.join(argv)}"], system="worker")) as fleet:
        assert (play(fleet, SPECIFICATION, LOOKS).mismatch is not None) == is_found
