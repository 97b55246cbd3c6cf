"""The pytest plugin. It changes nothing unless --busproof-out is given, and imports nothing heavy until then.

Each item writes its rows into a file of its own in OUT/parts, so that xdist's workers need no channel; when the
session ends, the controller makes the report from the parts.
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options are those of `busproof check`."""
    group = parser.getgroup("busproof", "conformance of message buses")
    group.addoption("--busproof-out", metavar="DIR", help="judge a bus and write the report here")
    group.addoption("--busproof-system", default="", metavar="NAME", help="the system that the bus implements")
    group.addoption("--busproof-bus", default="", metavar="SPEC", help="exec:CMD…, py:module:factory or sqlite:")
    group.addoption("--busproof-mixed-with", default="", metavar="SPEC", help="also on one store with this bus")
    group.addoption("--busproof-only", action="append", default=[], metavar="NAME", help="check, noun or row id")
    group.addoption("--busproof-profile", default="", help="demand the nouns of this profile: core or full")
    group.addoption("--busproof-seed", type=int, default=None, help="seed of workload and search")
    group.addoption("--busproof-known", default="", metavar="FILE", help="known failures")
    group.addoption("--busproof-ends-at", type=float, default=None, metavar="UNIX_S", help="start nothing after it")
    group.addoption("--busproof-nightly", action="store_true", help="1,500 programs of the search instead of 10 or 25")


def pytest_configure(config: pytest.Config) -> None:
    """Make the run, if one is asked for."""
    if config.getoption("--busproof-out"):
        from busproof.contract import CONTRACTS
        from busproof.run.pytest_run import Run

        if config.getoption("--busproof-system") not in CONTRACTS:
            raise pytest.UsageError(f"--busproof-system must be one of {', '.join(CONTRACTS)}")

        config.stash[_KEY] = Run.from_options(config.option)


_KEY: pytest.StashKey[Any] = pytest.StashKey()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """One test for each item and fleet."""
    if "busproof_item" in metafunc.fixturenames:
        run = metafunc.config.stash.get(_KEY, None)
        items = run.items() if run else []
        metafunc.parametrize("busproof_item", items, ids=[":".join(item) for item in items])


@pytest.fixture(scope="session")
def busproof_run(request: pytest.FixtureRequest) -> Any:
    """The run of this process; its buses end with the session."""
    run = request.config.stash[_KEY]
    yield run
    run.close()


def pytest_sessionfinish(session: pytest.Session) -> None:
    """On the controller: parts become the report."""
    run = session.config.stash.get(_KEY, None)
    if run is not None and not hasattr(session.config, "workerinput"):
        run.close()
        run.report = run.finish()


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Say the verdict where pytest's own users look."""
    run = config.stash.get(_KEY, None)
    if run is not None and run.report is not None:
        footer = run.report.footer
        terminalreporter.write_line(f"busproof: {footer['verdict']}, {footer['counts']}; report in {run.out}")
