"""busproof as a user runs it: exit codes, evidence, reports, known failures, doctor, init, replay."""

import argparse
import dataclasses
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle, product
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from conformance.tests.program import busproof

from busproof import cli
from busproof.bus.base import DoorError
from busproof.contract import CONTRACTS
from busproof.contract.catalogue import catalogue
from busproof.contract.relay import DEFAULTS as RELAY_DEFAULTS
from busproof.oracle.models.worker_state import Options as WorkerOptions
from busproof.pages import protocol_page
from busproof.pages.init import LANGUAGES
from busproof.pages.init import write as write_template
from busproof.pages.renew import RENEW
from busproof.pages.report import lines, traceability
from busproof.run import replay
from busproof.run.runner import RowResult

ADAPTED = [system for system, contract in CONTRACTS.items() if contract.scheme == "exec"]
ROOT = Path(__file__).parents[2]
MUTANT = f"exec:{sys.executable} {ROOT / 'conformance' / 'faults' / 'start.py'} worker.cursor.ack_beyond_the_log"
ONE = "cursor.ack_beyond_the_log"
# Promises that exclude others: the reference keeps acks of single messages, by arrival, for who
# was there; a read is no ack.
PROMISED_OTHERWISE = {
    "mailbox": tuple(f"mailbox.{row}" for row in ("log.09", "cursor.07", "cursor.09", "cursor.12", "cursor.19"))
}


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, subprocess.CompletedProcess[str]]:
    """A check of a mutant, for the tests that look at its report."""
    out = tmp_path_factory.mktemp("broken")
    done = busproof("check", "worker", "--bus", MUTANT, "--only", ONE, "--mixed-with", "none", "--out", str(out))
    return out, done


@pytest.mark.parametrize("system", CONTRACTS)
def test_the_reference_is_valid_alone_and_in_a_mixed_fleet(system: str, tmp_path: Path) -> None:
    """Exit 0, every row that it promises passed on both fleets, and the rows of chaos are named as another run."""
    done = busproof("check", system, "--seed", "1", "--out", str(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    report = lines.load(tmp_path / "report.jsonl")
    assert report.verdict == "valid"
    alone = {row["requirement"]: row["outcome"] for row in report.rows if row["fleet"] == "bus"}
    otherwise = {name: outcome for name, outcome in alone.items() if outcome != "pass"}
    assert otherwise == dict.fromkeys(PROMISED_OTHERWISE.get(system, ()), "not-applicable")
    assert report.footer["counts"].keys() == {"pass", *otherwise.values()}
    assert {row["fleet"] for row in report.rows} == {"bus"} | ({"mixed"} if CONTRACTS[system].participant else set())
    assert f"busproof chaos {system}" in done.stdout


def test_the_reference_and_the_kit_share_one_file_with_a_naive_bus(tmp_path: Path) -> None:
    """A mixed fleet of the reference and another bus: each reads the other's writes."""
    naive = f"exec:{sys.executable} {ROOT / 'conformance/examples/naive_worker/adapter.py'}"
    done = busproof(
        "check", "worker", "--mixed-with", naive, "--only", "route", "--only", "log.fields", "--out", str(tmp_path)
    )
    assert done.returncode == 0, done.stdout
    mixed = [row for row in lines.load(tmp_path / "report.jsonl").rows if row["fleet"] == "mixed"]
    assert "pass" in {row["outcome"] for row in mixed}


def test_a_broken_bus_exits_1_and_shows_the_sentence_the_operations_and_a_replay(
    broken: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    """The evidence of rule 4."""
    _, done = broken
    assert done.returncode == 1
    assert "fail worker.cursor.09 MUST: ack above the newest seq is INVALID_ARGUMENT" in done.stdout
    assert '{"seq": 1000000000' in done.stdout
    assert f"replay: busproof check worker --bus '{MUTANT}' --only {ONE}" in done.stdout


def test_every_form_of_the_report_comes_from_the_lines(broken: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """JUnit, HTML and badge say the same as the JSON Lines."""
    out, _ = broken
    report = lines.load(out / "report.jsonl")
    suite = ET.parse(out / "junit.xml").getroot()
    assert int(suite.get("failures", "0")) == report.footer["counts"]["fail"] == 2
    page = (out / "report.html").read_text()
    assert "worker.cursor.09" in page
    assert "http" not in page.replace("http://www.w3.org", "")  # nothing is fetched
    assert json.loads((out / "badge.json").read_text())["message"] == "invalid"


def test_verify_report_takes_the_report_as_written_and_refuses_an_edited_one(
    broken: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """A verdict cannot be edited; a cut report is none."""
    out, _ = broken
    assert busproof("verify-report", str(out / "report.jsonl")).returncode == 1
    text = (out / "report.jsonl").read_text()
    for edited in (text.replace('"fail"', '"pass"'), "\n".join(text.splitlines()[:-1]) + "\n", ""):
        (tmp_path / "edited.jsonl").write_text(edited)
        done = busproof("verify-report", str(tmp_path / "edited.jsonl"))
        assert done.returncode == 2
        assert "Traceback" not in done.stderr


def test_replay_sends_the_failed_script_again(broken: tuple[Path, subprocess.CompletedProcess[str]]) -> None:
    """The calls and the bus's answers; a row that did not break has no script."""
    out, _ = broken
    done = busproof("replay", str(out / "report.jsonl"), "worker.cursor.10", "--yes")
    assert done.returncode == 0, done.stderr
    assert '"last_acked_seq": 1000000000' in done.stdout
    assert busproof("replay", str(out / "report.jsonl"), "worker.cursor.01").returncode == 2


def test_a_report_starts_no_command_that_its_reader_has_not_allowed(
    broken: tuple[Path, subprocess.CompletedProcess[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report may be a stranger's: replay shows the command, and starts it for --yes, or for a yes at a terminal."""
    out, _ = broken
    report = lines.load(out / "report.jsonl")
    rows = [RowResult(**{name: value for name, value in row.items() if name != "type"}) for row in report.rows]
    lines.write(tmp_path / "report.jsonl", {**report.header, "bus": f"exec:touch {tmp_path / 'started'}"}, rows)
    assert replay.replay(tmp_path / "report.jsonl", "worker.cursor.10", None) == 2
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "n")
    assert replay.replay(tmp_path / "report.jsonl", "worker.cursor.10", None) == 2
    assert not (tmp_path / "started").exists()
    with pytest.raises(DoorError):
        replay.replay(tmp_path / "report.jsonl", "worker.cursor.10", None, is_trusted=True)
    assert (tmp_path / "started").exists()


@pytest.mark.parametrize(
    ("listed", "exit_code", "says"),
    [
        (["worker.cursor.09", "worker.cursor.10"], 0, "known failures, not counted"),
        (["worker.cursor.09"], 1, "fail worker.cursor.10"),
        (["worker.cursor.09", "worker.cursor.10", "worker.no.01"], 1, "is no requirement"),
    ],
)
def test_known_failures_are_not_counted_and_must_stay_true(
    tmp_path: Path, listed: list[str], exit_code: int, says: str
) -> None:
    """All listed: valid; one missing or one unmatched: invalid."""
    entries = [f'[[known]]\nid = "{row}"\nreason = "later"\nurl = "none"\n' for row in listed]
    (tmp_path / "known.toml").write_text("\n".join(entries))
    options = ["--known", str(tmp_path / "known.toml"), "--out", str(tmp_path)]
    done = busproof("check", "worker", "--bus", MUTANT, "--only", ONE, "--mixed-with", "none", *options)
    # Nothing else was looked at, so with all failures known no row passed: unknown is not green either.
    assert done.returncode == (2 if exit_code == 0 else exit_code), done.stdout
    assert says in done.stdout


def test_a_stale_or_expired_known_failure_fails_the_run(tmp_path: Path) -> None:
    """The list must be true."""
    for entry, says in (
        ('id = "worker.cursor.09"', "does not fail any more"),
        ('id = "worker.cursor.12"\nexpires = 2020-01-01', "which is over"),
    ):
        (tmp_path / "known.toml").write_text(f'[[known]]\n{entry}\nreason = "r"\nurl = "u"\n')
        done = busproof(
            "check", "worker", "--only", ONE, "--known", str(tmp_path / "known.toml"), "--out", str(tmp_path)
        )
        assert done.returncode == 1
        assert says in done.stdout


@pytest.mark.parametrize(
    ("argv", "says"),
    [
        (["check", "worker", "--bus", "nonsense"], "a bus is one of exec:CMD"),
        (["check", "worker", "--bus", "exec:/no/such/program"], "cannot start"),
        (["check", "worker", "--bus", "exec:true"], "busproof doctor --bus exec:true"),
        (["check", "worker", "--only", "no.such.check"], "no such check"),
        (["check", "worker", "--ony", "worker.log.01"], "usage: busproof check"),
        (["check", "worker", "--bus", "py:no_such_module:bus"], "no_such_module"),
    ],
)
def test_a_command_line_that_cannot_run_exits_2_and_says_why(argv: list[str], says: str, tmp_path: Path) -> None:
    """Before anything is started; a check that did not run is never green."""
    done = busproof(*argv, "--out", str(tmp_path))
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr


def test_a_profile_demands_its_nouns(tmp_path: Path) -> None:
    """A bus that declares the core only is held to `full` and fails."""
    minimal = f"exec:{sys.executable} {ROOT / 'conformance/examples/minimal_python/adapter.py'}"
    done = busproof("check", "worker", "--bus", minimal, "--only", "route", "--profile", "full", "--out", str(tmp_path))
    assert done.returncode == 1
    assert "profile full demands the noun blob" in done.stdout


def started(language: str, folder: Path) -> str:
    """The adapter's command, built where it must be."""
    if not (tool := shutil.which(language if language != "rust" else "cargo")):
        needed = f"{language} is needed for this test"
        pytest.skip(needed) if language in ("go", "rust") else pytest.fail(needed)
    known = LANGUAGES[language]
    if known.build:
        build = [tool, *shlex.split(known.build.format(folder=folder))[1:]]
        environment = os.environ | {"CARGO_NET_RETRY": "0"}
        done = subprocess.run(build, capture_output=True, text=True, check=False, env=environment)
        if "Could not resolve host" in done.stderr:
            pytest.skip(f"{known.build.split()[0]} cannot reach its registry from here")
        assert done.returncode == 0, done.stderr
    return known.run.format(folder=folder)


SCRIPTED = ("python", "node", "perl")


def pairs() -> list[Any]:
    """Pairs of a system and a language whose adapter runs: by day each system in one language, all of them in turn."""
    by_day = set(zip(ADAPTED, cycle(SCRIPTED), strict=False))
    return [
        pytest.param(*pair, marks=() if pair in by_day else pytest.mark.nightly)
        for pair in product(ADAPTED, (*SCRIPTED, "go", "rust"))
    ]


def test_the_help_of_each_command_ends_with_an_example_and_tells_buses_where_it_takes_one() -> None:
    """Nine commands told eight kinds of buses, and took none."""
    parsers = next(action.choices for action in cli._parser()._actions if isinstance(action.choices, dict))
    ours = {name: parser.format_help() for name, parser in parsers.items() if name not in cli._ELSEWHERE}
    assert len(ours) == len(cli._EXAMPLES)
    for name, text in ours.items():
        assert f"busproof {name} " in text.partition("for example:")[2] or "busproof completion" in text
        assert ("\nbuses:" in text) is ("--bus SPEC" in text)


def test_a_row_that_is_named_without_its_system_or_slightly_wrong_is_guessed(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert cli.main(["explain", "lease.12", "worker.lease.99", "nothing"]) == 2
    first, second, third = capsys.readouterr().err.splitlines()
    assert "did you mean" in first and "worker.lease.12" in first and "comms.lease.12" in first
    assert "did you mean worker.lease." in second
    assert third.endswith("`busproof list SYSTEM` shows them all")


def test_every_option_has_help() -> None:
    """For every command."""

    def bare(parser: argparse.ArgumentParser) -> Iterator[str]:
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    yield from bare(command)
            elif not action.help:
                yield f"{parser.prog} {action.dest}"

    assert list(bare(cli._parser())) == []


@pytest.mark.parametrize(("system", "language"), pairs())
def test_init_writes_an_adapter_that_the_doctor_understands(tmp_path: Path, system: str, language: str) -> None:
    """It answers hello; the doctor names the missing parts; a second init overwrites nothing."""
    init = busproof("init", system, language, str(tmp_path))
    assert init.returncode == 0, init.stderr
    assert f"busproof doctor --system {system}" in init.stdout
    done = busproof("doctor", "--system", system, "--bus", f"exec:{started(language, tmp_path)}")
    assert done.returncode == 1, done.stdout
    assert "hello: my bus 0, nouns none" in done.stdout
    assert "hello declares no noun" in done.stdout
    assert f"declare {', '.join(CONTRACTS[system].profiles['core'])} when" in done.stdout
    assert busproof("init", system, language, str(tmp_path)).returncode == 2


@pytest.mark.parametrize("system", ADAPTED)
def test_init_any_writes_a_session_that_the_reference_answers_so(tmp_path: Path, system: str) -> None:
    """An author of any language can hold a program against it, line by line."""
    assert write_template(system, "any", tmp_path) == 0
    wire = (tmp_path / "wire.txt").read_text().splitlines()
    asked = [json.loads(line[2:]) for line in wire if line.startswith("→ ")]
    answers = [json.loads(line[2:]) for line in wire if line.startswith("← ")]
    assert [line["id"] for line in asked] == [line["id"] for line in answers]
    assert [line["method"] for line in asked][:3] == ["hello", "open", "clock.set"]
    assert answers[0]["result"]["systems"].count(system) == 1
    assert [line["error"]["code"] for line in answers if "error" in line][-1] == -32601
    assert '"claimed": false' not in "".join(wire), "what was just shown to its addressee can be claimed"


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("system", ADAPTED)
def test_the_initialised_adapter_names_every_method_of_the_core(tmp_path: Path, system: str, language: str) -> None:
    """Filled in as its comments say, it has all that the profile `core` asks for."""
    write_template(system, language, tmp_path)
    text = (tmp_path / LANGUAGES[language].files[0]).read_text()
    assert not re.search("@[A-Z]+@", text)
    core = [
        name
        for name, method in CONTRACTS[system].methods.items()
        if method.noun in CONTRACTS[system].profiles["core"] and method.feature is None
    ]
    missing = [name for name in core if not re.search(rf'[ "]{name}"?(\(|:| =>)', text)]
    assert missing == []


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("busproof sco", ["scoreboard"]),
        ("busproof check --cl", ["--clock"]),
        ("busproof check wor", ["worker"]),
        ("busproof init worker p", ["python", "perl"]),
        ("busproof explore --scr", ["--script"]),
    ],
)
def test_a_shell_completes_the_last_word(line: str, offered: list[str]) -> None:
    """By the script that `busproof completion` prints."""
    words = line.split()
    asked = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _busproof; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(
        ["bash", "-c", f"{busproof('completion').stdout}\n{asked}"], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == offered, done.stderr


def test_the_version_is_told_without_what_a_run_needs() -> None:
    """Nothing large is imported for it: people type it first, and scripts ask for it."""
    code = "import sys; from busproof.cli import main\ntry: main(['--version'])\nfinally: print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    loaded = set(done.stdout.split())
    assert "busproof.cli" in loaded
    assert not loaded & {
        "pydantic",
        "pytest",
        "jinja2",
        "rich",
        "msgspec",
        "busproof.contract",
        "busproof.contract.history",
    }


def test_an_mcp_server_needs_no_adapter(tmp_path: Path) -> None:
    """`init topics` says so, and writes nothing."""
    done = busproof("init", "topics", "python", str(tmp_path))
    assert done.returncode == 0
    assert "busproof check topics --bus 'mcp:CMD…'" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_doctor_tells_an_adapter_of_another_system(tmp_path: Path) -> None:
    """Else every method would be a fault."""
    busproof("init", "comms", "python", str(tmp_path))
    bus = f"exec:{sys.executable} {tmp_path / 'adapter.py'}"
    assert f"declare {', '.join(CONTRACTS['comms'].profiles['core'])} when" in busproof("doctor", "--bus", bus).stdout
    done = busproof("doctor", "--bus", bus, "--system", "worker")
    assert done.returncode == 1
    assert "hello says that it is comms, not worker" in done.stdout
    assert "add --system comms" in done.stdout


@pytest.mark.parametrize(
    ("before", "after", "fault"),
    [
        ("    bus = Bus(", "    bus = bus or Bus(", "it still looks at a store that was left"),
        ('["seq"]', '["seq", "sqlite"]', "hello declares sqlite, and after every call there is no bus.db"),
    ],
    ids=["one store for ever", "no such file"],
)
def test_the_doctor_tells_a_promise_that_the_folder_does_not_keep(
    tmp_path: Path, before: str, after: str, fault: str
) -> None:
    """Faults that would show as those of claims, or of tables, one by one."""
    for name in ("adapter.py", "bus.py"):
        text = (ROOT / "conformance/examples/minimal_python" / name).read_text()
        text = text.replace(before, after).replace("    bus.db.close()", "    pass")
        (tmp_path / name).write_text(text)
    done = busproof("doctor", "--bus", f"exec:{sys.executable} {tmp_path / 'adapter.py'}")
    assert done.returncode == 1
    assert fault in done.stdout


def test_the_doctor_finds_the_reference_sound() -> None:
    """Then a bus can be judged."""
    done = busproof("doctor", "--bus", f"exec:{sys.executable} -m refbus.driver")
    assert done.returncode == 0, done.stdout
    assert "The adapter keeps to the protocol, and the bus can be judged:" in done.stdout


HELLO = (
    '{"protocol":"1","name":"x","version":"1","language":"python","systems":["worker"],'
    '"nouns":["log","cursor"],"clock":"wall"}'
)


@pytest.mark.parametrize(
    ("program", "says"),
    [
        ("print('hello, I am starting')\nimport time\ntime.sleep(5)", "stdout belongs to the protocol"),
        ("raise SystemExit('no config file')", "no config file"),
        ('import sys\nfor l in sys.stdin: print(\'{"jsonrpc":"2.0","id":99,"result":{}}\', flush=True)', "same id"),
        (
            (
                "import sys, json\nfor l in sys.stdin:\n print(json.dumps({'jsonrpc':'2.0','id':json.loads(l)['id'],"
                "'result':{'name':'x'}}), flush=True)"
            ),
            "hello's answer lacks something",
        ),
        (
            (
                "import sys, json\nfor l in sys.stdin:\n r=json.loads(l)\n"
                " if r['method']!='hello': raise SystemExit(1)\n"
                f" print(json.dumps({{'jsonrpc':'2.0','id':r['id'],'result':{HELLO}}}), flush=True)"
            ),
            "it died of an unknown method",
        ),
    ],
)
def test_the_doctor_names_the_adapters_fault_and_its_remedy(tmp_path: Path, program: str, says: str) -> None:
    """Junk on stdout, a crash, a wrong id, an incomplete hello, death by an unknown method."""
    path = tmp_path / "adapter.py"
    path.write_text(program)
    done = busproof("doctor", "--bus", f"exec:{sys.executable} {path}")
    assert done.returncode == 1
    assert "FAULT" in done.stdout
    assert says in done.stdout


def test_the_doctor_looks_at_an_odd_bus_db_without_touching_it(tmp_path: Path) -> None:
    """A deaf agent, a missing blob, a missing index: told; the file stays as it was."""
    import sqlite3

    from busproof.bus.sqlite import SqliteDoor

    door = SqliteDoor()
    door.call("hello", {"protocol": ["1"], "system": "worker"})
    door.call("open", {"store": str(tmp_path), "options": {}})
    door.call("publish", {"agent_id": "a", "message": {"type": "t", "payload": "x" * 5000}})
    door.close()
    assert busproof("doctor", "--bus", f"sqlite:{tmp_path}").returncode == 0
    next((tmp_path / "blobs").iterdir()).unlink()
    db = sqlite3.connect(tmp_path / "bus.db")
    db.execute("INSERT INTO cursors VALUES ('ada', 1000000000, 0)")
    db.execute("DROP INDEX idx_messages_to_seq")
    db.commit()
    db.close()
    before = (tmp_path / "bus.db").read_bytes()
    done = busproof("doctor", "--bus", f"sqlite:{tmp_path / 'bus.db'}")
    assert done.returncode == 1
    for oddity in (
        "agent ada has acknowledged 1000000000",
        "the blob of seq 1 is missing",
        "idx_messages_to_seq is missing",
    ):
        assert oddity in done.stdout
    assert (tmp_path / "bus.db").read_bytes() == before


def test_the_protocol_pages_are_generated_from_the_models(tmp_path: Path) -> None:
    """`busproof schema --markdown docs/protocol.md` changes nothing; so what is committed can be looked at below."""
    made = protocol_page.write(tmp_path / "protocol.md")
    assert len(made) == 1 + len(CONTRACTS)
    for path in made:
        page = ROOT / "docs" / path.relative_to(tmp_path)
        assert path.read_text() == page.read_text(), f"{page.name} is stale: {RENEW}"


def test_the_page_of_mcp_servers_shows_a_list_of_tools_with_one_of_them_whole() -> None:
    """An author of a server need not look up what the kit asks for first."""
    _, _, answer = protocol_page.system_page("topics").partition('"method": "tools/list"')
    listed = answer.splitlines()[1]
    assert '"inputSchema": {"type": "object", "properties": {' in listed
    assert listed.count('"inputSchema"') == 1 and '{"name": "sync", …}' in listed


def test_every_type_that_a_field_names_has_a_table_on_its_page() -> None:
    """A reader of one page knows every field of every value."""
    for system in CONTRACTS:
        page = (ROOT / f"docs/protocol/{system}.md").read_text()
        fields = re.findall(r"^\| `\w+` \| `(.*?)` \| (?:required|optional)", page, re.MULTILINE)
        named = {name for kind in fields for name in re.findall(r"\b[A-Z]\w+", re.sub("'.*?'", "", kind))}
        assert {name for name in named - {"Any", "None", "Literal", "True"} if f"### {name}\n" not in page} == set()


def test_the_options_that_a_page_tells_are_those_that_the_model_knows() -> None:
    """For worker and relay, whose models have a value for each."""
    assert CONTRACTS["worker"].options.keys() == {field.name for field in dataclasses.fields(WorkerOptions)}
    assert CONTRACTS["relay"].options.keys() == {*RELAY_DEFAULTS, "synchronous"}  # which no answer shows


def test_the_traceability_page_names_every_row() -> None:
    """Of today's catalogue, whatever the report holds."""
    page = traceability.page(lines.kept("naive_worker"))
    for row in catalogue("worker").values():
        assert f"| {row.id} | {row.level} |" in page
