"""`busproof doctor --bus files:DIR`: an agent's files, judged as an orchestrator would; and the doors of a folder."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conformance.tests.program import busproof

from busproof.bus.fleet import Fleet
from busproof.oddities.examine import examine_folder
from busproof.pages.report import lines
from busproof.run.runner import run_item

GOOD, OLD_NS = "1700000000000000000-0000abcd.msg", 1_700_000_000_000_000_000


@pytest.fixture
def outbox(tmp_path: Path) -> Path:
    """The outbox of the one agent of a folder that only its owner may enter."""
    tmp_path.chmod(0o700)
    old = os.umask(0o077)
    (tmp_path / "agents" / "ann" / "outbox" / ".pending").mkdir(parents=True)
    os.umask(old)
    return tmp_path / "agents" / "ann" / "outbox"


def written(outbox: Path, data: str, name: str = GOOD, mode: int = 0o600) -> Path:
    """A file that has settled."""
    path = outbox / name
    path.write_text(data)
    path.chmod(mode)
    os.utime(path, ns=(OLD_NS, OLD_NS))
    return path


def examined(outbox: Path, capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """The exit code, and the lines of the report."""
    code = examine_folder(outbox.parents[2])
    return code, capsys.readouterr().out


def test_a_whole_message_of_its_owner_is_nothing_odd(outbox: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """There need not be a ledger."""
    written(outbox, "TO: bob\n\nhi")
    assert examined(outbox, capsys)[0] == 0


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ("", "empty"),
        ("TO bob\n\n", "malformed"),
        (f"TO: bob\nCHECKSUM: sha256:{hashlib.sha256(b'x').hexdigest()}\n\nhi", "checksum_mismatch"),
        (f"TO: bob\nATTACHMENT: sha256:{'0' * 64}\n\nhi", "not there"),
        ("TO: bob\n\n" + "x" * 1_048_576, "never read"),
    ],
)
def test_what_an_orchestrator_would_refuse_is_told(
    outbox: Path, capsys: pytest.CaptureFixture[str], data: str, word: str
) -> None:
    """By its reason."""
    written(outbox, data)
    code, out = examined(outbox, capsys)
    assert code == 1
    assert word in out


def test_names_links_and_permissions_are_told(outbox: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Each once."""
    written(outbox, "TO: bob\n\nhi", "note.msg")
    written(outbox, "TO: bob\n\nhi", mode=0o644)
    (outbox / "1-0000aaaa.msg").symlink_to("/etc/hostname")
    (outbox / "1-0000bbbb.msg").mkdir()
    (outbox.parents[1] / "root").mkdir(mode=0o700)
    code, out = examined(outbox, capsys)
    assert code == 1
    for words in ("note.msg is not called", "symbolic link", "no regular file", "'root' is no agent's name", "600"):
        assert words in out


def test_an_agent_that_the_kit_writes_leaves_nothing_odd(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In Python and in shell."""
    root = tmp_path / "root"
    root.mkdir(mode=0o700)
    for language, program in (("agent-python", [sys.executable, "agent.py"]), ("agent-shell", ["sh", "agent.sh"])):
        assert busproof("init", "relay", language, str(tmp_path)).returncode == 0
        subprocess.run(
            [*program, "ann", "send", "bob"],
            cwd=tmp_path,
            env={**os.environ, "AGENT_RELAY_DIR": str(root)},
            input=b"hello",
            check=True,
            capture_output=True,
        )
    assert len(list((root / "agents" / "ann" / "outbox").glob("*.msg"))) == 2
    assert examine_folder(root) == 0, capsys.readouterr().out


@pytest.mark.parametrize("item", ["log.tree", "lease.lock", "limit.links"])
def test_an_orchestrator_that_runs_by_itself_is_judged_by_its_folder(item: str) -> None:
    """`files:CMD`: no adapter, the tree as it stands, and the wall clock: what needs another is could-not-run."""
    fleet = Fleet([f"files:{sys.executable} -m refbus relay run"], system="relay")
    try:
        results = run_item(fleet, item)
        assert fleet.hello.features == ["sqlite"]  # as its ledger says
    finally:
        fleet.close()
    outcomes = {result.outcome for result in results}
    assert outcomes == {"could-not-run" if item == "limit.links" else "pass"}, [
        (result.requirement, result.why) for result in results
    ]


@pytest.mark.nightly
def test_our_own_orchestrator_is_blamed_for_nothing_where_it_runs_by_itself(tmp_path: Path) -> None:
    """All rows that a folder shows; the rest needs a clock that can be set."""
    bus = f"files:{sys.executable} -m refbus relay run"
    done = busproof("check", "relay", "--bus", bus, "--out", str(tmp_path), "--mixed-with", "none")
    assert lines.load(tmp_path / "report.jsonl").footer["failed"] == [], done.stdout
