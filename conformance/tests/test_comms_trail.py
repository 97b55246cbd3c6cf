"""Lines of the trail are matched to events: nobody's event takes no line of an agent's, and the kind is named."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from busproof.oracle.models.comms_parts import Trail
from busproof.oracle.models.comms_state import Event
from busproof.oracle.models.parts import text_of

AT_US = 1_768_053_600_000_000
EXPIRED, REDRIVEN = Event("expired", AT_US, None, "m-1"), Event("redriven", AT_US, "bob", "m-1")
EVENTS = [Event("sent", AT_US - 1, "ann", "m-1"), EXPIRED, REDRIVEN, Event("completed", AT_US + 1, "bob", "m-1")]


def line(event: Event, agent: str | None = None) -> dict[str, Any]:
    return {"at": text_of(event.at_us), "kind": event.kind, "agent": event.agent or agent, "id": event.about}


@given(st.permutations(EVENTS), st.sampled_from([None, "bob"]))
def test_all_lines_in_any_order_are_what_the_events_say(events: list[Event], of_nobody: str | None) -> None:
    """Where lines come in the order of events, the line of nobody's event may name an agent or not."""
    lines = [line(event, of_nobody) for event in (EVENTS if of_nobody else events)]
    assert Trail(EVENTS, [], []).differs(lines, "lines", ()) is None


@given(st.sampled_from(EVENTS))
def test_the_event_without_a_line_is_the_one_that_is_named(missing: Event) -> None:
    difference = Trail(EVENTS, [], []).differs([line(event) for event in EVENTS if event != missing], "lines", ())
    assert difference is not None
    assert f"{missing.kind} by {missing.agent or 'nobody'} at {text_of(missing.at_us)} (m-1)" in difference.expected


OTHERS = [{"ts": 1, "event": "theirs"}, "# a comment\n", "5", "{x", " \n", "{}"]


@pytest.mark.parametrize("gone", [None, *range(4)])
def test_a_line_of_others_that_is_gone_is_missed_and_one_without_its_end_may_be_continued(gone: int | None) -> None:
    theirs = [OTHERS[0], "# a comment", "5", '{x{"ts": 2}', {}]
    lines = [*map(line, EVENTS), *(member for n, member in enumerate(theirs) if n != gone)]
    difference = Trail(EVENTS, [], OTHERS).differs(lines, "lines", ())
    assert (difference and difference.rows) == (None if gone is None else ("comms.export.08",))


def test_a_surplus_line_is_shown_whole_beside_all_events_of_its_message() -> None:
    extra = {**line(EXPIRED), "again": "yes"}
    difference = Trail(EVENTS, [], []).differs([*map(line, EVENTS), extra], "lines", ())
    assert difference is not None
    assert difference.rows == ("comms.export.03",)
    assert repr(extra) in difference.actual
    assert all(event.kind in difference.expected for event in EVENTS)
