"""What a mailbox declares decides how its history is read, wherever the header has it."""

from typing import Any

import pytest

from busproof.oracle.checks.extract.mailbox import SOURCE

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
