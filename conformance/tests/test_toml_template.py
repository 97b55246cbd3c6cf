"""The two small languages of a bus.toml, and its reader."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from busproof.bus.toml import form, template
from busproof.bus.toml.answers import Match, NotThere, id_text, id_value, take, take_all
from busproof.bus.toml.form import FormError, load

BODIES = st.text() | st.sampled_from(["$body", "$$", "${to}", "-n", "--help", "a\nb", "'\"`$HOME $(id)", "", "{}"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(BODIES)
def test_what_a_variable_holds_is_never_looked_at_again(body: str) -> None:
    """In a table, in a text, in a word of a command line and in JSON within a text."""
    values = {"body": body, "to": "bob", "id": {"room": "r", "n": 7}}
    assert template.fill({"text": "$body", "who": "$to"}, values) == {"text": body, "who": "bob"}
    assert template.fill("$$to ${to}: $body", values) == f"$to bob: {body}"
    assert template.words(["send", "--text=$body", "--", "$to"], values) == ["send", f"--text={body}", "--", "bob"]
    assert json.loads(template.fill({"$json": {"text": "$body", "n": "${id.n}"}}, values)) == {"text": body, "n": 7}


@given(JSON.filter(lambda value: value is not None))
def test_a_text_that_is_one_variable_alone_keeps_its_type(value: Any) -> None:
    """So a number stays a number where a tool wants one; `$text` makes a text of it."""
    assert template.fill({"id": "$id"}, {"id": value}) == {"id": value}
    assert isinstance(template.fill({"id": {"$text": "$id"}}, {"id": value})["id"], str)


def test_an_argument_whose_variable_has_no_value_is_left_out() -> None:
    """A list within a command line is left out as a whole."""
    assert template.fill({"to": "$to", "key": "$key", "more": ["$key", 1]}, {"to": "bob"}) == {"to": "bob", "more": [1]}
    line = ["send", "--key=$key", ["--thread", "$thread"], ["--to", "$to"]]
    assert template.words(line, {"to": "bob"}) == ["send", "--to", "bob"]


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"])))
def test_a_name_is_quoted_in_the_path_of_a_request(name: str) -> None:
    """No name leads to another path."""
    path = template.path("GET /inbox/$agent/new", {"agent": name})
    assert path.startswith("GET /inbox/") and path.endswith("/new")
    assert not set(path.removeprefix("GET /inbox/").removesuffix("/new")) & set("/?# ")


@given(st.text(alphabet=st.characters(exclude_categories=["Cs"], exclude_characters="\\")))
def test_a_list_is_the_part_of_an_answer_that_names_a_variable(name: str) -> None:
    """A bus may show its agents more than their mail."""
    mails = [{"to": f"{name}!"}, {"to": name}]
    assert take_all(template.raw("[?to=='$me']", {"me": name}), mails) == [{"to": name}]


@given(JSON.filter(lambda value: value is not None))
def test_an_id_of_any_type_comes_back_as_it_was(value: Any) -> None:
    """Except for a text of digits, which is a number: a command line does not tell them apart."""
    back = id_value(id_text(value))
    is_digits = isinstance(value, str) and value.isascii() and value.removeprefix("-").isdigit()
    assert back == value or (is_digits and str(back) == value)


def test_a_sentence_is_read_by_a_pattern() -> None:
    """A group `value`, the only group, or all that matches; of a list the named groups."""
    assert take(Match(match=r"sent as (\d+)"), "sent as 12, to bob") == "12"
    assert take(Match(match=r"(?P<value>\d+) of (\d+)"), "3 of 7") == "3"
    assert take(Match(match=r"#\d+", **{"in": "note"}), {"note": "see #4"}) == "#4"
    assert take(Match(match="nothing"), "sent") is None
    rows = take_all(Match(match=r"(?m)^\[(?P<id>\d+)\] (?P<body>.*)$"), "[1] one\n[2] two\n")
    assert rows == [{"id": "1", "body": "one"}, {"id": "2", "body": "two"}]


def test_an_answer_without_the_list_is_told_and_not_taken_for_an_empty_one() -> None:
    """null and an empty output are an empty list."""
    assert take_all("messages", {"messages": None}) == take_all("@", "") == []
    with pytest.raises(NotThere, match="is no list"):
        take_all("@", {"error": "no such room"})


SOUND = """\
name = "a bus 1.0"
door = { cli = ["bus"] }
[send]
args = ["send", "$to", "$body"]
[receive]
args = ["inbox", "$agent"]
message = { id = "id", body = "text" }
"""


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ('"$body"', '"$boddy"', r"line 4: send.args: \$boddy is no variable here; there are \$agent, \$base, \$body"),
        ('args = ["inbox"', 'arg = ["inbox"', "line 6: receive.arg: Extra inputs are not permitted"),
        ('"id",', '"id[",', r"line 7: receive.message.id.*'id\[' is no JMESPath"),
        ('door = { cli = ["bus"] }', "door = {}", "line 2: door: one of cli, mcp, http and mcp_url"),
        ('cli = ["bus"]', 'http = "http://example.org:$port", server = ["bus"]', "is not on the loopback"),
        ('args = ["send",', 'tool = "send"\nargs = ["send",', "args must be a table here"),
        ('args = ["inbox", "$agent"]', 'tool = "inbox"', "line 6: receive.tool needs an MCP server"),
        ('body = "text"', 'text = "text"', "line 7: receive: message has text; known are id, body"),
        ("[send]", "promises = { exactly_once = true }\n[send]", "line 3: promises has exactly_once; known are ack"),
        ("[send]", "[send", "no TOML: .*line 3"),
        ("[receive]", "[other]", "line 5: other: Extra inputs are not permitted"),
    ],
)
def test_a_fault_of_the_file_is_told_with_its_key_and_its_line(old: str, new: str, why: str, tmp_path: Path) -> None:
    """Before anything is started."""
    path = tmp_path / "bus.toml"
    path.write_text(SOUND, encoding="utf-8")
    load(path)
    path.write_text(SOUND.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(FormError, match=why):
        load(path)


def test_the_page_names_every_key_and_every_variable() -> None:
    """Those of the form, by the names that stand in a file."""
    page = (Path(__file__).parents[2] / "docs/bus-toml.md").read_text(encoding="utf-8")
    parts: list[type[BaseModel]] = [form.Door, form.Names, form.Operation, form.Again, form.Failure, form.Form, Match]
    keys = {field.alias or name for part in parts for name, field in part.model_fields.items()}
    words = set(re.findall(r"[$\w]+", page))
    assert keys - words == set()
    variables = {f"${name}" for names in (form.COMMON, *form.OF_METHOD.values()) for name in names}
    assert variables - words == set()
