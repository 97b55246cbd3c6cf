"""docs/worth.md: how many planted faults the kit found, and by which means.

`python -m busproof.pages.worth` writes this page, and docs/scoreboard.md, from the evidence.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from busproof import evidence
from busproof.evidence import Record
from busproof.pages.report import scoreboard

DOCS = evidence.FOLDER.parents[1] / "docs"
LATEST = 5  # trials that have a line of their own
MEANS = ("check", "chaos", "audit")
OUTCOMES = (*MEANS, "only warned", "not found")

HEAD = """<!-- Generated: python -m busproof.pages.worth -->
# What a verdict is worth

busproof is measured by faults that somebody else planted. An author who had never seen the kit read a seed, the
specification and the reference, and wrote small changes to the reference that each break a sentence. The kit was frozen
before anybody read a fault. The table counts what the frozen kit found.
"""

FOOT = """
**How to read the table.** *Found* is the share of faults that failed a MUST: in `check`, else in `chaos`, or in `audit`
for the recorded histories. A fault that *only warned* broke a sentence of ours where the seed is silent. After each
trial the kit learnt from the faults that it had missed, so the latest trials say most about the kit of today.

**What the table does not say.** Authors of the early trials were asked for faults that a suite finds hard; authors of
the latest trials were asked for what an engineer gets wrong. One author may stand in several lines. {unjudged} faults
were never judged and count as not found. `chaos` was asked about part of the survivors only, so the shares are lower
bounds. A share of planted faults is no probability that a VALID bus is right: [what VALID means](valid.md).

One fault again, as its author wrote it: `busproof faults show blind-30.worker-07`. The records of all faults:
[evidence](../conformance/evidence/README.md).
"""


def text() -> str:
    """The page."""
    trials = evidence.read("trials")
    blind = evidence.read("blind").values()
    names = sorted({fault["trial"] for fault in blind} - {"likely-missed"}, key=lambda name: int(name.split("-")[1]))
    early, latest = names[:-LATEST], names[-LATEST:]
    lines = [_line(_shown(name), [name], blind, trials) for name in reversed(latest)]
    lines += [
        _line(f"blind trials {early[0].split('-')[1]} to {early[-1].split('-')[1]}", early, blind, trials),
        _line("**all blind trials**", names, blind, trials),
        _line("faults written against the lists of earlier trials", ["likely-missed"], blind, trials),
    ]
    histories = [as_fault(script) for script in evidence.read("histories").values() if not script["innocent"]]
    lines.append(_line("recorded histories, changed", ["histories-1", "histories-2"], histories, trials))
    lines.append(_row("public bug reports, planted", "", _counted([*map(outcome, evidence.read("reports").values())])))
    unjudged = sum(not fault["judged"] for fault in blind)
    lines.append(_row("changes that a tool drew", "", _tool(evidence.read("mutation").values())))
    head = _row("", "authors", ("faults", *OUTCOMES, "found"))
    return "\n".join([HEAD, head, "|---" * (len(OUTCOMES) + 4) + "|", *lines, FOOT.format(unjudged=unjudged)])


def as_fault(script: Record) -> Record:
    """A script of a history, as a fault that an audit finds or not."""
    return {**script, "found_by": "audit" if script["found"] else None, "warned": []}


def outcome(fault: Record) -> str:
    """By which means a fault was found, or that it was not."""
    return str(fault["found_by"] or ("only warned" if fault["warned"] else "not found"))


def _line(title: str, names: Sequence[str], faults: Iterable[Record], trials: dict[str, Record]) -> str:
    outcomes = [outcome(fault) for fault in faults if fault["trial"] in names]
    authors = sum(trial.get("authors", 0) for name, trial in trials.items() if name.split(".")[0] in names)
    return _row(title, str(authors), _counted(outcomes))


def _tool(changes: Iterable[Record]) -> list[str]:
    """Changes that no call can show are left out."""
    decided = [change for change in changes if "equivalent" not in change.get("why", {})]
    caught = {"killed": "check", "broke down": "check", "dialect": "check", "by chaos": "chaos"}
    return _counted([caught.get(change["outcome"], "not found") for change in decided])


def _counted(outcomes: list[str]) -> list[str]:
    caught = sum(each in MEANS for each in outcomes)
    share = f"**{100 * caught / len(outcomes):.0f} %**"
    return [f"{len(outcomes):,}", *(str(outcomes.count(each) or "") for each in OUTCOMES), share]


def _row(title: str, authors: str, cells: Sequence[str]) -> str:
    return f"| {' | '.join([title, authors, *cells])} |"


def _shown(name: str) -> str:
    return name.replace("blind-", "blind trial ")


if __name__ == "__main__":
    (DOCS / "worth.md").write_text(text(), encoding="utf-8")
    (DOCS / "scoreboard.md").write_text(scoreboard.of_examples(), encoding="utf-8")
