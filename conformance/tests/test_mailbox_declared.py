"""What a mailbox declares decides how its history is read, wherever the header has it."""

from typing import Any

import pytest

from busproof.contract.history import Event, EventType
from busproof.oracle.checks.extract.mailbox import SOURCE
from busproof.systems import run_checks

HELLO = {"features": ["consumes"], "limits": {"page_max": 7}}


@pytest.mark.parametrize(
    "header", [{"bus": HELLO}, {"bus": ["toml:bus.toml"], "hello": [HELLO]}], ids=["of a workload", "of chaos"]
)
def test_a_reader_that_takes_is_known_from_the_header(header: dict[str, Any]) -> None:
    """Or a message that was shown once, and is not shown again, would count as lost."""
    assert SOURCE.of_run is not None
    of_call = SOURCE.of_run(header).of_call
    assert getattr(of_call, "keywords", {})["bus"].features == {"consumes"}
    assert getattr(of_call, "keywords", {})["bus"].page_max == 7


@pytest.mark.parametrize("is_read_before", [True, False], ids=["read before it", "read after it"])
def test_a_message_that_is_sent_again_under_its_key_was_sent_when_it_was_first_sent(*, is_read_before: bool) -> None:
    """Nobody answered its first sending, which arrived: no clock is wrong, and no order is reversed."""
    shown = [{"id": name, "from_agent": "a", "body": name} for name in ("first", "second")]
    tried = {"to": "b", "body": "first", "key": "k"}
    again = [line(3, "invoke", "send", tried), line(3, "ok", "send", {"id": "first"})]
    reading = [line(2, "invoke", "receive", {}, "b"), line(2, "ok", "receive", {"messages": shown}, "b")]
    lines = [
        line(-1, "header", None, {"bus": {"features": ["key"], "limits": {}}}),
        line(0, "invoke", "send", tried),
        line(1, "invoke", "send", {"to": "b", "body": "second"}),
        line(1, "ok", "send", {"id": "second"}),
        *(reading + again if is_read_before else again + reading),
        line(-1, "footer", None, {"events": 8, "states": 0}),
    ]
    for index, event in enumerate(lines):
        event.index = event.mono_ns = index
    integrity, *others = run_checks(lines)
    assert integrity.verdict == "valid"
    assert [verdict.witnesses for verdict in others] == [[]] * len(others)


def line(process: int, kind: EventType, op: str | None, value: dict[str, Any], agent: str = "a") -> Event:
    return Event(
        index=0,
        run="r",
        system="mailbox",
        process=process,
        type=kind,
        op=op,
        agent=agent,
        wall_ms=0,
        mono_ns=0,
        value=value,
    )
