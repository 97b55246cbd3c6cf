"""A bus that sorts messages by their time is blamed for that, and not for all that rests on their order."""

from __future__ import annotations

import contextlib

import pytest

from busproof.bus.fleet import Fleet
from busproof.contract.catalogue import HISTORY
from busproof.faults.record import faults
from busproof.play import ties
from busproof.run.runner import run_item

ITEMS = {
    "worker": ("cursor.killed_reader_gets_it_again", "route.one_order", "corpus:worker.cursor.07", HISTORY),
    "mailbox": ("corpus:mailbox.cursor.05", "corpus:mailbox.log.02", HISTORY),
}


def failed(system: str) -> set[str]:
    """The rows that break on the bus that sorts by time."""
    fault = faults(system)["sorts_by_time"]
    with contextlib.closing(Fleet([fault.spec(None)], system=system)) as fleet:
        return {
            row.requirement for item in ITEMS[system] for row in run_item(fleet, item, seed=1) if row.outcome == "fail"
        }


@pytest.mark.parametrize("system", [pytest.param("worker", marks=pytest.mark.nightly), "mailbox"])
def test_what_rests_on_the_order_is_not_blamed(system: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a clock that moves on with each message everything else holds; on one that stands still little does."""
    row = ties.ORDERED[system].row
    assert failed(system) == {row}
    monkeypatch.setattr(ties, "ORDERED", {})
    assert len(failed(system) - {row}) > 2


def test_a_bus_that_reverses_its_messages_is_not_taken_for_one_that_sorts_by_time() -> None:
    """A fault of the order that time does not heal stays what it is."""
    fault = faults("mailbox")["the_newest_first"]
    with contextlib.closing(Fleet([fault.spec(None)], system="mailbox")) as fleet:
        assert ties.tied(fleet) == ""
