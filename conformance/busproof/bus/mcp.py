"""`mcp:CMD…`: any MCP server over stdio whose tools are the methods of a system. No adapter is needed.

JSON-RPC in lines, as it goes over the server's stdin and stdout. A server learns where its database is from its
environment, when it starts, and takes long to start. So it is started before there is a store (`get_ready`), on a path
in an empty folder; `open` makes that folder a symbolic link to the store. If the server has made its file by then,
or has served another store, another process is started on the store itself.
"""

from __future__ import annotations

import contextlib
import json
import re
import sqlite3
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from busproof.bus.base import HOW_LONG, Lost, Refused, Spawn, parsed, patient
from busproof.bus.child import Child
from busproof.contract import CONTRACTS, INVALID_PARAMS, METHOD_NOT_FOUND, Contract, ToolServer

RequestId = int | str  # of JSON-RPC, which knows both

START_S = 60.0
VERSION = "2025-06-18"
CODE = re.compile(r"([A-Z][A-Z_]{3,}): ")
_NO_SERVER = "there is no server process"


class McpDoor:
    """One server process at a time, and a client of it. Threads may call side by side."""

    serves_many = False

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        self.argv, self._spawn = list(argv), spawn
        self.store: Path | None = None
        self.is_structured = True  # was the last error?
        self.text = ""  # the last answer as a person, or a model without structured content, read it
        self._child: Child | None = None
        self._contract: Contract | None = None
        self._info: dict[str, Any] = {}
        self._folder = tempfile.TemporaryDirectory(prefix="busproof-mcp-")
        self._home = Path(self._folder.name) / "home"
        self._last_words = ""
        self._ids = 0
        self._asked: set[RequestId] = set()
        self._answers: dict[RequestId, dict[str, Any]] = {}
        self._news = threading.Condition()
        self._is_read = False  # one of the callers reads for all

    @property
    def child(self) -> Child:
        """The server's process."""
        if self._child is None:
            raise Lost(_NO_SERVER)
        return self._child

    @property
    def stderr(self) -> str:
        """The last 50 lines that the server wrote to stderr."""
        return self._last_words if self._child is None else self._child.stderr

    @property
    def pid(self) -> int | None:
        """The server's process id, which is its process group's too."""
        return None if self._child is None else self._child.pid

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
                return {"tools": self._tools(timeout_s)}
        if self._contract is not None and method not in self._contract.methods:
            raise Refused("METHOD_NOT_FOUND", f"no tool is {method}", definite=True, rpc=METHOD_NOT_FOUND)
        timeout_s = patient(timeout_s)
        deadline = time.monotonic() + timeout_s
        return self._reply(method, self._result(self.begin(method, params, timeout_s), method, deadline))

    def request(self, method: str, params: dict[str, Any], timeout_s: float = START_S) -> dict[str, Any]:
        """Ask the server by a method of MCP itself, not a tool. Raises Refused with the protocol's number."""
        timeout_s = patient(timeout_s)
        return self._result(self._ask(method, params, timeout_s), method, time.monotonic() + timeout_s)

    def begin(
        self, tool: str, arguments: dict[str, Any], timeout_s: float = 30.0, id_: RequestId | None = None
    ) -> RequestId:
        """Ask, and do not wait. Returns the request's id: the next number, or the one that is given."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments}, timeout_s, id_)

    def cancel(self, id_: RequestId) -> None:
        """Tell the server that the caller does not want the answer any more."""
        self._tell("notifications/cancelled", {"requestId": id_, "reason": "the caller went"})

    def cancelled(self, method: str, params: dict[str, Any], after_s: float, id_: RequestId | None = None) -> bool:
        """Call, and cancel after so long, as a user who presses Escape. False if the answer came before."""
        id_ = self.begin(method, params, id_=id_)
        try:
            self._result(id_, method, time.monotonic() + after_s)
        except Lost:
            self.cancel(id_)
            return True
        except Refused:
            pass
        return False

    def answer(self, id_: RequestId, tool: str, timeout_s: float = 30.0) -> dict[str, Any]:
        """Wait for the answer to a call that was begun."""
        return self._reply(tool, self._result(id_, tool, time.monotonic() + patient(timeout_s)))

    def has_answered(self, id_: RequestId) -> bool:
        """Has a result of this request been read, which nobody waited for?"""
        with self._news:
            return "result" in self._answers.get(id_, {})

    def disconnect(self) -> None:
        """Close the connection in the middle of anything; the server sees the end of its stdin."""
        self.store = None
        if self._child is not None:
            self._child.hang_up()

    def processes(self) -> list[Path]:
        """The server's own, and its helpers'."""
        return self.child.processes()

    def kill(self) -> None:
        """SIGKILL to the server's process group."""
        self._leave(at_once=True)
        self._folder.cleanup()

    def close(self) -> None:
        """EOF, a grace, then kill."""
        self._leave(at_once=False)
        self._folder.cleanup()

    # -- one process

    def _open(self, store: Path) -> None:
        if store == self.store:
            return
        if not self._is_moved_to(store):
            self._leave(at_once=False)
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
        try:
            self._child = self._spawn(self.argv, env=environment)
        except OSError as error:
            raise Lost(f"no MCP session with {self.argv}: {error}") from error
        self._asked.clear()
        self._answers.clear()
        who = {"name": "busproof", "version": "1"}
        asked = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": who}
        try:
            self._info = _object(self.request("initialize", asked).get("serverInfo"))
            self._tell("notifications/initialized", {})
        except (Lost, Refused) as error:
            self._leave(at_once=True)
            raise Lost(f"no MCP session with {self.argv}: {error}") from error

    def _leave(self, *, at_once: bool) -> None:
        self.store = None
        child, self._child = self._child, None
        if child is not None:
            child.kill() if at_once else child.close()
            self._last_words = child.stderr

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
        texts = [_object(part) for part in (parts if isinstance(parts, list) else [])]
        self.text = "\n".join(str(part.get("text", "")) for part in texts if part.get("type") == "text")
        structured = result.get("structuredContent")
        if result.get("isError"):
            told = _object(_object(structured).get("error"))
            self.is_structured = bool(told)
            in_text = CODE.match(self.text)  # a server without structured errors may say it there
            code = str(told.get("code", in_text[1] if in_text else "UNSTRUCTURED"))
            message = str(told.get("message", self.text))
            raise Refused(code, message, definite=self._known.error_codes.get(code, False))
        if not isinstance(structured, dict):
            raise Lost(f"the answer to {name} has no structured content: {self.text[:200]!r}")
        return structured

    def _tools(self, timeout_s: float = START_S) -> list[dict[str, Any]]:
        tools: list[dict[str, Any]] = []
        timeout_s = patient(timeout_s)
        deadline, cursor = time.monotonic() + timeout_s, None
        while True:  # a server may spread its list over pages
            id_ = self._ask("tools/list", {} if cursor is None else {"cursor": cursor}, timeout_s)
            page = self._result(id_, "tools/list", deadline)
            listed = page.get("tools")
            tools += [_object(tool) for tool in (listed if isinstance(listed, list) else [])]
            cursor = page.get("nextCursor")
            if cursor is None:
                return tools

    def _ask(self, method: str, params: dict[str, Any], timeout_s: float, id_: RequestId | None = None) -> RequestId:
        with self._news:
            if id_ is None:
                id_ = self._ids = self._ids + 1
            self._asked.add(id_)
        request = {"jsonrpc": "2.0", "id": id_, "method": method, "params": params}
        self.child.write_line(json.dumps(request).encode(), timeout_s)
        return id_

    def _tell(self, method: str, params: dict[str, Any]) -> None:
        self.child.write_line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def _result(self, id_: RequestId, what: str, deadline: float) -> dict[str, Any]:
        """Wait for the answer to this request; read for the other callers as long as nobody else does."""
        while True:
            with self._news:
                while id_ not in self._answers and self._is_read:
                    if not self._news.wait(deadline - time.monotonic()):
                        raise Lost(f"no answer to {what} in time; {HOW_LONG}")
                if id_ in self._answers:
                    return _result_of(self._answers.pop(id_), what)
                self._is_read = True
            try:
                if time.monotonic() > deadline:  # there is always another line, of a server that never stops talking
                    raise Lost(f"no answer to {what} in time; {HOW_LONG}")
                self._file(self.child.read_line(what, deadline - time.monotonic()), what)
            finally:
                with self._news:
                    self._is_read = False
                    self._news.notify_all()

    def _file(self, line: bytes, what: str) -> None:
        """Put an answer where its caller looks. The server may say and ask other things, too."""
        try:
            told = parsed(line)
        except ValueError as error:
            raise Lost(f"waiting for {what}, what came is not JSON: {line[:200]!r}") from error
        if not isinstance(told, dict):
            raise Lost(f"waiting for {what}, what came is no message: {line[:200]!r}")
        if "method" not in told:
            with self._news:
                if type(id_ := told.get("id")) in (int, str) and id_ in self._asked:
                    self._asked.discard(id_)
                    self._answers[id_] = told
        elif "id" in told:
            refusal = {"code": METHOD_NOT_FOUND, "message": "this client only calls tools"}
            answer = {"result": {}} if told["method"] == "ping" else {"error": refusal}
            self.child.write_line(json.dumps({"jsonrpc": "2.0", "id": told["id"], **answer}).encode())

    # -- hello, from outside

    def _hello(self, system: str) -> dict[str, Any]:
        self._contract = CONTRACTS[system]
        server = self._server
        with tempfile.TemporaryDirectory(prefix="busproof-hello-") as folder:
            self._open(Path(folder))
            known = {str(tool.get("name")) for tool in self._tools()}
            version = self._info.get("version", "?")
            trial, arguments = server.trial
            tool, field = server.version
            with contextlib.suppress(Refused):
                self.call(trial, dict(arguments), timeout_s=START_S)
            with contextlib.suppress(Refused):
                version = str(self.call(tool, {}, timeout_s=START_S).get(field, version))
            features = ["sqlite"] if _tables(Path(folder) / self._database) >= self._known.table_names else []
            self._leave(at_once=False)
        return {
            "protocol": "1",
            "name": str(self._info.get("name", "?")),
            "version": str(version),
            "language": "?",
            "systems": [system],
            "clock": "wall",
            "durability": "process-crash",
            "nouns": list(dict.fromkeys(noun for tool, noun in server.nouns if tool in known)),
            "features": features,
        }


def _object(value: Any) -> dict[str, Any]:
    """A stranger's value where an object should stand."""
    return value if isinstance(value, dict) else {}


def _result_of(answer: dict[str, Any], what: str) -> dict[str, Any]:
    refusal = answer.get("error")
    if isinstance(refusal, dict):
        code = refusal["code"] if isinstance(refusal.get("code"), int) else 0
        definite = code in (METHOD_NOT_FOUND, INVALID_PARAMS)
        raise Refused(str(code), str(refusal.get("message")), definite=definite, rpc=code)
    result = answer.get("result")
    if not isinstance(result, dict):
        raise Lost(f"the result of {what} is not an object: {json.dumps(answer)[:200]}")
    return result


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
