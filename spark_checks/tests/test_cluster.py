"""A standalone cluster of real JVMs on loopback: the same verdicts, also when an executor dies in the middle."""

from __future__ import annotations

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

from busspark import twin
from busspark.compact import compact
from busspark.session import java_home

SPARK_CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
EXECUTOR = b"CoarseGrainedExecutorBackend"
SCRIPT = """
import sys
from busspark.judge import judge
from busspark.session import spark_session

spark = spark_session(master=sys.argv[1], conf={"spark.driver.host": "127.0.0.1", "spark.executor.memory": "512m",
    "spark.driver.memory": "1g", "spark.sql.shuffle.partitions": "4"})
print("started", flush=True)
for run, verdicts in sorted(judge(spark, sys.argv[2]).items()):
    print(run, verdicts, flush=True)
spark.stop()
"""


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[subprocess.Popen[bytes]]]]:
    """A master and two workers of one core."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": str(java_home(folder))}

    def start(name: str, *argv: str) -> subprocess.Popen[bytes]:
        command = [SPARK_CLASS, f"org.apache.spark.deploy.{name}", "--host", "127.0.0.1", "--webui-port", "0", *argv]
        with (folder / f"{name}.log").open("ab") as log:
            return subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True)

    worker = ("worker.Worker", "-c", "1", "-m", "1g", "-d", str(folder / "work"), url)
    started = [start("master.Master", "--port", str(port)), start(*worker), start(*worker)]
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


@pytest.mark.nightly
@pytest.mark.parametrize("is_killed", [False, True])
def test_a_cluster_says_what_python_says(recorded: Callable[[str], Path], tmp_path: Path, is_killed: bool) -> None:
    """A valid run and a damaged one; one of two executors is killed as soon as it is there."""
    events = events_of(recorded("worker"))
    paths = [written(events, tmp_path / "real.jsonl"), written(Damage(events, 3).done(), tmp_path / "damaged.jsonl")]
    compact(paths, tmp_path / "streams")
    with cluster(tmp_path) as (url, workers):
        command = [sys.executable, "-c", SCRIPT, url, str(tmp_path / "streams")]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as judging:
            assert judging.stdout is not None
            assert judging.stdout.readline() == "started\n"
            if is_killed:
                executor = executor_of(workers[0], lambda: judging.poll() is None)
                assert executor is not None
                os.kill(executor, signal.SIGKILL)
            out = judging.stdout.read()
    assert judging.returncode == 0
    in_python = sorted(twin.judge(tmp_path / "streams"))
    assert out == "".join(f"{run} {verdicts}\n" for run, verdicts in in_python)
