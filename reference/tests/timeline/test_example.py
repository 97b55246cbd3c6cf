"""docs/leaving-one-machine.md is what the example prints, on both backends."""

from __future__ import annotations

import re
from pathlib import Path

from reference.examples import fleet
from reference.tests.timeline.conftest import request

from refbus.timeline import graph
from refbus.timeline.bus import TimelineBus

PAGE = Path(__file__).parents[3] / "docs" / "leaving-one-machine.md"


def test_the_page_shows_what_the_example_prints(backend: str, store: Path) -> None:
    """To the last digit of each hash: the record is the same on both. After a change: its output, pasted."""
    shown = re.search("```text\n(.*?)\n```", PAGE.read_text("utf-8"), re.DOTALL)
    assert shown is not None
    assert "\n".join(fleet.tell(store)) == shown[1]


def test_a_fork_is_drawn_where_it_leaves_its_parent(bus: TimelineBus) -> None:
    """Columns that end make room; a fork of nothing stands apart; names cannot draw."""
    for n in range(3):
        bus.send(request(sequence=n))
    bus.fork("a\x1b[2J*", "s1", "ada", "main", 1)
    bus.fork("b", "s1", "ada", "main", 2)
    bus.fork("c", "s1", "ada", "b", 3)
    bus.fork("d", "s1", "ada", "main", 0)
    whole = bus.dump()
    drawn = [re.sub(" [0-9a-f]{8} .*", "", line) for line in graph.lines(whole["timelines"], whole["messages"])]
    assert drawn == [
        "* | main:1",
        "|-+-.",
        "* | | main:2",
        "|-+-+-.",
        "* | | | main:3",
        "  * | | d:1",
        "    * | a%1B%5B2J%2A:2",
        "      * b:3",
        "      |-.",
        "        * c:4",
    ]
