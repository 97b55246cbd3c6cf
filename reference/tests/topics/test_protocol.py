"""The protocol's own rules, below the tools: a line that is no request is refused, and none breaks the connection."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from refbus.topics.mcp import protocol
from refbus.topics.mcp.protocol import HANDSHAKE_VERSIONS, SERVER_KEY, VERSION_KEY, Connection, handshake_version

SERVER = {"name": "test"}


def answers_to(*lines: bytes) -> list[dict[str, Any]]:
    """The answers of a connection with one method, `echo`."""
    answers: list[dict[str, Any]] = []

    async def echo(params: dict[str, Any], _request: Any) -> dict[str, Any]:
        return {"echo": params.get("text")}

    async def play() -> None:
        connection = Connection({"echo": echo}, SERVER, lambda line: answers.append(json.loads(line)))
        for line in lines:
            connection.receive(line)
            await asyncio.sleep(0)
            await asyncio.sleep(0)
        await connection.close()

    asyncio.run(play())
    return answers


def line(**message: Any) -> bytes:
    """A line of JSON."""
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


@pytest.mark.parametrize("id_", [0, 1, "a", ""])
def test_a_request_is_answered_under_its_id(id_: int | str) -> None:
    """With any id."""
    answer = {"jsonrpc": "2.0", "id": id_, "result": {"echo": "x"}}
    assert answers_to(line(id=id_, method="echo", params={"text": "x"})) == [answer]


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (b"no JSON\n", -32700),
        (b"\xff\n", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (line(id=None, method="echo"), -32600),
        (line(id=1.5, method="echo"), -32600),
        (line(id=True, method="echo"), -32600),
        (line(id=1, method=5), -32600),
        (line(id=1, method="other"), -32601),
        (line(id=1, method="echo", params={"_meta": {VERSION_KEY: "1999-01-01"}}), -32022),
    ],
)
def test_what_is_no_request_is_refused_and_the_next_one_answered(sent: bytes, code: int) -> None:
    """By the protocol's own codes."""
    refused, answered = answers_to(sent, line(id=2, method="echo", params={"text": "y"}))
    assert refused["error"]["code"] == code and answered["result"] == {"echo": "y"}


def test_a_line_that_is_too_long_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not kept."""
    monkeypatch.setattr(protocol, "LINE_BYTES_MAX", 100)
    refused, answered = answers_to(b"x" * 101, line(id=2, method="echo", params={"text": "y"}))
    assert refused["error"]["code"] == -32700 and answered["result"] == {"echo": "y"}


def test_each_message_of_a_batch_is_answered_by_itself() -> None:
    """Version 2025-03-26, on which we agree, lets a client send several in one line."""
    requests = [json.loads(line(id=id_, method="echo", params={"text": id_})) for id_ in (1, "two")]
    batch = json.dumps([requests[0], json.loads(line(method="echo")), 5, requests[1]]).encode()
    answers = answers_to(batch)
    assert {answer["id"]: answer.get("result") for answer in answers} == {
        1: {"echo": 1},
        None: None,
        "two": {"echo": "two"},
    }


def test_what_wants_no_answer_gets_none() -> None:
    """Notifications, known or not, a cancellation of nothing, and answers to questions that we never asked."""
    assert not answers_to(
        line(method="notifications/initialized"),
        line(method="notifications/cancelled", params={"requestId": [1]}),
        line(method="echo"),
        line(id=1, result={}),
    )


def test_a_request_that_says_its_version_is_told_who_answers() -> None:
    """From 2026-07-28 on."""
    (answer,) = answers_to(line(id=1, method="echo", params={"_meta": {VERSION_KEY: "2026-07-28"}}))
    assert answer["result"]["_meta"] == {SERVER_KEY: SERVER} and answer["result"]["resultType"] == "complete"


@given(asked=st.one_of(st.none(), st.text(), st.integers(), st.sampled_from(HANDSHAKE_VERSIONS)))
def test_a_handshake_agrees_on_what_is_asked_for_or_the_latest(asked: object) -> None:
    """As the specification has it."""
    assert handshake_version(asked) == (asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1])


@pytest.mark.parametrize("number", [float("inf"), float("nan")])
def test_a_number_that_json_cannot_say_is_null(number: float) -> None:
    """Another program stored it; the line stays one of JSON."""
    assert answers_to(line(id=1, method="echo", params={"text": number}))[0]["result"] == {"echo": None}


@pytest.mark.parametrize(
    ("value", "says"), [(b"a\xff", {"result": {"value": "a\ufffd"}}), (object(), {"error": {"code": -32603}})]
)
def test_every_call_is_answered_whatever_its_result_holds(value: object, says: dict[str, Any]) -> None:
    """A BLOB as its text; a value that has none with an error: a caller that is told nothing waits for ever."""
    answers: list[dict[str, Any]] = []

    async def odd(_params: dict[str, Any], _request: Any) -> dict[str, Any]:
        return {"value": value}

    async def play() -> None:
        connection = Connection({"odd": odd}, SERVER, lambda sent_line: answers.append(json.loads(sent_line)))
        connection.receive(line(id=1, method="odd"))
        while not answers:
            await asyncio.sleep(0)
        await connection.close()

    asyncio.run(asyncio.wait_for(play(), 10))
    for answer in answers:
        answer.get("error", {}).pop("message", None)
    assert answers == [{"jsonrpc": "2.0", "id": 1, **says}]
