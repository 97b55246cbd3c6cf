"""One JVM for all tests of the session."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from busspark.session import spark_session


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """A short session: the histories of the tests are small."""
    session = spark_session(is_short=True)
    yield session
    session.stop()
