"""The documents are true: links lead somewhere, and commands to copy run."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from busproof import cli
from busproof.contract.history import scan
from busproof.oracle.checks import overall
from busproof.pages import history_page, worth
from busproof.pages.renew import RENEW
from busproof.pages.report import scoreboard
from busproof.run import known
from busproof.systems import run_checks

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    {
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "conformance/examples").glob("*/*.md"),
        ROOT / "conformance/examples/README.md",
        ROOT / "conformance/evidence/README.md",
    }
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    """Links to other sites are left alone."""
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    lost = [link for link in links if "://" not in link and not (page.parent / link).exists()]
    assert lost == []


def test_the_pages_of_evidence_are_made_of_it() -> None:
    """Or an author forgot to renew them."""
    assert (ROOT / "docs/worth.md").read_text(encoding="utf-8") == worth.text(), RENEW
    assert (ROOT / "docs/scoreboard.md").read_text(encoding="utf-8") == scoreboard.of_examples(), RENEW


def test_the_page_of_the_format_is_made_of_the_struct() -> None:
    """Every column that a stranger needs is told, and the schema needs no other."""
    assert (ROOT / "docs/history.md").read_text(encoding="utf-8") == history_page.text(), RENEW
    assert set(history_page.schema()["required"]) <= {"index", "run", "system", "process", "type", "wall_ms", "mono_ns"}


@pytest.mark.parametrize("program", ["python", "node", "perl"])
def test_a_logger_of_the_templates_writes_a_history(tmp_path: Path, program: str) -> None:
    """It is judged as it is."""
    assert shutil.which(program), f"{program} is needed for this test"
    assert cli.main(["init", "worker", f"logger-{program}", str(tmp_path)]) == 0
    (logger,) = tmp_path.iterdir()
    subprocess.run([program, logger.name], cwd=tmp_path, check=True)
    assert overall(run_checks(scan(tmp_path / "history.jsonl"))) == "valid"


def test_the_documents_stay_few_and_short() -> None:
    """At most 80 files, and 45,000 words by hand: a page without a reader goes."""
    pages = [page for page in (ROOT / "docs").rglob("*") if page.is_file()]
    texts = [page.read_text(encoding="utf-8") for page in pages if page.suffix == ".md"]
    assert len(pages) <= 80
    assert sum(len(text.split()) for text in texts if not text.startswith("<!-- Generated")) <= 45_000


def test_the_list_of_known_failures_can_be_read(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "reading-a-report.md").read_text(encoding="utf-8")
    listed = re.findall(r"^    (\[\[known.*?)\n\n", page, re.MULTILINE | re.DOTALL)[0]
    path = tmp_path / "known.toml"
    path.write_text(re.sub("^    ", "", listed, flags=re.MULTILINE), encoding="utf-8")
    (entry,) = known.load(path)
    assert entry.id == "worker.limit.02"
