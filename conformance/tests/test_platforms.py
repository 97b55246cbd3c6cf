"""What only Linux, or only a POSIX system, has is not imported by what needs none of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from busproof import cli

HIDDEN = ("fcntl", "resource", "termios", "pwd", "grp", "inotify_simple")
HIDE = f"""\
import sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name in {HIDDEN}:
            raise ModuleNotFoundError(name, name=name)
for name in {HIDDEN}:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hide())
"""


def test_check_explore_and_audit_run_where_these_modules_are_missing(tmp_path: Path) -> None:
    """The reference's mailbox, too; chaos is another matter."""
    (tmp_path / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    assert cli.main(["init", "worker", "logger-python", str(tmp_path)]) == 0
    subprocess.run([sys.executable, "logger.py"], cwd=tmp_path, check=True)
    a_row = ["check", "mailbox", "--only", "mailbox.cursor.04", "-j", "1", "--out", str(tmp_path)]
    a_script = ["explore", "mailbox", "--script", "00003-v7"]
    a_history = ["audit", "--engine", "python", str(tmp_path / "history.jsonl")]
    for argv in (a_row, a_script, a_history):
        done = subprocess.run([sys.executable, "-m", "busproof", *argv], env=env, capture_output=True, text=True)
        assert done.returncode == 0, f"{argv}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert subprocess.run([sys.executable, "-c", "import fcntl"], env=env, capture_output=True).returncode == 1


def test_chaos_says_at_once_what_it_needs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert cli.main(["chaos", "worker"]) == 2
    assert capsys.readouterr().err == (
        "busproof: chaos needs Linux 5.5 or later, and this is darwin: run it in a container\n"
    )
