"""Other clients: one recorded session of all ten tools, played to the server by the MCP SDK 2.x and by 1.x.

The recording holds what goes over the wire, ids, times and tokens masked. `tox run -e interop` makes the environment
with SDK 1.x and names its Python in BUSPROOF_SDK1_PYTHON. After a change that is meant, record anew:

    python reference/tests/topics/interop/play.py --record reference/tests/topics/interop/session.json \\
        -- python -m refbus.topics.mcp.server
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from refbus.topics.mcp.tools import TOOLS

HERE = Path(__file__).parent / "interop"
SESSION = HERE / "session.json"
SDK1_PYTHON = os.environ.get("BUSPROOF_SDK1_PYTHON", "")


def recorded() -> list[dict[str, Any]]:
    steps: list[dict[str, Any]] = json.loads(SESSION.read_text(encoding="utf-8"))["steps"]
    return steps


def play(python: str, *options: str) -> dict[str, Any]:
    """The answers to a client of this Python. The server runs in ours."""
    command = [python, str(HERE / "play.py"), *options, str(SESSION)]
    server = ["--", sys.executable, "-m", "refbus.topics.mcp.server"]
    done = subprocess.run([*command, *server], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    played: dict[str, Any] = json.loads(done.stdout)
    return played


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_sdk_2_is_answered_as_recorded(mode: str) -> None:
    """In both eras of the protocol that it speaks: with the handshake, and without."""
    played = play(sys.executable, f"--mode={mode}")
    assert played["sdk"].startswith("2.")
    assert played["steps"] == recorded()


@pytest.mark.skipif(not SDK1_PYTHON, reason="needs SDK 1.x in an environment of its own: tox run -e interop")
def test_sdk_1_is_answered_as_recorded() -> None:
    """The client of most agents today."""
    played = play(SDK1_PYTHON)
    assert played["sdk"].startswith("1.")
    assert played["steps"] == recorded()


def test_the_recording_has_all_ten_tools_their_errors_and_nothing_of_its_day() -> None:
    """And every reply in it is what the tool's schema promises."""
    steps = recorded()
    assert {step["request"]["params"]["name"] for step in steps} == set(TOOLS)
    codes = set()
    for step in steps:
        tool, reply = step["request"]["params"]["name"], step["reply"]
        codes.add(reply["structuredContent"].get("error", {}).get("code"))
        jsonschema.validate(_unmasked(reply["structuredContent"]), TOOLS[tool]["output_schema"])
        assert reply["isError"] == ("error" in reply["structuredContent"])
    assert codes == {
        None,
        "INVALID_ARGUMENT",
        "TOPIC_NOT_FOUND",
        "TOPIC_CLOSED",
        "AGENT_NAME_IN_USE",
        "AGENT_NOT_JOINED",
    }


def _unmasked(value: Any) -> Any:
    """Numbers where a mask stands for one."""
    if isinstance(value, dict):
        return {name: _unmasked(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_unmasked(part) for part in value]
    is_number = isinstance(value, str) and value.startswith(("<time ", "<age_seconds>", "<rank>", "<fts_rank>"))
    return 0 if is_number else value
