"""A bus may choose all that docs/spec/relay.md leaves open: it is followed, and no row fails for it."""

import contextlib
import sys
from pathlib import Path

import pytest

from busproof.bus.fleet import Fleet
from busproof.bus.warm import Warm
from busproof.contract.catalogue import catalogue
from busproof.faults.record import choices
from busproof.play.explore import corpus
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS

OTHERWISE = Path(__file__).parent / "relay_otherwise.py"
CHOSEN = {
    "a pending file, and a later limit": "when it is seen",
    "an odd object in .pending": "is recorded",
    "processed_at after a failed attempt": "is not told",
    "relay.cursor.13: its pause": "goes on",
    "relay.cursor.14: young": "waits",
    "relay.lease.13: close": "is refused",
    "relay.limit.04: waits": "what is ready, by name",
    "relay.log.41: its first character": "any of a name's",
    "relay.retry.05: after the clock went back": "when it has caught up",
    "relay.retry.10: after success": "goes",
    "retry_count, lost at a start": "does not count",
    "subscriptions, after a spawn": "have ended",
    "the ID of the answer to a load": "the orchestrator's",
}


@pytest.mark.parametrize("share", [9, pytest.param(1, marks=pytest.mark.nightly)])
def test_a_bus_that_chose_otherwise_in_all_of_it_is_followed_through_the_corpus(warm: Warm, share: int) -> None:
    """Every script holds, though several choices meet in one answer. By day one script of nine is played."""
    specification = SYSTEMS["relay"].model
    assert specification is not None
    scripts = corpus.scripts("relay")
    played = {name: scripts[name] for name in sorted(scripts)[::share]}
    with contextlib.closing(Fleet([warm.spec(f"exec:{sys.executable} {OTHERWISE}")], system="relay")) as fleet:
        replay = corpus.replay(fleet, specification, played)
    assert {name: program.mismatch and program.mismatch.told() for name, program in replay.broken.items()} == {}
    rows = catalogue("relay")
    assert [name for name in corpus.broken_rows("relay", replay) if rows[name].level == "MUST"] == []
    assert replay.dialects.items() <= CHOSEN.items()
    assert len(replay.dialects) > 3
    assert share > 1 or replay.dialects == CHOSEN


@pytest.mark.parametrize("item", ["log.tree", "presence.release", "export.backup", "corpus:agents", "corpus:order"])
def test_a_ledger_in_a_file_of_its_own_is_judged_by_what_the_bus_tells_of_it(item: str, warm: Warm) -> None:
    """Nothing opens ledger.db, which is not there; only rows about its tables are not applicable."""
    with contextlib.closing(Fleet([choices("relay")["the_ledger_is_elsewhere"].spec(warm)], system="relay")) as fleet:
        results = run_item(fleet, item, seed=1)
    assert {result.why for result in results if result.outcome in ("fail", "warn") or "broke" in result.why} == set()
    assert any(result.outcome == "pass" for result in results)
