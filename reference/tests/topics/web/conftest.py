"""A real page server for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from reference.tests.topics.web.served import page_server


@pytest.fixture
def port(tmp_path: Path) -> Iterator[int]:
    """Where a server of the test's database listens."""
    with page_server(tmp_path / "bus.sqlite") as (port, _):
        yield port
