"""The HTML page: a bus's words are shown and do nothing; the picture holds each operation once."""

from __future__ import annotations

import itertools
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from busproof.pages.report import html, lines
from busproof.pages.report.swimlane import picture
from busproof.run.result import RowResult

EVIL = "</svg><script>alert(1)</script>&\"'"
TEXTS = st.text(alphabet=st.characters(exclude_categories=("Cs", "Cc")), max_size=20) | st.just(EVIL)
EVENTS = st.lists(
    st.fixed_dictionaries(
        {
            "index": st.integers(0, 99),
            "process": st.integers(0, 3),
            "type": st.sampled_from(["invoke", "ok", "fail", "info", "nemesis"]),
            "op": TEXTS,
        },
        optional={
            "agent": TEXTS,
            "value": TEXTS | st.dictionaries(TEXTS, TEXTS, max_size=2),
            "bus_ms": st.integers(0, 10**13),
            "granted": st.booleans(),
            "lease_until_ms": st.integers(0, 10**13),
        },
    ),
    max_size=12,
)


@given(EVENTS)
def test_a_picture_is_well_formed_whatever_a_bus_says(events: list[dict[str, Any]]) -> None:
    """And has a bar for each operation that began."""
    drawn = str(picture(events))
    if not events:
        assert drawn == ""
        return
    root = ET.fromstring(drawn)
    assert {element.tag for element in root.iter()} <= {"div", "svg", "g", "rect", "line", "text", "title"}
    bars = [bar for bar in root.iter("rect") if bar.get("class") != "lease"]
    assert len(bars) >= sum(event["type"] == "invoke" for event in events)
    assert all(float(bar.get("width", 0)) > 0 for bar in bars)


def test_operations_that_run_side_by_side_overlap_in_their_lanes() -> None:
    """The bar of the one that waits covers the other's."""
    ends = [("invoke", 0), ("invoke", 1), ("ok", 1), ("fail", 0)]
    events = [{"index": n, "process": who, "type": kind, "op": "claim"} for n, (kind, who) in enumerate(ends)]
    bars = [bar.attrib for bar in ET.fromstring(str(picture(events))).iter("rect")]
    first, second = ((int(bar["x"]), int(bar["x"]) + int(bar["width"])) for bar in bars)
    assert first[0] < second[0] and second[1] < first[1]
    assert [bar["class"] for bar in bars] == ["failed first", "ok"]


@given(EVENTS)
def test_texts_of_a_picture_do_not_overlap(events: list[dict[str, Any]]) -> None:
    """A character of the page's font is 7.2 pixels wide."""
    texts = [text for text in ET.fromstring(str(picture(events)) or "<svg/>").iter("text") if text.text]
    spans = sorted((int(text.get("y", 0)), int(text.get("x", 0)), len(text.text or "")) for text in texts)
    for (y, x, chars), (other_y, other_x, _) in itertools.pairwise(spans):
        assert y != other_y or x + 7.2 * chars <= other_x


def test_what_was_asked_is_parted_between_words() -> None:
    asked = {
        "index": 0,
        "process": 0,
        "type": "invoke",
        "op": "claim",
        "value": {"task_id": "build", "agent_id": "bob"},
    }
    later = [{**asked, "index": n, "type": kind} for n, kind in enumerate(("ok", "invoke", "ok"), 1)]
    texts = [text.text for text in ET.fromstring(str(picture([asked, *later]))).iter("text")]
    assert {"task_id=build", "agent_id=bob"} <= set(texts)


def test_the_answer_that_the_model_does_not_have_is_outlined_and_not_one_rightly_refused() -> None:
    ends = [("invoke", {}), ("fail", {}), ("invoke", {}), ("ok", {"differs": True})]
    events = [{"index": n, "process": 0, "type": kind, "op": "ack", **more} for n, (kind, more) in enumerate(ends)]
    assert [bar.get("class") for bar in ET.fromstring(str(picture(events))).iter("rect")] == ["failed", "ok first"]


def page_of(folder: Path, results: list[RowResult], **header: Any) -> str:
    """The page of a report of these rows."""
    first = {"system": "worker", "busproof": "0", "hello": {"name": "x", "version": "1"}, "started": "now", "seed": 1}
    html.write(lines.write(folder / "report.jsonl", {**first, **header}, results), folder / "report.html")
    return (folder / "report.html").read_text()


def test_the_list_of_known_failures_is_on_the_page_with_what_became_of_each(tmp_path: Path) -> None:
    """An address that is none of the web is shown, and leads nowhere."""
    known = [
        {"id": "worker.log.06", "reason": "until <2>", "url": "https://x.org/1", "expires": "2027-01-31"},
        {"id": "worker.log.07", "reason": "later", "url": "javascript:alert(1)", "expires": None},
    ]
    failed = RowResult(requirement="worker.log.06", outcome="fail", check="log.x", fleet="bus", why="lost")
    page = page_of(tmp_path, [failed], known=[entry["id"] for entry in known], known_entries=known)
    section = page[page.index("Known failures") : page.index("Every row")]
    for words in ("until &lt;2&gt;", '<a href="https://x.org/1">', "2027-01-31", "fail", "not played", "javascript:"):
        assert words in section
    assert 'href="javascript' not in page
    assert "not counted" in page[page.index("What broke") : page.index("Known failures")]


def test_warnings_have_a_place_of_their_own_with_their_evidence(tmp_path: Path) -> None:
    warned = RowResult(requirement="worker.log.11", outcome="warn", check="log.x", fleet="bus", why="another choice")
    page = page_of(tmp_path, [warned])
    assert "What broke" not in page
    assert "another choice" in page[page.index("<h2>Warnings</h2>") : page.index("<h2>Every row</h2>")]


def test_a_row_is_listed_once_whatever_decided_it(tmp_path: Path) -> None:
    """By its worst outcome; inside stand all checks that decided it, each with its words."""
    decided = [("blob.inline", "pass", ""), ("corpus", "fail", "kept & lost"), ("history.ack", "pass", "")]
    results = [
        RowResult(requirement="worker.blob.01", outcome=outcome, check=check, fleet="bus", why=why)
        for check, outcome, why in decided
    ]
    page = page_of(tmp_path, results)
    assert page.count('id="worker.blob.01"') == 1
    assert "1 fail" in page and "pass</label>" not in page
    assert all(f"<code>{check}</code>" in page for check, _, _ in decided)
    assert "kept &amp; lost" in page
