"""One JVM for all tests of the session, and histories that were really played, once."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from busproof.fleet import Fleet, reference
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
    played: dict[str, Path] = {}

    def history(system: str) -> Path:
        if system not in played:
            fleet = Fleet([reference(system)], system=system)
            into = tmp_path_factory.mktemp("recorded") / f"{system}.jsonl"
            try:
                played[system] = play(fleet, seed=11, calls=CALLS[system], into=into)
            finally:
                fleet.close()
        return played[system]

    return history
