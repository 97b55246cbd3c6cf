"""Doctor proves who each session is before anything is judged, and says what to write where a mapping is wrong."""

import json
import re
import shlex
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from busproof import cli
from busproof.bus.toml.answers import Match, take
from busproof.bus.toml.form import load
from busproof.pages import draft
from busproof.run import doctor
from busproof.run.mapped import Letter, Unmapped, place_of

EXAMPLES = Path(__file__).parents[1] / "examples"


def examined(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], *changes: tuple[str, str]
) -> tuple[int, str]:
    """Doctor's exit code and words on an example whose file is changed."""
    folder = shutil.copytree(EXAMPLES / f"mapped_{name}", tmp_path / name)
    text = (folder / "bus.toml").read_text()
    for old, new in changes:
        assert old in text
        text = text.replace(old, new, 1)
    (folder / "bus.toml").write_text(text)
    code = doctor.examine(f"toml:{shlex.quote(str(folder / 'bus.toml'))}")
    return code, capsys.readouterr().out


@pytest.mark.parametrize("name", ["cli", "mcp", "http"])
def test_doctor_shows_every_mapped_call_with_its_answer(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The system need not be named, and the last words blame nobody."""
    code, out = examined(name, tmp_path, capsys)
    assert code == 0
    assert "the sessions are three agents" in out
    assert out.count(" send: ") == 3
    assert "busproof check mailbox --bus toml:" in out
    assert "a promise that the bus does not make" in out


@pytest.mark.parametrize(
    ("name", "old", "new", "advice"),
    [
        (
            "mcp",
            'list = "inbox.messages"',
            'list = "messages"',
            'list = "inbox.messages", message = { id = "id", from =',
        ),
        ("mcp", 'body = "content"', 'body = "text"', 'body = "content" }'),
        ("mcp", 'id = "message_id"', 'id = "number"', '[send] id = "message_id"'),
        ("cli", "sent as", "known as", "[send] id = { match = 'as\\ (\\S+)' }"),
        ("http", '{ id = "id", from', '{ id = "body", from', "send answered the id '1', and receive shows"),
        ("http", 'from = "from", body', 'from = "body", body', "from must lead to what the bus calls the sender (cy)"),
        ("http", 'from = "from", body', 'from = "whom", body', "sender is promised, and [receive.message] from leads"),
        ("mcp", "sender = true", "sender = true, broadcast = true", "or say what [send] does where there is no `$to`"),
        ("cli", 'parse = "lines"', 'parse = "text"', 'list = { match = "(?P<id>…) (?P<body>…)" }, or parse = "lines"'),
    ],
)
def test_doctor_finds_what_is_mapped_wrongly_by_the_text_that_it_sent(
    name: str, old: str, new: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The remedy is what to write."""
    code, out = examined(name, tmp_path, capsys, (old, new))
    assert code == 1
    assert advice in out


BOARD = """\
import json, pathlib, sys
file = pathlib.Path(sys.argv[1])
rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
if sys.argv[2] == "send":
    rows.append({"id": str(len(rows)), "from": sys.argv[3], "to": sys.argv[4], "body": sys.argv[5]})
    file.write_text("".join(json.dumps(row) + chr(10) for row in rows))
    print(json.dumps(rows[-1]))
else:
    print(json.dumps([row for row in rows if row["to"] in (sys.argv[3], "all")]))
"""
BOARD_FILE = """\
name = "board 1.2 (a remark)"
names = {{ everyone = "all" }}
door = {{ cli = ["python3", "$here/board.py", "$store/board"] }}
send = {{ args = ["send", "$from", "$to", "$body"], id = "id" }}
receive = {{ args = ["read", "$agent"], list = "@", message = {{ id = "id", from = "from", body = "body" }} }}
promises = {{ {promises} }}
"""


def test_doctor_sends_to_all_and_looks_whether_the_sender_is_shown_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A stranger's bus was blamed for showing an agent its own broadcast, and no message named the promise."""
    (tmp_path / "board.py").write_text(BOARD)
    for more, code, words in (
        ("", 1, "remedy: promise self_delivery"),
        (", self_delivery = true", 0, "a send to all is shown to each of the others"),
    ):
        (tmp_path / "bus.toml").write_text(BOARD_FILE.format(promises=f"sender = true, broadcast = true{more}"))
        assert doctor.examine(f"toml:{tmp_path / 'bus.toml'}") == code
        out = capsys.readouterr().out
        assert words in out
        assert "hello: board (a remark) 1.2" in out


def test_a_file_that_maps_an_answer_wrongly_is_at_fault_and_no_check_blames_the_bus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nothing is judged by it, and the remedy is the one that doctor gives."""
    folder = shutil.copytree(EXAMPLES / "mapped_http", tmp_path / "bus")
    file, out = folder / "bus.toml", str(tmp_path / "out")
    file.write_text(file.read_text().replace('{ id = "id", from', '{ id = "number", from'))
    code = cli.main(["check", "mailbox", "--bus", f"toml:{shlex.quote(str(file))}", "--out", out, "--quiet"])
    assert code == 2
    words = capsys.readouterr().err
    assert "the file is at fault, and nothing was judged" in words
    assert '[send] id = "id"' in words


def test_a_remedy_can_stand_in_the_file() -> None:
    """Also where names need quotes, and where a sentence has such marks."""
    letter = Letter("ann", "bob", {"ann": "ann", "bob": "bob", "cy": "cy"})
    letter.sent, letter.sent_answers = {"id": "?"}, ["the letter's id: m-17"]
    letter.read, letter.read_answers = {"messages": []}, [{"in-box": [{"id-of": "m-17", "the text": letter.text}]}]
    with pytest.raises(Unmapped) as fault:
        letter.check(())
    receive, _, send = fault.value.remedy.partition("[receive] ")[2].partition("; [send] ")
    assert tomllib.loads(receive.replace(", message", "\nmessage")) == {
        "list": '"in-box"',
        "message": {"id": '"id-of"', "body": '"the text"'},
    }
    assert take(Match(**tomllib.loads(send)["id"]), letter.sent_answers[0]) == "m-17"


def test_two_servers_that_are_one_agent_are_a_misfit_and_no_fault_of_the_bus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that knows one agent alone is shared here: mail of one comes to another."""
    code, out = examined("mcp", tmp_path, capsys, ('"$here/desk.py"]', '"$here/desk.py"], per = "store"'))
    assert code == 1
    assert "two sessions are one agent" in out
    assert "The file is at fault" in out


def test_a_server_without_the_tools_of_topics_hears_what_it_has_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not at fault: it is another kind of bus."""
    monkeypatch.setenv("DESK_FILE", str(tmp_path / "desk.db"))
    assert doctor.examine(f"mcp:{shlex.join([sys.executable, str(EXAMPLES / 'mapped_mcp/desk.py')])}") == 2
    out = capsys.readouterr().out
    assert "The server desk offers 5 tools: join, post_message, read_messages, list_unconfirmed, confirm." in out
    assert "has these 10: ping, topic_create" in out
    assert "busproof init mailbox --from 'mcp:" in out
    assert "fault" not in out


def test_a_text_is_found_wherever_it_stands() -> None:
    """The list as a JMESPath, and the member of its rows."""
    row = {"id": 4, "data": {"text": "x"}}
    assert place_of("x", {"rooms": [{"messages": [row]}]}) == ("rooms[].messages[]", "data.text", row)
    assert place_of("x", [row]) == ("@", "data.text", row)
    assert place_of("x", {"in box": [{"body": "x"}]}) == ('"in box"', "body", {"body": "x"})
    assert place_of("x", {"job": {"body": "x"}}) == ("[job]", "body", {"body": "x"})
    assert place_of("y", {"rooms": [row, "y"]}) is None


# -- drafts


def drafted(source: str, tmp_path: Path) -> str:
    """The file that init writes; it can be read as it is."""
    assert draft.write(source, tmp_path) == 0
    load(tmp_path / "bus.toml")
    return (tmp_path / "bus.toml").read_text()


def test_a_file_is_drafted_from_the_tools_of_a_server(tmp_path: Path) -> None:
    """Its variables of the environment become [env]; what the draft has wrong, doctor tells."""
    server = shlex.join(["env", f"DESK_FILE={tmp_path}/desk.db", sys.executable, str(EXAMPLES / "mapped_mcp/desk.py")])
    text = drafted(f"mcp:{server}", tmp_path)
    assert 'name = "desk 1.0"' in text
    assert 'env = { DESK_FILE = "$store/desk.db" }' in text
    assert '[[session]]\ntool = "join"\nargs = { nickname = "$agent" }' in text
    assert '[send]\ntool = "post_message"\nargs = { recipient = "$to", content = "$body" }' in text
    assert '[receive]\ntool = "read_messages"\nargs = { max_count = "$limit" }' in text
    assert '[ack]\ntool = "confirm"\nargs = { message_ids = "$ids" }' in text


def test_a_file_is_drafted_from_the_help_of_a_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Two answers of doctor later it is right."""
    command = shlex.join([sys.executable, str(EXAMPLES / "mapped_cli/letters.py"), f"{tmp_path}/letters.jsonl"])
    text = drafted(f"cli:{command}", tmp_path)
    assert 'name = "letters"' in text
    assert '[send]\nargs = ["send", "--text=$body", "--", "$from", "$to"]' in text
    assert '[ack]\nargs = ["ack", "--", "$agent", "$id"]' in text
    assert '[claim]\nargs = ["lock", "--", "$name", "$agent", "$ttl_s"]' in text
    assert doctor.examine(f"toml:{tmp_path / 'bus.toml'}") == 1
    advice = capsys.readouterr().out
    for part in (
        'message = { id = "number", from = "from", body = "text" }',
        'parse = "lines"',
        "match = 'as\\ (\\S+)'",
    ):
        assert part in advice
    text = text.replace(
        'list = "@"    # ?\nmessage = { id = "id", body = "body" }    # ?',
        ('parse = "lines"\nmessage = { id = "number", from = "from", body = "text" }'),
    )
    text = text.replace('"$from", "$to"]', '"$from", "$to"]\nid = { match = \'as\\ (\\S+)\' }')
    (tmp_path / "bus.toml").write_text(text)
    assert doctor.examine(f"toml:{tmp_path / 'bus.toml'}") == 0


UNTIDY = """
import os, pathlib, socket, subprocess, sys, tempfile
for folder in {os.getcwd(), str(pathlib.Path.home()), tempfile.gettempdir(), os.environ["XDG_RUNTIME_DIR"]}:
    socket.socket(socket.AF_UNIX).bind(f"{folder}/{os.getpid()}.sock")
subprocess.Popen(["sleep", "987"], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
print("usage: untidy [-h] {send,inbox}" if len(sys.argv) < 3 else f"usage: untidy {sys.argv[1]} to text")
"""


def test_a_program_that_is_asked_what_it_offers_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No file and no socket in the user's folders, no process; what lies beside the file is found from there."""
    for name in ("HOME", "TMPDIR", "XDG_RUNTIME_DIR"):
        (tmp_path / name).mkdir()
        monkeypatch.setenv(name, str(tmp_path / name))
    (tmp_path / "untidy.py").write_text(UNTIDY)
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.rglob("*"))
    program = draft.read(f"cli:{shlex.quote(sys.executable)} untidy.py")
    assert [offer.name for offer in program.offers] == ["send", "inbox"]
    assert '"$here/untidy.py"' in program.door[0]
    assert sorted(tmp_path.rglob("*")) == before
    running = [path.read_bytes() for path in Path("/proc").glob("[0-9]*/cmdline")]
    assert b"sleep\x00987\x00" not in running


def test_a_file_is_drafted_from_an_openapi_document(tmp_path: Path) -> None:
    """Paths take variables; the command of the server is the author's."""
    note = {
        "type": "object",
        "required": ["to", "text", "tenant"],
        "properties": {name: {} for name in ("to", "text", "tenant")},
    }
    page = {
        "info": {"title": "post", "version": "1.0"},
        "components": {"schemas": {"Note": note}},
        "paths": {
            "/messages": {
                "post": {
                    "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Note"}}}}
                }
            },
            "/sweep": {"post": {}},
            "/actors": {"post": {}},
            "/inbox/{agent}": {"get": {"parameters": [{"name": "agent", "in": "path", "required": True}]}},
        },
    }
    (tmp_path / "api.json").write_text(json.dumps(page))
    text = drafted(f"openapi:{tmp_path / 'api.json'}", tmp_path)
    assert '[send]\ncall = "POST /messages"\nargs = { to = "$to", text = "$body" }\n# ! it needs tenant, too' in text
    assert '[receive]\ncall = "GET /inbox/$agent"\nargs = {}' in text
    assert '[[session]]\ncall = "POST /actors"' in text


def test_the_path_of_a_request_says_what_it_does_and_whose_name_it_holds(tmp_path: Path) -> None:
    requests = ("POST /actors/{name}/outbox", "GET /actors/{name}/inbox", "POST /notes/{id}/read", "POST /actors")
    paths = dict[str, Any]()
    for verb, path in map(str.split, requests):
        parameters = [{"name": name, "in": "path", "required": True} for name in re.findall(r"{(\w+)}", path)]
        paths[path] = {verb.lower(): {"parameters": parameters}}
    (tmp_path / "api.json").write_text(json.dumps({"paths": paths}))
    text = drafted(f"openapi:{tmp_path / 'api.json'}", tmp_path)
    assert '[[session]]\ncall = "POST /actors"' in text
    assert '[send]\ncall = "POST /actors/$from/outbox"' in text
    assert '[receive]\ncall = "GET /actors/$agent/inbox"' in text
    assert '[ack]\ncall = "POST /notes/$id/read"' in text
