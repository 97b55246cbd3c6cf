"""A standalone cluster of real JVMs on loopback: the same verdicts, also when an executor dies in the middle."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pyspark
import pytest
from spark_checks.tests.damage import Damage, events_of, written
from spark_checks.tests.test_hosts import BOOTED, of_hosts

from busspark import cli
from busspark.compact import compact
from busspark.generate.stage import generate
from busspark.generate.worker import Worker
from busspark.session import java_home

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
EXECUTOR = b"CoarseGrainedExecutorBackend"
SETTINGS = ("spark.driver.host=127.0.0.1", "spark.executor.memory=512m", "spark.driver.memory=1g")


@contextmanager
def cluster(folder: Path, hidden: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master, and two workers of one core that see nothing of the folder `hidden`: it is another host's."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": str(java_home(folder))}

    def start(name: str, *argv: str, within: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        command = [*within, SPARK_CLASS, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1"]
        command += ["--webui-port", "0", *argv]
        with (folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    worker = ("worker.Worker", "-c", "1", "-m", "1g", "-d", str(folder / "work"), url)
    within = ("unshare", "-rm", "sh", "-c", 'mount -t tmpfs none "$0" && exec "$@"', str(hidden))
    workers = [start(*worker, within=within) for _ in range(2)]
    started = [start("master.Master", "--port", str(port)), *workers]
    try:
        yield url, started[1:]
    finally:
        for process in started:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def executor_of(worker: subprocess.Popen[bytes], is_wanted: Callable[[], bool]) -> int | None:
    """The process of its executor, once there is one; None if it is not wanted any more."""
    while is_wanted():
        for folder in Path("/proc").iterdir():
            try:
                is_its = folder.name.isdecimal() and os.getpgid(int(folder.name)) == worker.pid
                if is_its and EXECUTOR in (folder / "cmdline").read_bytes():
                    return int(folder.name)
            except (OSError, ProcessLookupError):
                continue
        time.sleep(0.05)
    return None


def audit(url: str, hidden: Path, *argv: str) -> subprocess.Popen[str]:
    """The command on the cluster; its temporary files are where no worker sees them."""
    command = [sys.executable, "-m", "busproof", "audit", "--master", url, *(f"--conf={pair}" for pair in SETTINGS)]
    environment = {**os.environ, "TMPDIR": str(hidden)}
    return subprocess.Popen([*command, *argv], env=environment, stderr=subprocess.PIPE, text=True)


@pytest.mark.nightly
@pytest.mark.parametrize("kind", ["streams", "raw lines"])
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_cluster_says_what_python_says(
    recorded: Callable[[str], Path], tmp_path: Path, kind: str, is_killed: bool
) -> None:
    """A valid run, a damaged one, and one of three hosts; one of two executors is killed as soon as it is there."""
    (hidden := tmp_path / "hidden").mkdir()
    events = events_of(recorded("worker"))
    paths = [written(events, tmp_path / "real.jsonl"), written(Damage(events, 3).done(), tmp_path / "damaged.jsonl")]
    generate(Worker(), 3_000, tmp_path / "fleet.jsonl", faults=20, seed=1)
    paths += of_hosts(tmp_path / "fleet.jsonl", tmp_path / "parts", BOOTED)
    compact(paths, tmp_path / "streams")
    places = [tmp_path / "streams"] if kind == "streams" else paths
    out = "--out", str(tmp_path / "spark.json")
    with cluster(tmp_path, hidden) as (url, workers), audit(url, hidden, *map(str, places), *out) as judging:
        if is_killed:
            executor = executor_of(workers[0], lambda: judging.poll() is None)
            assert executor is not None
            os.kill(executor, signal.SIGKILL)
        assert judging.stderr is not None
        words = judging.stderr.read()
    assert judging.returncode == 1, words
    cli.main([str(tmp_path / "streams"), "--out", str(tmp_path / "python.json")])
    by_spark, by_python = (json.loads((tmp_path / f"{engine}.json").read_text()) for engine in ("spark", "python"))
    assert by_spark["runs"] == by_python["runs"]


@pytest.mark.nightly
def test_a_file_that_no_worker_sees_is_told_with_what_to_do(recorded: Callable[[str], Path], tmp_path: Path) -> None:
    """The driver sees it."""
    (hidden := tmp_path / "hidden").mkdir()
    path = written(events_of(recorded("worker")), hidden / "real.jsonl")
    with cluster(tmp_path, hidden) as (url, _), audit(url, hidden, str(path)) as judging:
        assert judging.stderr is not None
        words = judging.stderr.read()
    assert judging.returncode == 2
    assert "a worker does not see a file of this machine: put the files where every worker reads them" in words
    assert str(path) in words and "Traceback" not in words
