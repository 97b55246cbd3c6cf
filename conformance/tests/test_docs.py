"""The documents are true: links lead somewhere, and commands to copy run."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path

import pytest

from busproof import cli
from busproof.bus.fleet import reference
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import catalogue
from busproof.pages.report import scoreboard
from busproof.run import known

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "conformance/examples").glob("*/*.md"),
        ROOT / "conformance/examples/README.md",
    }
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    """Links to other sites are left alone."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    lost = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert lost == []


def test_the_readme_counts_the_requirements_that_there_are() -> None:
    """For every system."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    told = re.findall(r"\[(\d+) requirements\]\(docs/traceability/(\w+)\.md\)", text)
    assert {system: int(number) for number, system in told} == {name: len(catalogue(name)) for name in CONTRACTS}


@pytest.mark.parametrize("system", CONTRACTS)
def test_the_page_of_a_run_is_of_one_that_was_valid(system: str) -> None:
    """The author of a new page reads its verdict."""
    text = (ROOT / "docs" / "traceability" / f"{system}.md").read_text(encoding="utf-8")
    assert re.search(r"`busproof check \w+` on refbus\S* \S+: valid\.", text)


def test_the_scoreboard_is_made_of_the_committed_reports(tmp_path: Path) -> None:
    """Every example that was judged is on it, as its report says."""
    reports = sorted((ROOT / "conformance/examples").glob("*/report.jsonl"))
    board = ROOT / "docs/scoreboard"
    made = scoreboard.write(reports, tmp_path / "docs" / "scoreboard")
    assert len(made) == len(reports) + 1
    for page in (tmp_path / "docs/scoreboard").iterdir():
        up = os.path.relpath(ROOT, tmp_path / "docs/scoreboard")  # links are relative to where a page is
        assert page.read_text().replace(f"({up}/", "(../../") == (board / page.name).read_text(), page.name
    assert len(list(board.iterdir())) == len(list((tmp_path / "docs/scoreboard").iterdir()))


def test_the_steps_of_the_workflow_run(tmp_path: Path) -> None:
    """On the reference, a little of each; installing is left out."""
    steps = re.findall(r"- run: busproof (.+)", (ROOT / "docs" / "ci.md").read_text(encoding="utf-8"))
    assert [step.split()[0] for step in steps] == ["doctor", "check", "chaos"]
    for step in steps:
        argv = shlex.split(step)
        argv[argv.index("--bus") + 1] = reference("worker")
        if "--out" in argv:
            argv[argv.index("--out") + 1] = str(tmp_path / argv[0])
        argv += {"check": ["--only", "log.idempotent_publish"], "chaos": ["--kills", "1"]}.get(argv[0], [])
        assert cli.main(argv) == 0, argv


def test_the_list_of_known_failures_can_be_read(tmp_path: Path) -> None:
    said = (ROOT / "docs" / "reading-a-report.md").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\[\[known.*?)\n\n", said, re.MULTILINE | re.DOTALL)[0]
    path = tmp_path / "known.toml"
    path.write_text(re.sub("^    ", "", listed, flags=re.MULTILINE), encoding="utf-8")
    (entry,) = known.load(path)
    assert entry.id == "worker.limit.02"
