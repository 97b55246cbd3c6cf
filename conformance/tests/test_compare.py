"""Reports of two runs, side by side: what a change has broken is told with the first step to take."""

from __future__ import annotations

from pathlib import Path

import pytest

from busproof import cli
from busproof.bus.base import HOW_LONG
from busproof.pages.report import lines
from busproof.pages.report.causes import first_step, marked
from busproof.run.result import Outcome, RowResult

HELLO = {"name": "a", "version": "1", "nouns": ["log"], "features": []}
WHY = 'reply.acked: false expected, not true\n  model: {"acked": false}\n  bus:   {"acked": true}'


def report(path: Path, **outcomes: Outcome) -> str:
    """A report in which worker.log.01 and so on came out so."""
    rows = [
        RowResult(
            requirement=f"worker.log.{name[1:]}", outcome=outcome, check="corpus", fleet="bus", why=WHY, cause="ack x"
        )
        for name, outcome in outcomes.items()
    ]
    lines.write(path, {"system": "worker", "hello": HELLO, "started": "now", "busproof": "0"}, rows)
    return str(path)


def test_what_broke_and_what_holds_again_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit 1 where something that held is broken."""
    old = report(tmp_path / "old", _01="pass", _02="fail", _03="fail", _04="fail")
    new = report(tmp_path / "new", _01="fail", _02="pass", _03="fail", _04="could-not-run")
    assert cli.main(["compare", old, new]) == 1
    out = capsys.readouterr().out
    for kind, row in {
        "newly broken": "01",
        "newly held": "02",
        "still broken": "03",
        "not decided any more": "04",
    }.items():
        assert f"{kind}: 1\n  worker.log.{row} " in out
    assert "first step: make `ack` answer false for reply.acked, not true" in out
    assert cli.main(["compare", new, old]) == 1  # the other way round 02 broke
    assert cli.main(["compare", old, old]) == 0


def test_a_row_that_goes_back_and_forth_is_flaky_and_nobodys_fault(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    series = [report(tmp_path / str(n), _01=outcome) for n, outcome in enumerate(("pass", "fail", "pass"))]
    assert cli.main(["compare", *series]) == 0
    assert "flaky: 1\n  worker.log.01 " in capsys.readouterr().out
    assert cli.main(["compare", series[0]]) == 2


def test_the_value_that_differs_stands_out_in_both_answers() -> None:
    pieces = [text for line in marked(WHY) for text, differs in line if differs]
    assert pieces == ['"acked": false', '"acked": true']
    assert marked("nothing of a difference") == [[("nothing of a difference", False)]]


def test_of_a_long_answer_the_part_around_the_value_is_shown() -> None:
    """A short value is searched for with its member alone: digits stand anywhere."""
    other = ", ".join(f'"n{n}": {n}' for n in range(100))
    why = f'reply.left: 3 expected, not 0\n  model: {{{other}, "left": 3, {other}}}\n  bus:   {{{other}}}'
    _, model, bus = marked(why)
    assert [text for text, differs in model if differs] == ['"left": 3']
    assert all(sum(len(text) for text, _ in line) < 300 for line in (model, bus))
    assert model[0][0].startswith("  model: …")


@pytest.mark.parametrize(
    ("why", "step"),
    [
        ("broken: worker.lease.14\n" + WHY.replace("\n", "\nprocess 1: ack {} at 5 ms\n"), "make `ack` answer false"),
        (
            "reply.jobs[a:b].n: 3 expected, not 0\nprocess 0: dump {} at 5 ms",
            "look for the call that left 0 for jobs[a:b].n",
        ),
        (
            "reply.rows: [1] expected, not []\nprocess hand: ledger {} at 5 ms",
            "look for the call that left [] for rows",
        ),
        (
            "reply: a definite refusal with a code of its own expected, not {}\nprocess 0: ack {} at 5 ms",
            "make `ack` end in a definite refusal",
        ),
        (
            "reply.log: 4 of them, with [2] 7 expected, not 3 without it\nprocess 0: poll {} at 5 ms",
            "find what log of `poll` lost: [2] 7",
        ),
        (
            "reply.log[0]: no such message expected, not 7\nprocess 0: poll {} at 5 ms",
            "find why `poll` shows log[0]: 7",
        ),
        (
            (
                "reply.acked: 1 expected, not 2\nprocess 0: poll {}\n  model: {}\n  bus: {}\n"
                'process 1: ack {}\n  model:\n  bus: {"acked": 2}'
            ),
            "make `ack` answer 1",
        ),
        (
            "reply.rows: 2 of them expected, not 3: copy for cas is too many\nprocess hand: ledger {}",
            "find why copy for cas is too many in rows of `ledger`",
        ),
        ("reply.log: 7 expected, not a list without it: [8]\nprocess 0: poll {}", "find what log of `poll` lost: 7"),
        (
            "reply.log[1]: it before 9 expected, not behind that\nprocess 0: poll {}",
            "find why `poll` shows log[1] too late",
        ),
        ("blocked by worker.log.01: of the same calls", "mend worker.log.01 first"),
        ("blocked by worker.log.01, which leaves nothing to look at", "mend worker.log.01 first"),
    ],
)
def test_the_first_step_is_about_the_call_that_differs(why: str, step: str) -> None:
    assert first_step({"outcome": "fail", "why": why}).startswith(step)


def test_the_first_step_fits_what_happened() -> None:
    """A lack is named, a slow bus is given time, and the advice of chaos comes before all guesses."""
    lacks = {"outcome": "could-not-run", "why": "needs a clock"}
    assert first_step(lacks) == "see what it lacks: needs a clock"
    assert "BUSPROOF_PATIENCE" in first_step({"outcome": "fail", "why": f"no answer to dump in 10 s; {HOW_LONG}"})
    assert first_step({"outcome": "fail", "why": WHY, "step": "commit first"}) == "commit first"
    assert first_step({"outcome": "fail", "why": "alice was told b"}).endswith("its last call: alice was told b")
