"""The specification pages explain each decision that a row rests on, once; a reader can look up all that rows cite."""

import re
from pathlib import Path

import pytest

from busproof.contract import CONTRACTS
from busproof.contract.catalogue import catalogue
from busproof.pages.protocol_page import with_bounds
from busproof.pages.renew import RENEW

SPEC = Path(__file__).parents[2] / "docs" / "spec"
SEEDED = [system for system in CONTRACTS if system != "mailbox"]  # which is our own, and cites sections of its page
CODE = re.compile(r"\b[WCRTB]\d+\b")


def explained(system: str) -> list[str]:
    """The codes in the first column of the page's last table."""
    _, decisions = (SPEC / f"{system}.md").read_text().split("## Decisions")
    return re.findall(r"(?m)^\| ([WCRTB]\d+) \|", decisions)


@pytest.mark.parametrize("system", SEEDED)
def test_each_row_rests_on_a_seed_or_on_a_decision_that_is_explained(system: str) -> None:
    """By section, or by its code."""
    codes = explained(system)
    for row in catalogue(system).values():
        cited = CODE.findall(row.source)
        assert cited or row.source.startswith("seed 00"), f"{row.id}: {row.source}"
        assert set(cited) <= set(codes), f"{row.id}: {row.source}"


@pytest.mark.parametrize("system", SEEDED)
def test_each_decision_is_explained_once(system: str) -> None:
    """In order, without a gap."""
    codes = explained(system)
    assert codes == [f"{codes[0][0]}{number}" for number in range(1, len(codes) + 1)]


@pytest.mark.parametrize("system", SEEDED)
def test_the_page_names_every_table_of_the_contract(system: str) -> None:
    """A bus can be written from the page: it has the columns that the adapters read."""
    page = (SPEC / f"{system}.md").read_text()
    tables = re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", CONTRACTS[system].tables)
    assert len(tables) >= 4
    tables += ["message_deliveries"] if system == "comms" else []  # ours (decision 0012)
    assert [table for table in tables if f"\n| {table}" not in page] == []


@pytest.mark.parametrize("system", [name for name, contract in CONTRACTS.items() if contract.bounds])
def test_the_bounds_of_the_page_are_the_contracts(system: str) -> None:
    """Their table is generated."""
    page = (SPEC / f"{system}.md").read_text()
    assert page.count("<!-- Generated") == 2
    assert page == with_bounds(page, system), f"{system}.md is stale: {RENEW}"


def test_each_row_of_our_own_system_names_a_section_of_its_page() -> None:
    """By number."""
    sections = re.findall(r"(?m)^## (\d+)\. ", (SPEC / "mailbox.md").read_text())
    assert sections == [str(number) for number in range(1, len(sections) + 1)]
    wrong = [row.id for row in catalogue("mailbox").values() if row.source.removeprefix("busproof, ") not in sections]
    assert wrong == []
