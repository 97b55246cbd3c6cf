"""Doctor proves who each session is before anything is judged, and says what to write where a mapping is wrong."""

import shlex
import shutil
import sys
from pathlib import Path

import pytest

from busproof.run import doctor
from busproof.run.mapped import place_of

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
    code, told = examined(name, tmp_path, capsys)
    assert code == 0
    assert "the sessions are three agents" in told
    assert told.count(" send: ") == 3
    assert "busproof check mailbox --bus toml:" in told
    assert "a promise that the bus does not make" in told


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
        ("http", '{ id = "id", from', '{ id = "body", from', "send answered the id '1', and receive shows"),
        ("http", 'from = "from", body', 'from = "body", body', "from must lead to what the bus calls the sender (cy)"),
        ("cli", 'parse = "lines"', 'parse = "text"', 'list = { match = "(?P<id>…) (?P<body>…)" }, or parse = "lines"'),
    ],
)
def test_doctor_finds_what_is_mapped_wrongly_by_the_text_that_it_sent(
    name: str, old: str, new: str, advice: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The remedy is what to write."""
    code, told = examined(name, tmp_path, capsys, (old, new))
    assert code == 1
    assert advice in told


def test_two_servers_that_are_one_agent_are_a_misfit_and_no_fault_of_the_bus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A server that knows one agent alone is shared here: mail of one comes to another."""
    code, told = examined("mcp", tmp_path, capsys, ('"$here/desk.py"]', '"$here/desk.py"], per = "store"'))
    assert code == 1
    assert "two sessions are one agent" in told
    assert "The file is at fault" in told


def test_a_server_without_the_tools_of_topics_hears_what_it_has_and_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not at fault: it is another kind of bus."""
    monkeypatch.setenv("DESK_FILE", str(tmp_path / "desk.db"))
    assert doctor.examine(f"mcp:{shlex.join([sys.executable, str(EXAMPLES / 'mapped_mcp/desk.py')])}") == 2
    told = capsys.readouterr().out
    assert "The server desk offers 5 tools: join, post_message, read_messages, list_unconfirmed, confirm." in told
    assert "has these 10: ping, topic_create" in told
    assert "busproof init mailbox --from 'mcp:" in told
    assert "fault" not in told


def test_a_text_is_found_wherever_it_stands() -> None:
    """The list as a JMESPath, and the member of its rows."""
    row = {"id": 4, "data": {"text": "x"}}
    assert place_of("x", {"rooms": [{"messages": [row]}]}) == ("rooms[].messages[]", "data.text", row)
    assert place_of("x", [row]) == ("@", "data.text", row)
    assert place_of("x", {"in box": [{"body": "x"}]}) == ('"in box"', "body", {"body": "x"})
    assert place_of("x", {"job": {"body": "x"}}) == ("[job]", "body", {"body": "x"})
    assert place_of("y", {"rooms": [row, "y"]}) is None
