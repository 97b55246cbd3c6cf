"""Exit 1 means invalid and nothing else: our own failures are 2, and one line."""

import gzip
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conformance.tests.program import busproof

from busproof import cli
from busproof.run import check


def is_plain(errors: str) -> bool:
    """No traceback, no prose of a library."""
    return "Traceback" not in errors and "pydantic.dev" not in errors and errors.startswith("busproof: ")


@pytest.mark.parametrize("jobs", ["0", "-3", "x", "1.5", "", "100000", "\u0663\u00b2"])
def test_an_odd_number_of_processes_is_refused(
    jobs: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything starts."""
    monkeypatch.setattr(cli, "_check", lambda args: 0)
    with pytest.raises(SystemExit) as ended:
        cli.main(["check", "worker", f"--jobs={jobs}"])
    assert ended.value.code == 2
    assert "neither auto nor a number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("only", "processes"),
    [
        ([], 3),
        (["cursor"], 3),
        (["history"], 2),  # on the bus alone, and in a mixed fleet
        (["history", "corpus:06016"], 3),
        (["corpus:06016"], 1),
    ],
)
def test_no_more_processes_start_than_there_are_items(only: list[str], processes: int, tmp_path: Path) -> None:
    """Nor fewer, where the user allows as many."""
    line = ["check", "worker", "-j", "3", *(f"--only={name}" for name in only)]
    args = cli._parser().parse_args(line)
    args.seed, args.ends_at, args.hello = 1, None, None
    assert check._jobs(args, check._run(args, tmp_path)) == processes


@pytest.mark.parametrize("out", ["file/x", "file", "/proc/nothing"])
def test_an_impossible_folder_for_reports_is_told(out: str, tmp_path: Path) -> None:
    """A file on the way, a file in its place, a place where none can be made."""
    (tmp_path / "file").write_text("x")
    done = busproof("check", "worker", "--only", "cursor.ack_beyond_the_log", "--out", out, cwd=tmp_path)
    assert done.returncode == 2
    assert is_plain(done.stderr)
    assert done.stderr.count("\n") == 1


HISTORIES = {
    "empty": b"",
    "binary": bytes(range(256)) * 50,
    "compressed": gzip.compress(b"{}" * 1000),
    "utf16": '{"index": 0}'.encode("utf-16"),
    "foreign": b'{"index":0,"run":"r","system":"nobody","process":0,"type":"header","wall_ms":0,"mono_ns":0}',
    "deep": b"[" * 100_000,
    "deep, with half a character": b'"\\ud83d"' + b"[" * 100_000,
    "shape": b"[]\n{}\n",
}


@pytest.mark.parametrize("kind", HISTORIES)
def test_a_file_that_is_no_history_is_unknown(kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """With any content."""
    (tmp_path / "history.jsonl").write_bytes(HISTORIES[kind])
    for command in (["audit", "--engine", "python"], ["verify-report"]):
        assert cli.main([*command, str(tmp_path / "history.jsonl")]) == 2
        errors = capfd.readouterr().err
        assert is_plain(errors) and "a fault of busproof" not in errors
        assert errors.count("\n") == 1


def test_a_fault_of_our_own_is_one_line_and_shows_its_place_if_asked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """In every command, those that live elsewhere included."""

    def broken(*_: object) -> int:
        raise KeyError("no\x1bsuch")

    monkeypatch.setattr(cli, "_list", broken)
    for module in ("busproof.play.explore.command", "buschaos.cli", "busspark.cli", "busproof.run.demo"):
        monkeypatch.setattr(f"{module}.main", broken)
    for argv in (["list", "worker"], ["explore"], ["chaos"], ["audit"], ["demo"]):
        assert cli.main(argv) == 2
        errors = capsys.readouterr().err
        assert errors.startswith("busproof: a fault of busproof, nothing is decided: KeyError")
        assert errors.count("\n") == 1
        assert "\x1b" not in errors
    monkeypatch.setenv("BUSPROOF_DEBUG", "1")
    assert cli.main(["list", "worker"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Also where it is missed only in the middle of the command."""

    def broken(*_: object) -> int:
        raise ModuleNotFoundError("No module named 'pyspark'", name="pyspark")

    monkeypatch.setattr("busspark.cli.main", broken)
    assert cli.main(["audit", "x"]) == 2
    assert "pip install '.[spark]' in busproof's folder" in capsys.readouterr().err


def test_a_reference_that_cannot_start_is_told_before_anything_is_judged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A missing package would break every row, and none of them would say why."""
    program = f"exec:{sys.executable} -c \"raise SystemExit('no such package')\""
    monkeypatch.setattr("busproof.run.check.reference", lambda system: program)
    assert cli.main(["check", "worker", "--out", str(tmp_path)]) == 2
    errors = capsys.readouterr().err
    assert "the reference does not start" in errors
    assert "no such package" in errors


def test_output_that_nobody_reads_any_more_ends_quietly() -> None:
    """As `busproof list worker | head -1` does."""
    with subprocess.Popen(
        [sys.executable, "-m", "busproof", "list", "worker"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 128 + signal.SIGPIPE


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_output_that_cannot_be_written_is_told() -> None:
    """A full disk behind `>` is not the verdict invalid."""
    command = [sys.executable, "-m", "busproof", "list", "worker"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 2
    assert is_plain(done.stderr)
    assert done.stderr.count("\n") == 1


def test_a_bus_whose_hello_is_nonsense_is_told_in_the_kits_own_words(tmp_path: Path) -> None:
    """And sent to the doctor."""
    adapter = tmp_path / "adapter.py"
    adapter.write_text(
        "import json\nwhile True:\n    r = json.loads(input())\n"
        "    print(json.dumps({'id': r['id'], 'result': {'name': 7, 'nouns': ['\\x1b[2J']}}), flush=True)\n"
    )
    done = busproof("check", "worker", "--bus", f"exec:{sys.executable} {adapter}", "--out", str(tmp_path))
    assert done.returncode == 2
    assert is_plain(done.stderr)
    assert "busproof doctor" in done.stderr
    assert "\x1b" not in done.stderr


def test_the_version_is_told_without_loading_the_models() -> None:
    """The models of all systems take a second of a slow machine, and only commands that judge need them."""
    looked = "import sys; from busproof import cli\ntry: cli.main(['--version'])\nexcept SystemExit: pass\n"
    heavy = "print([m for m in ('pydantic', 'hypothesis', 'pytest', 'busproof.contract') if m in sys.modules])"
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, "-c", looked + heavy], capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.stdout.splitlines()[-1] == "[]"
    assert after.ru_utime - before.ru_utime < 0.3 or os.environ.get("COVERAGE_PROCESS_START")
