"""The server that seed 004 describes, from PyPI: judged, mixed with the reference, and answered like it.

`tox run -e deployed`. Where the server cannot be had these tests are skipped, with the reason: nothing was judged.
"""

import json
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from conformance.tests.program import busproof

from busproof.pages.report import lines

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "conformance/examples/agent_bus_mcp"
INTEROP = ROOT / "reference/tests/topics/interop"

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def bus(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Its --bus argument."""
    command = [sys.executable, str(EXAMPLE / "install.py"), str(tmp_path_factory.mktemp("agent-bus"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{done.stderr.strip()}; nothing was judged")
    return done.stdout.strip()


def test_it_fails_the_rows_that_the_example_tells_and_no_other_beside_the_reference(bus: str, tmp_path: Path) -> None:
    """expected.toml against a real run: it alone, and every other process of a fleet on one file."""
    expected = tomllib.loads((EXAMPLE / "expected.toml").read_text())
    options = ["--bus", bus, "--mixed-with", "reference", "--out", str(tmp_path)]
    done = busproof("check", "topics", *options)
    report = lines.load(tmp_path / "report.jsonl")
    assert report.verdict == expected["verdict"], done.stdout + done.stderr
    assert report.footer["failed"] == sorted(expected["failed"]), done.stdout
    warned = {row["requirement"] for row in report.rows if row["outcome"] == "warn"}
    assert sorted(warned) == expected["dialects"]


def test_a_client_of_one_works_unchanged_with_the_other(bus: str, tmp_path: Path) -> None:
    """The recorded session, call by call, less words, B8, B11 and the fields that only one of them has."""
    session = json.loads((INTEROP / "session.json").read_text(encoding="utf-8"))
    # With a wait and a send at once theirs is DB_BUSY more often than not: B1, judged above.
    session["steps"] = [step for step in session["steps"] if "meanwhile" not in step]
    (tmp_path / "session.json").write_text(json.dumps(session), encoding="utf-8")
    ours = _played(tmp_path, [sys.executable, "-m", "refbus.topics.mcp.server"])
    theirs = _played(tmp_path, ["env", "AGENT_BUS_EMBEDDINGS_AUTOINDEX=0", *shlex.split(bus[len("mcp:") :])])
    assert theirs == ours


def _played(folder: Path, server: list[str]) -> list[Any]:
    command = [sys.executable, str(INTEROP / "play.py"), str(folder / "session.json"), "--", *server]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    steps = json.loads(done.stdout)["steps"]
    return [(step["request"], step["reply"]["isError"], _alike(step["reply"])) for step in steps]


def _alike(reply: Any) -> Any:
    """The part that both must say. Their snippets are marked (B11); their cursor stays behind own messages (B8)."""
    if isinstance(reply, list):
        return [_alike(part) for part in reply]
    if isinstance(reply, str):
        return reply.replace("\ue000", "").replace("\ue001", "")
    if not isinstance(reply, dict):
        return reply
    more = ("content", "message", "last_seq", "fts_rank", "requested_agent_name", "suggested_agent_names")
    return {name: _alike(value) for name, value in reply.items() if name not in more or isinstance(value, dict)}
