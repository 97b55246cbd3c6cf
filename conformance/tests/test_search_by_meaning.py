"""A bus of topics that searches by meaning finds more than words say, and is judged all the same."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet, reference
from busproof.bus.warm import Warm
from busproof.run.result import NOT_REACHED
from busproof.run.rows import item_names
from busproof.run.runner import run_item

ITEMS = [item for item in item_names("topics") if item.startswith("search.")]


@pytest.fixture
def spec(monkeypatch: pytest.MonkeyPatch, warm: Warm) -> str:
    """The reference with a model that needs no file."""
    monkeypatch.setenv("AGENT_BUS_EMBEDDING_MODEL", "hash-256")
    return warm.spec(reference("topics"))


@pytest.mark.parametrize("item", [*ITEMS, "corpus:searches_of_each_mode"])
def test_what_lies_near_by_meaning_is_nothing_to_be_blamed_for(item: str, spec: str) -> None:
    with contextlib.closing(Fleet([spec], system="topics")) as fleet:
        results = run_item(fleet, item)
    blamed = {r.requirement: r.why for r in results if r.outcome != "pass" and r.why != NOT_REACHED}
    assert blamed == {}
    assert any(result.outcome == "pass" for result in results)


def test_it_is_such_a_bus(spec: str, tmp_path: Path) -> None:
    """Otherwise the test above says nothing: a bus without a model says so."""
    with contextlib.closing(Fleet([spec], system="topics")) as fleet:
        door = fleet.door(0, tmp_path, {})
        reply = door.call("messages_search", {"query": "word", "mode": "semantic"})
        fleet.give_back(door, retired=True)
    assert "warnings" not in reply
