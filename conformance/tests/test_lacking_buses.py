"""A `worker` bus that lacks what the world takes for optional says so, and is blamed for nothing (`hello.lacks`)."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path

import pytest
from conformance.tests.program import busproof

from busproof.bus.fleet import Fleet
from busproof.contract.catalogue import HISTORY
from busproof.pages.report import lines
from busproof.run.runner import run_item

MINIMAL = Path(__file__).parents[1] / "examples" / "minimal_node"
NO_ID = ("id = message.id ?? randomUUID();", "id = randomUUID();")
NO_BROADCAST = (
    "    const { to = null,",
    '    if (!message.to) throw new Refused("INVALID_ARGUMENT", "a message is to somebody");\n    const { to = null,',
)
NOT_ONES_OWN = ("(m) => m.to_agent === null ||", "(m) => m.from_agent !== agent).filter((m) => m.to_agent === null ||")
FROM_THE_FIRST_POLL = (
    "    const { messages, cursors } = this.read();",
    """    this.change(({ messages, cursors }) => { cursors[agent] ??= messages.length; });
    const { messages, cursors } = this.read();""",
)
PLAIN_NAMES = (
    "  poll(agent, limit) {",
    '  poll(agent, limit) {\n    if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(agent)) throw new Error("an odd name");',
)
LACKS = {
    "idempotent_publish": NO_ID,
    "broadcast": NO_BROADCAST,
    "self_delivery": NOT_ONES_OWN,
    "late_readers": FROM_THE_FIRST_POLL,
    "any_name": PLAIN_NAMES,
}


def bus(folder: Path, lacks: tuple[str, ...], *declared: str) -> str:
    """The example without these, which says so of all that are declared; its --bus."""
    assert shutil.which("node"), "node is needed for this test (Debian: apt-get install nodejs)"
    text = (MINIMAL / "bus.mjs").read_text()
    for was, becomes in (LACKS[name] for name in lacks):
        assert was in text
        text = text.replace(was, becomes)
    (folder / "bus.mjs").write_text(text)
    adapter = (MINIMAL / "adapter.mjs").read_text()
    line = f'features: ["seq"], lacks: {list(declared)!r},'
    (folder / "adapter.mjs").write_text(adapter.replace('features: ["seq"],', line))
    return f"exec:node {folder / 'adapter.mjs'}"


def checked(spec: str, out: Path, *more: str) -> tuple[int, dict[str, str], str]:
    """The exit code, the outcome of each row, and the words of a check."""
    done = busproof("check", "worker", "--bus", spec, "--mixed-with", "none", "--out", str(out), "-j", "1", *more)
    rows = {r["requirement"]: r["outcome"] for r in lines.load(out / "report.jsonl").rows}
    return done.returncode, rows, done.stdout


@pytest.mark.parametrize(
    ("lacks", "asked"),
    [
        (tuple(LACKS), ("--only", "route", "--only", HISTORY)),
        *(pytest.param(lacks, (), marks=pytest.mark.nightly) for lacks in [tuple(LACKS), *((name,) for name in LACKS)]),
    ],
    ids=["all, in short", "all", *LACKS],
)
def test_a_bus_that_says_what_it_lacks_is_valid(tmp_path: Path, lacks: tuple[str, ...], asked: tuple[str, ...]) -> None:
    """All that it has is asked, and holds: by day who gets a message, and a recorded history."""
    code, rows, out = checked(bus(tmp_path, lacks, *lacks), tmp_path / "out", *asked)
    assert code == 0, out
    assert set(rows.values()) == {"pass", "not-applicable"}


def test_a_receive_that_takes_no_limit_is_valid_where_the_bus_says_so(tmp_path: Path) -> None:
    """It broke mailbox.cursor.01, the sentence of what waits."""
    text = (MINIMAL.parent / "minimal_node_mailbox" / "adapter.mjs").read_text()
    cut, declared = ".slice(0, p.limit ?? 100)", 'features: ["ack"]'
    assert cut in text
    assert declared in text
    outcomes = {}
    for lacks in ("[]", '["limit"]'):
        path = tmp_path / f"{len(outcomes)}.mjs"
        path.write_text(text.replace(cut, "").replace(declared, f"{declared}, lacks: {lacks}"))
        with contextlib.closing(Fleet([f"exec:node {path}"], system="mailbox")) as fleet:
            items = ("corpus:mailbox.cursor.01", "corpus:mailbox.cursor.05", HISTORY)
            outcomes[lacks] = {row.outcome for item in items for row in run_item(fleet, item, seed=1)}
    assert "fail" in outcomes["[]"]
    assert not outcomes['["limit"]'] & {"fail", "warn"}
