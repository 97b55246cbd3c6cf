"""An MCP server spoken to in JSON-RPC lines as they go over its stdin and stdout, under the supervisor or not.

A server learns from its environment, at its start, where its database is, and takes long to start. So it is started
before there is a store, on a path in an empty folder; `open` makes that folder a symbolic link to the store. Where the
server has made its file by then, it is started again, on the store itself.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from buschaos.bus import argv_of
from buschaos.nemeses.syscalls import WatchedDoor
from busproof.adapters.base import Lost, Refused
from busproof.adapters.stdio import StdioDoor
from busproof.protocol.topics import DB_NAME, TOPICS_ERROR_CODES

START_S = 60.0


class McpLineDoor(StdioDoor):
    """One server process on one store."""

    serves_many = False

    def __init__(self, argv: list[str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="busproof-mcp-"))
        self._home = self._folder / "home"
        self._home.mkdir()
        self._server = argv
        self._start(self._home)

    def _start(self, home: Path) -> None:
        super().__init__(self._server, env={"AGENT_BUS_EMBEDDINGS_AUTOINDEX": "0", "AGENT_BUS_DB": str(home / DB_NAME)})

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """A tool, or one of the protocol's methods that bind a session to a store."""
        match method:
            case "hello":
                return self._shake_hands()
            case "open":
                self._move(Path(params["store"]))
                return {}
            case "close":
                return {}
        self.begin(method, params)
        return self.answer(method, timeout_s)

    def begin(self, tool: str, arguments: dict[str, Any]) -> int:
        """Ask, and do not wait. Returns the request's id."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    def answer(self, tool: str, timeout_s: float = 30.0) -> dict[str, Any]:
        """The structured content of the answer to the last call."""
        result = self._result(tool, timeout_s)
        structured = result.get("structuredContent")
        if result.get("isError"):
            told = (structured or {}).get("error") or {}
            code = str(told.get("code", "UNSTRUCTURED"))
            raise Refused(code, str(told.get("message")), definite=TOPICS_ERROR_CODES.get(code, False))
        if not isinstance(structured, dict):
            raise Lost(f"the answer to {tool} has no structured content")
        return structured

    def cancel(self, id_: int) -> None:
        """The caller does not want the answer any more."""
        self._tell("notifications/cancelled", {"requestId": id_, "reason": "chaos"})

    def disconnect(self) -> None:
        """The caller closes the connection; what the server still says can be read."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    @property
    def has_ended(self) -> bool:
        """Is the process over?"""
        return self._process.poll() is not None

    def _shake_hands(self) -> dict[str, Any]:
        who = {"name": "busproof", "version": "1"}
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": who}
        self._ask("initialize", params)
        self._result("initialize", START_S)
        self._tell("notifications/initialized", {})
        return {}

    def _move(self, store: Path) -> None:
        try:
            self._home.rmdir()
        except OSError:
            super().kill()
            self._start(store)
            self._shake_hands()
        else:
            self._home.symlink_to(store)

    # -- lines

    def _ask(self, method: str, params: dict[str, Any]) -> int:
        self._next_id += 1
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        self.send_line(json.dumps(request).encode())
        return self._next_id

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self.send_line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def _result(self, what: str, timeout_s: float) -> dict[str, Any]:
        """Of the last request. The server may say other things first."""
        while True:
            line = self.receive_line(what, timeout_s)
            if json.loads(line).get("id") == self._next_id:
                return self._answer(line, what)

    def _reap(self) -> None:
        super()._reap()
        shutil.rmtree(self._folder, ignore_errors=True)


class WatchedMcpDoor(McpLineDoor, WatchedDoor):
    """The same under the supervisor."""


def watched_door(spec: str) -> WatchedDoor:
    """A process of a bus, under the supervisor."""
    argv = argv_of(spec)
    return WatchedMcpDoor(argv) if spec.startswith("mcp:") else WatchedDoor(argv)


def unwatched_door(spec: str) -> StdioDoor:
    """A process of a bus."""
    argv = argv_of(spec)
    return McpLineDoor(argv) if spec.startswith("mcp:") else StdioDoor(argv)
