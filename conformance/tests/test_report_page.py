"""The HTML page: a bus's words are shown and do nothing; the picture holds each operation once."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from busproof.report import html, lines
from busproof.report.swimlane import picture
from busproof.runner import RowResult

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
    bars = [one for one in root.iter("rect") if one.get("class") != "lease"]
    assert len(bars) >= sum(event["type"] == "invoke" for event in events)
    assert all(float(bar.get("width", 0)) > 0 for bar in bars)


def test_operations_that_run_side_by_side_overlap_in_their_lanes() -> None:
    """The bar of the one that waits covers the other's."""
    told = [("invoke", 0), ("invoke", 1), ("ok", 1), ("fail", 0)]
    events = [{"index": n, "process": who, "type": kind, "op": "claim"} for n, (kind, who) in enumerate(told)]
    bars = [one.attrib for one in ET.fromstring(str(picture(events))).iter("rect")]
    first, second = ((int(bar["x"]), int(bar["x"]) + int(bar["width"])) for bar in bars)
    assert first[0] < second[0] and second[1] < first[1]
    assert [bar["class"] for bar in bars] == ["failed first", "ok"]


def test_a_row_is_listed_once_whatever_decided_it(tmp_path: Path) -> None:
    """By its worst outcome; inside stand all checks that decided it, each with its words."""
    decided = [("blob.inline", "pass", ""), ("corpus", "fail", "kept & lost"), ("history.ack", "pass", "")]
    results = [
        RowResult(requirement="worker.blob.01", outcome=outcome, check=check, fleet="bus", why=why)
        for check, outcome, why in decided
    ]
    header = {"system": "worker", "busproof": "0", "hello": {"name": "x", "version": "1"}, "started": "now", "seed": 1}
    html.write(lines.write(tmp_path / "report.jsonl", header, results), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count('id="worker.blob.01"') == 1
    assert "1 fail" in page and "pass</label>" not in page
    assert all(f"<code>{check}</code>" in page for check, _, _ in decided)
    assert "kept &amp; lost" in page
