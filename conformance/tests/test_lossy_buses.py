"""A bus that loses one acknowledged message in twenty is INVALID, with the least that a bus can declare."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from conformance.tests.test_fewer_parts import BUSES, declaring
from msgspec.structs import replace

from busproof.bus.fleet import Fleet
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import HISTORY, catalogue
from busproof.contract.history import read
from busproof.faults.record import faults
from busproof.oracle.checks import durable, extract
from busproof.run.runner import run_item
from busproof.systems import SYSTEMS, play

NODE = Path(__file__).parents[1] / "examples/minimal_node"
DECLARES = """features: ["seq"], clock: "manual", nouns: ["log", "cursor", "route", "lease", "presence"]"""
STORES = "if (!known) { messages.push("
LOSES = "if (!known && (this.sent = (this.sent ?? 0) + 1) % 20 === 0) return { id }; " + STORES


def node(folder: Path, nouns: tuple[str, ...], *, loses: bool) -> str:
    """The minimal bus of Node with these nouns, no features, and no seq in the answer to a publish."""
    for path in NODE.glob("*.mjs"):
        shutil.copy(path, folder)
    bus, adapter = folder / "bus.mjs", folder / "adapter.mjs"
    text = bus.read_text()
    assert STORES in text
    bus.write_text(text.replace(STORES, LOSES) if loses else text)
    source = adapter.read_text()
    publish, declared = "publish: (p) => bus.publish(now(), p.agent_id, p.message)", ", ".join(f'"{n}"' for n in nouns)
    assert publish in source
    assert DECLARES in source
    source = source.replace(publish, "publish: (p) => ({ id: bus.publish(now(), p.agent_id, p.message).id })")
    adapter.write_text(source.replace(DECLARES, f'features: [], clock: "manual", nouns: [{declared}]'))
    return f"exec:node {adapter}"


def failed(fleet: Fleet, seed: int) -> set[str]:
    """The rows of the workload that break."""
    return {row.requirement for row in run_item(fleet, HISTORY, seed=seed) if row.outcome == "fail"}


@pytest.mark.parametrize("system", ["worker", "comms", "timeline", "relay", "topics", "mailbox"])
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 11))])
def test_a_bus_that_loses_one_message_in_twenty_fails_its_row_of_loss(system: str, seed: int) -> None:
    """In each of ten runs; it declares core nouns and no feature."""
    fault = faults(system)["loses_one_in_twenty"]
    with contextlib.closing(Fleet([fault.spec(None)], system=system)) as fleet:
        of_loss = {row for row in fault.rows if catalogue(system)[row].item == HISTORY}
        assert of_loss
        assert of_loss <= failed(fleet, seed)


@pytest.mark.parametrize(
    "nouns",
    [
        ("log",),
        *(pytest.param(more, marks=pytest.mark.nightly) for more in [("log", "cursor"), ("log", "cursor", "route")]),
    ],
)
@pytest.mark.parametrize("seed", [1, *(pytest.param(seed, marks=pytest.mark.nightly) for seed in range(2, 11))])
def test_a_bus_of_another_language_that_tells_no_seq_is_judged_by_what_it_shows(
    tmp_path: Path, nouns: tuple[str, ...], seed: int
) -> None:
    """It fails worker.log.53 where it loses messages, and nothing where it does not."""
    assert shutil.which("node"), "node is needed for this test (Debian: apt-get install nodejs)"
    for loses, folder in ((True, tmp_path / "lossy"), (False, tmp_path / "sound")):
        folder.mkdir()
        with contextlib.closing(Fleet([node(folder, nouns, loses=loses)], system="worker")) as fleet:
            broken = failed(fleet, seed)
        assert ("worker.log.53" in broken) if loses else not broken, broken


@pytest.mark.parametrize("system", BUSES)
def test_a_sound_bus_that_declares_the_least_passes_its_row_of_loss(tmp_path: Path, system: str) -> None:
    """Nothing is not applicable there, and nothing is inconclusive."""
    rows = {row.id for row in catalogue(system).values() if row.check == "history.durable"}
    with declaring(tmp_path, system, CONTRACTS[system].profiles["core"], ()) as fleet:
        outcomes = {result.requirement: result.outcome for result in run_item(fleet, HISTORY, seed=1)}
    assert {row: outcomes[row] for row in rows} == dict.fromkeys(rows, "pass")


def test_loss_is_undecided_where_nobody_reads_to_the_end(tmp_path: Path) -> None:
    """A stranger's history without a final state: the check says whom it did not see read, and is never valid."""
    with declaring(tmp_path, "worker", ("log", "cursor", "route"), ()) as fleet:
        facts = extract(read(play(fleet, seed=1, calls=200, into=tmp_path / "history.jsonl")), SYSTEMS["worker"].facts)
    assert durable.check(facts).verdict == "valid"
    missed = next(fact.id for fact in facts.appended if fact.outcome == "ok" and fact.addressee == "bob")
    facts.delivered = [fact for fact in facts.delivered if fact.id != missed]
    assert {witness.kind for witness in durable.check(facts).witnesses} == {"never_shown"}
    facts.reads = [replace(fact, is_all=False) for fact in facts.reads]
    assert durable.check(facts).verdict == "unknown"
    assert "bob was not seen to read to the end" in durable.check(facts).reason
