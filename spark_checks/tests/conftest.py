"""One JVM for all tests of the session, and histories that were really played, once."""

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from busproof.bus.fleet import Fleet, reference
from busproof.systems import play
from busspark.session import spark_session

CALLS = {"worker": 240, "comms": 400, "timeline": 240, "topics": 240}


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A short session: the histories of the tests are small."""
    session = spark_session(is_short=True)
    yield session
    session.stop()


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """A real history of the reference."""

    @cache
    def history(system: str) -> Path:
        into = tmp_path_factory.mktemp("recorded") / f"{system}.jsonl"
        with contextlib.closing(Fleet([reference(system)], system=system)) as fleet:
            return play(fleet, seed=11, calls=CALLS[system], into=into)

    return history
