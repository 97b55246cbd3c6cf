"""The adapters to copy are short, complete for the core, and valid."""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from conformance.tests.program import busproof
from conformance.tests.test_lossy_buses import node

from busproof.pages.report import lines

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("path", "lines_max"),
    [("minimal_python/adapter.py", 40), ("minimal_node/adapter.mjs", 20), ("minimal_node_mailbox/adapter.mjs", 60)],
)
def test_the_adapter_is_short(path: str, lines_max: int) -> None:
    """A complete adapter fits in 40 lines of Python or 20 of Node; a mailbox with its adapter in 60."""
    assert len((EXAMPLES / path).read_text().splitlines()) <= lines_max


@pytest.mark.parametrize(
    ("program", "path"),
    [
        (sys.executable, "minimal_python/adapter.py"),
        pytest.param("node", "minimal_node/adapter.mjs", marks=pytest.mark.nightly),
    ],
)
def test_the_adapter_and_its_bus_are_valid_for_the_core(program: str, path: str, tmp_path: Path) -> None:
    """Held to the profile `core`. Without Node this fails, because then nothing was shown."""
    assert shutil.which(program), f"{program} is needed for this test (Debian: apt-get install nodejs)"
    bus = f"exec:{program} {EXAMPLES / path}"
    done = busproof("check", "worker", "--bus", bus, "--profile", "core", "--out", str(tmp_path), "-j", "1")
    assert done.returncode == 0, done.stdout
    report = lines.load(tmp_path / "report.jsonl")
    assert set(report.footer["counts"]) == {"pass", "not-applicable"}


@pytest.mark.nightly
@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize(
    ("system", "program", "path"),
    [
        ("worker", sys.executable, "minimal_python/adapter.py"),
        ("worker", "node", "minimal_node/adapter.mjs"),
        ("mailbox", "node", "minimal_node_mailbox/adapter.mjs"),
        ("relay", "node", "node_relay/adapter.mjs"),
    ],
)
def test_the_adapter_and_its_bus_stand_a_sample_of_chaos(
    system: str, program: str, path: str, seed: int, tmp_path: Path
) -> None:
    """Deaths, full disks and power cuts: who copies it starts without a fault."""
    bus = f"exec:{program} {EXAMPLES / path}"
    done = busproof("chaos", system, "--bus", bus, "--quick", "--seed", str(seed), "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout


ORCHESTRATORS = {
    "node": f"exec:node {EXAMPLES / 'node_relay/adapter.mjs'}",
    "perl": f"files:perl {EXAMPLES / 'perl_relay/orchestrator.pl'}",
}


def _judged(language: str, out: Path, *more: str) -> tuple[int, dict[str, Any], str]:
    assert shutil.which(language), f"{language} is needed for this test (Debian: apt-get install nodejs perl)"
    bus = ORCHESTRATORS[language]
    done = busproof("check", "relay", "--bus", bus, "--out", str(out), "--mixed-with", "none", *more)
    return done.returncode, lines.load(out / "report.jsonl").footer, done.stdout


@pytest.mark.parametrize("language", ORCHESTRATORS)
def test_an_orchestrator_with_a_ledger_of_its_own_form_is_asked_for_no_other(language: str, tmp_path: Path) -> None:
    """One tells it by a dump; of one behind the door `files:` nobody asks for any, and its folders are judged."""
    only = [word for item in ("log.tree", "lease.lock", "limit.permissions") for word in ("--only", item)]
    code, footer, shown = _judged(language, tmp_path, *only, "-j", "1")
    assert code == 0, shown
    assert footer["counts"].keys() == {"pass"}, shown


@pytest.mark.nightly
def test_an_orchestrator_in_node_with_no_more_than_a_scan_and_a_dump_is_valid(tmp_path: Path) -> None:
    """It starts no processes, so no row that a spawn or a release shows is asked of it."""
    code, footer, shown = _judged("node", tmp_path)
    assert code == 0, (footer["failed"], shown)


@pytest.mark.nightly
def test_an_orchestrator_in_perl_is_blamed_for_nothing_that_its_folders_show(tmp_path: Path) -> None:
    """Without a clock that can be set, and without a ledger that anybody can read, the rest could not run."""
    _, footer, shown = _judged("perl", tmp_path)
    assert footer["failed"] == [] and footer["counts"]["pass"] >= 17, shown


@pytest.mark.nightly
def test_a_bus_that_tells_a_sender_no_number_is_valid_without_the_feature(tmp_path: Path) -> None:
    """What the number of a message is shows when somebody reads it; until then nothing rests on it."""
    bus = node(tmp_path, ("log", "cursor", "route"), loses=False)
    done = busproof("check", "worker", "--bus", bus, "--mixed-with", "none", "--out", str(tmp_path / "out"))
    assert done.returncode == 0, done.stdout


SENDS = "write({ agent: p.to, sent: [message] });"


def _checked(bus: Path, out: Path, *more: str) -> subprocess.CompletedProcess[str]:
    assert shutil.which("node"), "node is needed for this test (Debian: apt-get install nodejs)"
    return busproof("check", "mailbox", "--bus", f"exec:node {bus}", "--out", str(out), "-j", "1", *more)


@pytest.mark.nightly
def test_a_mailbox_that_declares_no_more_than_acks_is_valid(tmp_path: Path) -> None:
    """On the machine's own time, without a dump."""
    done = _checked(EXAMPLES / "minimal_node_mailbox/adapter.mjs", tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("seed", [pytest.param(n, marks=pytest.mark.nightly if n > 1 else ()) for n in range(1, 11)])
def test_the_same_mailbox_that_loses_one_send_in_twenty_is_invalid(tmp_path: Path, seed: int) -> None:
    """By its history alone, with the least that a bus can declare, ten times in ten."""
    text = (EXAMPLES / "minimal_node_mailbox/adapter.mjs").read_text()
    assert SENDS in text
    lossy = tmp_path / "lossy.mjs"
    lossy.write_text(text.replace(SENDS, f"if (Math.random() > 0.05) {SENDS}"))
    done = _checked(lossy, tmp_path / "out", "--only", "mailbox.log.18", "--seed", str(seed))
    assert done.returncode == 1, done.stdout
    failed = lines.load(tmp_path / "out" / "report.jsonl").footer["failed"]
    assert failed == ["mailbox.log.18"]
