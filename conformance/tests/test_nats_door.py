"""`nats:exec:CMD`: the same bus on a JetStream, the same scripts, the same mutants that die."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from busproof.bus.doors import BusSpecError, open_door
from busproof.bus.fleet import Fleet, reference
from busproof.bus.warm import Warm
from busproof.contract.catalogue import catalogue
from busproof.faults.record import Fault, faults
from busproof.play.explore import corpus
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS

SCRIPTS = (
    *("a_fork_goes_on", "sent_twice", "consumers_have_one_name", "program_01"),
    *("settled_after_a_nak", "settled_after_its_time", "given_back_eleven_times"),
)


def _is_neutral(mutant: Fault) -> bool:
    """Is its fault not in the queue on a file, and does one script show it?"""
    text = mutant.source.lower()
    return mutant.item.startswith("corpus:") and "sqlite" not in text and "store" not in text


NEUTRAL = [fault for fault in faults("timeline").values() if _is_neutral(fault)]
SAMPLE = NEUTRAL[::15]


@pytest.fixture(scope="module")
def fleet(warm: Warm) -> Iterator[Fleet]:
    """The reference, on servers that the kit starts."""
    made = Fleet([f"nats:{warm.spec(reference('timeline'))}"], system="timeline")
    yield made
    made.close()


def test_what_is_of_a_file_is_not_declared(fleet: Fleet) -> None:
    assert "sqlite" not in fleet.hello.features
    assert "nats" in fleet.hello.features


def test_scripts_of_the_corpus_hold_on_a_server(fleet: Fleet) -> None:
    """Each answer is the model's; hardly anything is left out."""
    specification = SYSTEMS["timeline"].model
    assert specification is not None
    scripts = corpus.scripts("timeline")
    replay = corpus.replay(fleet, specification, {name: scripts[name] for name in SCRIPTS})
    assert {name: program.mismatch and program.mismatch.told() for name, program in replay.broken.items()} == {}
    assert replay.dialects == {}
    assert replay.left_out.total() < replay.calls / 10


def killed_on_nats(mutant: Fault, warm: Warm) -> None:
    """Is it killed by the rows that it dies of on a file?"""
    rows = catalogue("timeline")
    made = Fleet([f"nats:{mutant.spec(warm)}"], system="timeline")
    try:
        results = {result.requirement: result for result in run_item(made, mutant.item, seed=1)}
    finally:
        made.close()
    for name in mutant.rows:
        assert results[name].outcome == ("fail" if rows[name].level == "MUST" else "warn"), results[name].why


@pytest.mark.parametrize("mutant", SAMPLE, ids=lambda mutant: mutant.name)
def test_a_fault_that_is_not_the_files_shows_on_a_server_too(mutant: Fault, warm: Warm) -> None:
    killed_on_nats(mutant, warm)


@pytest.mark.nightly
@pytest.mark.parametrize("mutant", NEUTRAL, ids=lambda mutant: mutant.name)
def test_every_such_fault_shows_on_a_server_too(mutant: Fault, warm: Warm) -> None:
    killed_on_nats(mutant, warm)


def test_without_a_command_it_is_refused() -> None:
    with pytest.raises(BusSpecError):
        open_door("nats:")
