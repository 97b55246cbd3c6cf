"""Buses in other languages, judged whole: each README tells the check's findings. Nightly, where its tools are."""

import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
from conformance.tests.program import busproof

from busproof.pages.report import lines

EXAMPLES = Path(__file__).parents[1] / "examples"


class Stranger(NamedTuple):
    """The needs of an example, and how it is judged from the repository's top, as its README and its report say."""

    bus: str
    tools: tuple[str, ...]
    profile: tuple[str, ...] = ("--profile", "core")
    system: str = "worker"


STRANGERS = {
    "perl_log": Stranger("faketime:exec:perl conformance/examples/perl_log/adapter.pl", ("perl",)),
    "go_log": Stranger("exec:conformance/examples/go_log/adapter", ("go",)),
    "ruby_pstore": Stranger("faketime:exec:ruby conformance/examples/ruby_pstore/adapter.rb", ("ruby",)),
    "redis_streams": Stranger(
        "faketime:exec:node conformance/examples/redis_streams/adapter.mjs", ("node", "redis-server", "flock")
    ),
    "bullmq": Stranger(
        "exec:node conformance/examples/bullmq/adapter.mjs", ("node", "npm", "redis-server", "flock"), profile=()
    ),
    "php_timeline": Stranger("exec:php conformance/examples/php_timeline/adapter.php", ("php",), system="timeline"),
}

OF_A_RACE = {"ruby_pstore"}  # schedules decide how many of its rows tell the one fault, but not that it is told


@pytest.mark.nightly
@pytest.mark.parametrize("name", STRANGERS)
def test_the_check_finds_what_the_readme_says(name: str, tmp_path: Path) -> None:
    """No row more, no row less; a bus must have the core, a queue the methods that it declares."""
    bus, tools, profile, system = STRANGERS[name]
    if missing := [tool for tool in tools if not shutil.which(tool)]:
        pytest.skip(f"{name} needs {', '.join(missing)}, which this machine has not")
    folder = EXAMPLES / name
    if "go" in tools:
        subprocess.run(["go", "build", "-o", str(tmp_path / "adapter"), str(folder / "adapter.go")], check=True)
        bus = f"exec:{tmp_path / 'adapter'}"
    if "npm" in tools:
        shutil.copytree(folder, tmp_path / "npm", ignore=shutil.ignore_patterns("node_modules"))
        subprocess.run(["npm", "install", "--silent", "--prefix", str(tmp_path / "npm")], check=True)
        bus = f"exec:node {tmp_path / 'npm' / 'adapter.mjs'}"
    expected = tomllib.loads((folder / "expected.toml").read_text())
    options = [*profile, "--seed", "1", "--bus", bus, "--out", str(tmp_path / "out")]
    done = busproof("check", system, *options, cwd=EXAMPLES.parents[1])
    report = lines.load(tmp_path / "out" / "report.jsonl")
    warned = sorted({row["requirement"] for row in report.rows if row["outcome"] == "warn"})
    assert report.verdict == expected["verdict"], done.stdout
    assert set(report.footer["failed"]) <= expected["failed"].keys(), done.stdout
    assert name in OF_A_RACE or report.footer["failed"] == sorted(expected["failed"]), done.stdout
    assert warned == expected["dialects"]


@pytest.mark.parametrize("name", STRANGERS)
def test_the_committed_report_is_of_this_bus_and_says_what_is_expected(name: str) -> None:
    """An edited report, or one of another command, fails."""
    report = lines.kept(name)
    expected = tomllib.loads((EXAMPLES / name / "expected.toml").read_text())
    assert report.header["bus"] == STRANGERS[name].bus
    assert set(report.footer["failed"]) <= expected["failed"].keys()
    assert name in OF_A_RACE or report.footer["failed"] == sorted(expected["failed"])
    assert report.verdict == expected["verdict"]
    assert f"--bus {shlex.quote(STRANGERS[name].bus)}" in (EXAMPLES / name / "README.md").read_text()
