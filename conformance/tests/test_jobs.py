"""Jobs to paste are what runs: the script from an empty folder with an installed wheel, and each file that calls it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from busproof import cli
from busproof.bus.fleet import reference
from busproof.pages import jobs

ROOT = Path(__file__).parents[2]
BUS = "exec:./my bus --log '{name}'"


def wheel(folder: Path, of: Path = ROOT) -> Path:
    """Built as pip builds it."""
    build = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=of, check=True, capture_output=True)
    (path,) = folder.glob("*.whl")
    return path


@pytest.mark.parametrize("service", ["github", "gitlab", "shell", "tox"])
def test_each_job_names_the_bus_and_nothing_is_left_to_fill_in(service: str, tmp_path: Path) -> None:
    what = ["tox"] if service == "tox" else ["ci"]
    argv = ["init", *what, "worker", *([] if service == "tox" else [service]), "--bus", BUS, "--folder", str(tmp_path)]
    assert cli.main(argv) == 0
    written = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    whole = "".join(written.values())
    assert not re.search(r"@[A-Z]+@", whole)
    for command in ("busproof check", "busproof chaos", "busproof audit"):
        assert command in whole
    assert cli.main(argv) == 2  # it overwrites nothing
    assert {path: path.read_text(encoding="utf-8") for path in written} == written


def test_a_service_calls_only_jobs_that_the_script_has(tmp_path: Path) -> None:
    assert cli.main(["init", "ci", "worker", "shell", "--bus", BUS, "--folder", str(tmp_path)]) == 0
    known = set(re.findall(r"^(\w+)\) exec", (tmp_path / "busproof.sh").read_text(encoding="utf-8"), re.MULTILINE))
    assert known == {"check", "chaos", "night", "audit"}
    templates = ROOT / "conformance" / "busproof" / "templates" / "ci"
    for template in ("github.yml.txt", "gitlab.yml.txt"):
        text = (templates / template).read_text(encoding="utf-8")
        called = re.findall(r"sh busproof\.sh (\w+)", text) + re.findall(r"'(night|chaos)'", text)
        assert called and set(called) <= known


def test_the_script_hands_the_bus_over_as_it_was_given(tmp_path: Path) -> None:
    """Also with quotes and spaces; an unknown job is refused; of invalid and unknown, the script is invalid."""
    argv = ["init", "ci", "worker", "shell", "--bus", BUS, "--folder", str(tmp_path)]
    assert cli.main(argv) == 0
    (tmp_path / "bin").mkdir()
    stand_in = tmp_path / "bin" / "busproof"
    stand_in.write_text(
        '#!/bin/sh\nprintf "%s\\n" "$@" >> told\ncase $1 in check) exit 1;; chaos) exit 2;; esac\n', encoding="utf-8"
    )
    stand_in.chmod(0o755)
    env = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}"}
    done = subprocess.run(["sh", "busproof.sh"], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 1
    assert "exit codes: check 1 chaos 2 audit 0" in done.stdout  # the last verdict that is told is of one job
    arguments = (tmp_path / "told").read_text(encoding="utf-8").splitlines()
    assert arguments.count(BUS) == 2
    assert [name for name in arguments if name in ("check", "chaos", "audit")] == ["check", "chaos", "audit"]
    assert subprocess.run(["sh", "busproof.sh", "nothing"], cwd=tmp_path, env=env, capture_output=True).returncode == 2


def test_the_action_judges_by_the_command_that_it_is_given(tmp_path: Path) -> None:
    """Its steps, run as they stand."""
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    (step,) = re.findall(r"      run: \|\n((?:        .*\n)+)", text)
    assert 'pip install --quiet "$GITHUB_ACTION_PATH[chaos,audit]"' in text
    asked = {
        "SYSTEM": "worker",
        "BUS": reference("worker"),
        "OUT": str(tmp_path),
        "ARGUMENTS": "--only log.idempotent_publish",
    }
    env = {**os.environ, **asked, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    for command, code in (("check", 0), ("format", 2)):
        step_env = {**env, "COMMAND": command}
        assert subprocess.run(["bash", "-e", "-c", step], env=step_env, capture_output=True).returncode == code
    assert (tmp_path / "check" / "junit.xml").exists()


def test_the_branch_of_the_badge_has_a_commit_for_each_verdict_that_is_another(tmp_path: Path) -> None:
    """The step of the workflow, as it stands."""
    text = (ROOT / "conformance/busproof/templates/ci/github.yml.txt").read_text(encoding="utf-8")
    step = textwrap.dedent(text.rpartition("- run: |")[2].partition("\n")[2])

    def git(*argv: str) -> str:
        who = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
        return subprocess.run(["git", *who, *argv], cwd=tmp_path, check=True, capture_output=True, text=True).stdout

    git("init", "--quiet", "--bare", "origin")
    git("clone", "--quiet", "origin", "here")
    git("-C", "here", "commit", "--quiet", "--allow-empty", "--message", "first")
    git("-C", "here", "push", "--quiet", "origin", "HEAD:main")
    for number, verdict in enumerate(("valid", "valid", "invalid")):
        git("clone", "--quiet", "--branch", "main", "origin", str(number))
        folder = tmp_path / str(number) / "busproof-out/check"
        folder.mkdir(parents=True)
        for name in ("badge.svg", "badge.json"):
            (folder / name).write_text(verdict, encoding="utf-8")
        env = {**os.environ, "GITHUB_SHA": str(number)}
        subprocess.run(["bash", "-e", "-c", step], cwd=tmp_path / str(number), env=env, check=True, capture_output=True)
    subjects = git("--git-dir", "origin", "log", "--format=%s", "busproof-badge").splitlines()
    assert subjects == ["The verdict of 2", "The verdict of 0"]


@pytest.mark.nightly
def test_the_script_and_the_tox_file_judge_a_bus_from_an_empty_folder_with_an_installed_wheel(tmp_path: Path) -> None:
    """The bus is in Node; the kit is its wheel, in environments that know nothing of this checkout."""
    install = f"busproof[chaos,audit] @ {wheel(tmp_path / 'wheel').as_uri()}"
    bus = ROOT / "conformance" / "examples" / "minimal_node" / "adapter.mjs"
    here = tmp_path / "here"
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    subprocess.run([str(tmp_path / "venv/bin/pip"), "install", "--quiet", install, "tox"], check=True)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    env |= {"PATH": f"{tmp_path / 'venv/bin'}:{os.environ['PATH']}"}
    for what in (["ci", "worker", "shell"], ["tox", "worker"]):
        how = ["--bus", f"exec:node {bus}", "--install", install, "--folder", str(here)]
        subprocess.run([str(tmp_path / "venv/bin/busproof"), "init", *what, *how], check=True)
    for command in (["sh", "busproof.sh"], ["tox"]):
        done = subprocess.run(command, cwd=here, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
        for report in ("check", "chaos"):
            assert "<testsuite" in (here / "busproof-out" / report / "junit.xml").read_text(encoding="utf-8")
            (here / "busproof-out" / report / "junit.xml").unlink()


def test_what_is_installed_is_what_the_extras_are_called() -> None:
    """A job that names an extra that does not exist would judge nothing."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    for extra in jobs.INSTALL.partition("[")[2].rstrip("]").split(","):
        assert re.search(rf"^{extra} = \[", text, re.MULTILINE)
