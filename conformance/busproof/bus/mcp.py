"""`mcp:CMD…`: any MCP server over stdio whose tools are the methods of a system. No adapter is needed.

JSON-RPC in lines, as it goes over the server's stdin and stdout. A server learns where its database is from its
environment, when it starts, and takes long to start. So it is started before there is a store (`get_ready`), on a path
in an empty folder; `open` makes that folder a symbolic link to the store. If the server has made its file by then,
or has served another store, another process is started on the store itself.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from busproof.bus.base import Lost, Refused, Spawn, patient
from busproof.bus.child import Child
from busproof.bus.mcp_client import START_S, McpClient, RequestId, as_object
from busproof.contract import CONTRACTS, METHOD_NOT_FOUND, Contract, ToolServer

CODE = re.compile(r"([A-Z][A-Z_]{3,}): ")


class McpDoor(McpClient):
    """One server process at a time, on one store."""

    serves_many = False

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        super().__init__(argv, spawn)
        self.store: Path | None = None
        self.is_structured = True  # was the last error?
        self.text = ""  # the last answer as a person, or a model without structured content, read it
        self._contract: Contract | None = None
        self._folder = tempfile.TemporaryDirectory(prefix="busproof-mcp-")
        self._home = Path(self._folder.name) / "home"

    def get_ready(self, system: str) -> None:
        """Start a server on a folder that will become a link to the store."""
        self._contract = CONTRACTS[system]
        self._home.mkdir()
        self._start(self._home)

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """A tool, or one of the protocol's methods that bind a session to a store."""
        match method:
            case "hello":
                return self._hello(str(params["system"]))
            case "open":
                self._open(Path(params["store"]))
                return {}
            case "close":
                return {}
            case "tools.list":
                return {"tools": self.tools(timeout_s)}
        if self._contract is not None and method not in self._contract.methods:
            raise Refused("METHOD_NOT_FOUND", f"no tool is {method}", definite=True, rpc=METHOD_NOT_FOUND)
        timeout_s = patient(timeout_s)
        deadline = time.monotonic() + timeout_s
        return self._reply(method, self.result(self.begin(method, params, timeout_s), method, deadline))

    def cancelled(self, method: str, params: dict[str, Any], after_s: float, id_: RequestId | None = None) -> bool:
        """Call, and cancel after so long, as a user who presses Escape. False if the answer came before."""
        id_ = self.begin(method, params, id_=id_)
        try:
            self.result(id_, method, time.monotonic() + after_s)
        except Lost:
            self.cancel(id_)
            return True
        except Refused:
            pass
        return False

    def answer(self, id_: RequestId, tool: str, timeout_s: float = 30.0) -> dict[str, Any]:
        """Wait for the answer to a call that was begun."""
        return self._reply(tool, self.result(id_, tool, time.monotonic() + patient(timeout_s)))

    def disconnect(self) -> None:
        """Close the connection in the middle of anything; the server sees the end of its stdin."""
        self.store = None
        if self._child is not None:
            self._child.hang_up()

    def kill(self) -> None:
        """SIGKILL to the server's process group."""
        self.leave(at_once=True)
        self._folder.cleanup()

    def close(self) -> None:
        """EOF, a grace, then kill."""
        self.leave(at_once=False)
        self._folder.cleanup()

    # -- one process

    def _open(self, store: Path) -> None:
        if store == self.store:
            return
        if not self._is_moved_to(store):
            self.leave(at_once=False)
            self._start(store)
        self.store = store

    def _is_moved_to(self, store: Path) -> bool:
        """Can the waiting server be given this store? Its folder must be as empty as it was."""
        if self._child is None or self.store is not None or self._child.has_ended:
            return False
        try:
            self._home.rmdir()
        except OSError:
            return False
        self._home.symlink_to(store)
        return True

    def _start(self, folder: Path) -> None:
        server = self._server
        environment = {**server.environment, server.store_variable: str(folder / self._database)}
        self.start(environment)

    def leave(self, *, at_once: bool) -> None:
        """End the process; there is no store any more."""
        self.store = None
        super().leave(at_once=at_once)

    @property
    def _database(self) -> str:
        return str(self._known.store)

    @property
    def _server(self) -> ToolServer:
        if self._known.server is None:
            raise Refused("INVALID_ARGUMENT", f"{self._known.system} is no system of MCP servers", definite=True)
        return self._known.server

    @property
    def _known(self) -> Contract:
        if self._contract is None:
            raise Refused("NOT_OPEN", "hello comes first", definite=True)
        return self._contract

    # -- calls

    def _reply(self, name: str, result: dict[str, Any]) -> dict[str, Any]:
        parts = result.get("content")
        texts = [as_object(part) for part in (parts if isinstance(parts, list) else [])]
        self.text = "\n".join(str(part.get("text", "")) for part in texts if part.get("type") == "text")
        structured = result.get("structuredContent")
        if result.get("isError"):
            error = as_object(as_object(structured).get("error"))
            self.is_structured = bool(error)
            in_text = CODE.match(self.text)  # a server without structured errors may say it there
            code = str(error.get("code", in_text[1] if in_text else "UNSTRUCTURED"))
            message = str(error.get("message", self.text))
            raise Refused(code, message, definite=self._known.error_codes.get(code, False))
        if not isinstance(structured, dict):
            raise Lost(f"the answer to {name} has no structured content: {self.text[:200]!r}")
        return structured

    # -- hello, from outside

    def _hello(self, system: str) -> dict[str, Any]:
        self._contract = CONTRACTS[system]
        server = self._server
        with tempfile.TemporaryDirectory(prefix="busproof-hello-") as folder:
            self._open(Path(folder))
            known = {str(tool.get("name")) for tool in self.tools()}
            version = self.info.get("version", "?")
            trial, arguments = server.trial
            tool, field = server.version
            with contextlib.suppress(Refused):
                self.call(trial, dict(arguments), timeout_s=START_S)
            with contextlib.suppress(Refused):
                version = str(self.call(tool, {}, timeout_s=START_S).get(field, version))
            features = ["sqlite"] if _tables(Path(folder) / self._database) >= self._known.table_names else []
            self.leave(at_once=False)
        return {
            "protocol": "1",
            "name": str(self.info.get("name", "?")),
            "version": str(version),
            "language": "?",
            "systems": [system],
            "clock": "wall",
            "durability": "process-crash",
            "nouns": list(dict.fromkeys(noun for tool, noun in server.nouns if tool in known)),
            "features": features,
        }


def _tables(path: Path) -> set[str]:
    if not path.exists():
        return set()
    deadline = time.monotonic() + 5
    while True:
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=5)) as connection:
                rows = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
                return {str(name) for (name,) in rows}
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                return set()
        except sqlite3.DatabaseError:  # a file of another format, which is the bus's own affair
            return set()
