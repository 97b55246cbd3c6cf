"""The benches in their short form: their verdicts besides speed hold, and they still run."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
import tomllib
from pathlib import Path
from urllib.parse import urlsplit

import pytest

BENCH = Path(__file__).parents[1] / "bench"
# Ended by SIGABRT, a bench tells where it stood.
_ENVIRONMENT = {**os.environ, "PYTHONFAULTHANDLER": "1"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["comms", "agents", "--agents", "4", "--messages", "50"],
        ["comms", "latency", "--messages", "20", "--idle-s", "0.1", "--waiting", "1"],
        ["relay", "latency", "--messages", "3"],
        ["relay", "scan", "--agents", "10", "--files", "3"],
        ["timeline", "workers", "--workers", "2", "--timelines", "3", "--requests", "20"],
        ["timeline", "latency", "--messages", "20"],
        ["timeline", "growth", "--stored", "2500", "--rounds", "2"],
    ],
    ids=" ".join,
)
def test_nothing_is_lost_doubled_or_stuck(tmp_path: Path, arguments: list[str]) -> None:
    """Exit status 0; speed is not asked for."""
    system, *rest = arguments
    command = [sys.executable, str(BENCH / f"{system}.py"), "--folder", str(tmp_path), *rest]
    output = tmp_path.with_suffix(".txt")  # no pipe: a process that outlives a killed bench would hold it open
    with (
        output.open("w") as out,
        subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=out, env=_ENVIRONMENT) as bench,
    ):
        code = _ended(bench, 300)
    assert code == 0, output.read_text()


def test_a_bench_that_is_ended_leaves_no_server(tmp_path: Path) -> None:
    """SIGTERM: its nats-server ends, and its folder goes."""
    command = [sys.executable, str(BENCH / "timeline.py"), "--folder", str(tmp_path), "workers", "--backends", "nats"]
    with subprocess.Popen([*command, "--requests", "1000000"], cwd=tmp_path, stdout=subprocess.DEVNULL) as bench:
        end = time.monotonic() + 60  # guards against a hang
        while (url := _url_of_a_server(tmp_path)) is None and bench.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        bench.terminate()
        assert _ended(bench, 60) not in (0, "stuck")
    assert url is not None
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", urlsplit(url).port or 0))


def _ended(bench: subprocess.Popen[bytes], limit_s: float) -> int | str:
    """Its exit status, or "stuck". A bench that is stuck is killed, for leaving Popen's block waits without a limit."""
    try:
        return bench.wait(limit_s)
    except subprocess.TimeoutExpired:
        bench.send_signal(signal.SIGABRT)
        return "stuck"


def _url_of_a_server(folder: Path) -> str | None:
    for path in folder.glob("*/*/config.toml"):
        with contextlib.suppress(tomllib.TOMLDecodeError, KeyError):  # half written
            return str(tomllib.loads(path.read_text())["queue"]["nats_url"])
    return None
