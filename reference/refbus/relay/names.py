"""Names of agents, files and addresses (3.3, 4.2, 5.3). Pure."""

from __future__ import annotations

import re

ORCHESTRATOR, LEAD, ALL = "__orchestrator__", "Lead", "*"

_NAME = re.compile(r"[a-zA-Z][a-zA-Z0-9_-]{0,62}")
_RESERVED = {ORCHESTRATOR, "system", "root", "admin", "lead"}  # whatever the case; the last one by R2
_FILE = re.compile(r"([0-9]{1,19})-([0-9a-f]{8})(?:-([0-9a-f]{64}))?\.msg")
SUFFIX = ".msg"


def is_agent_name(name: object) -> bool:
    """May an agent have this name?"""
    return isinstance(name, str) and _NAME.fullmatch(name) is not None and name.lower() not in _RESERVED


def is_channel(address: str) -> bool:
    """Is it `#` and a text that could be a name?"""
    return address.startswith("#") and _NAME.fullmatch(address[1:]) is not None


def is_file_name(name: str) -> bool:
    """timestamp-uuid.msg, or timestamp-uuid-hash.msg (2.3)"""
    return _FILE.fullmatch(name) is not None


def file_name(at_ns: int, of: str) -> str:
    """The name of a message file, by its time and its uuid. So many digits that names sort as times, from 1970 on."""
    return f"{at_ns:019}-{of}{SUFFIX}"


def time_ns(name: str) -> int:
    """The time in a message file's name; -1 for any other name."""
    match = _FILE.fullmatch(name)
    return -1 if match is None else int(match[1])


def uuid(name: str) -> str:
    """The uuid in a message file's name: its eight digits."""
    return name.removesuffix(SUFFIX).partition("-")[2][:8]


def content_hash(name: str) -> str | None:
    """The SHA-256 of the file's content, where its name says one."""
    match = _FILE.fullmatch(name)
    return None if match is None else match[3]


def message_id(agent: str, name: str) -> str:
    """The id of a message, with the file's agent. Eight digits alone meet, and somebody could burn another agent's."""
    return f"{agent}/{name.removesuffix(SUFFIX)}"


def printable(name: str) -> str:
    """A name as it is recorded: bytes that are no UTF-8 as escapes."""
    return name.encode("utf-8", "backslashreplace").decode()
