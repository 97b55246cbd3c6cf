"""A client of MCP over stdio: one server process, requests and answers in lines, threads that call side by side."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from busproof.bus.base import HOW_LONG, Lost, Refused, Spawn, parsed, patient
from busproof.bus.child import Child
from busproof.contract.common import INVALID_PARAMS, METHOD_NOT_FOUND

RequestId = int | str  # of JSON-RPC, which knows both

START_S = 60.0
VERSION = "2025-06-18"
WHO = {"name": "busproof", "version": "1"}
_NO_SERVER = "there is no server process"


class McpClient:
    """One server process at a time. One of the callers reads for all; answers find their callers by id."""

    skips_noise = False  # is a line that is no message left out? A strict client ends at it

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        self.argv, self._spawn = list(argv), spawn
        self.info: dict[str, Any] = {}  # what the server says of itself
        self._child: Child | None = None
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

    def start(self, environment: Mapping[str, str], timeout_s: float = START_S) -> None:
        """Start a server and make a session with it, or Lost."""
        try:
            self._child = self._spawn(self.argv, env=environment)
        except OSError as error:
            raise Lost(f"no MCP session with {self.argv}: {error}") from error
        self._asked.clear()
        self._answers.clear()
        asked = {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": WHO}
        try:
            self.info = as_object(self.request("initialize", asked, timeout_s).get("serverInfo"))
            self._tell("notifications/initialized", {})
        except (Lost, Refused) as error:
            self.leave(at_once=True)
            raise Lost(f"no MCP session with {self.argv}: {error}") from error

    def leave(self, *, at_once: bool) -> None:
        """End the process: by the end of its input and a grace, or by a kill."""
        child, self._child = self._child, None
        if child is not None:
            child.kill() if at_once else child.close()
            self._last_words = child.stderr

    def request(self, method: str, params: dict[str, Any], timeout_s: float = START_S) -> dict[str, Any]:
        """Ask the server by a method of MCP itself, not a tool. Raises Refused with the protocol's number."""
        timeout_s = patient(timeout_s)
        return self.result(self._ask(method, params, timeout_s), method, time.monotonic() + timeout_s)

    def begin(
        self, tool: str, arguments: dict[str, Any], timeout_s: float = 30.0, id_: RequestId | None = None
    ) -> RequestId:
        """Ask, and do not wait. Returns the request's id: the next number, or the one that is given."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments}, timeout_s, id_)

    def cancel(self, id_: RequestId) -> None:
        """Tell the server that the caller does not want the answer any more."""
        self._tell("notifications/cancelled", {"requestId": id_, "reason": "the caller went"})

    def has_answered(self, id_: RequestId) -> bool:
        """Has a result of this request been read, which nobody waited for?"""
        with self._news:
            return "result" in self._answers.get(id_, {})

    def processes(self) -> list[Path]:
        """The server's own, and its helpers'."""
        return self.child.processes()

    def tools(self, timeout_s: float = START_S) -> list[dict[str, Any]]:
        """What the server offers, as it lists it."""
        tools: list[dict[str, Any]] = []
        timeout_s = patient(timeout_s)
        deadline, cursor = time.monotonic() + timeout_s, None
        while True:  # a server may spread its list over pages
            id_ = self._ask("tools/list", {} if cursor is None else {"cursor": cursor}, timeout_s)
            page = self.result(id_, "tools/list", deadline)
            listed = page.get("tools")
            tools += [as_object(tool) for tool in (listed if isinstance(listed, list) else [])]
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

    def result(self, id_: RequestId, what: str, deadline: float) -> dict[str, Any]:
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
            message = parsed(line)
        except ValueError as error:
            if self.skips_noise:
                return
            raise Lost(f"waiting for {what}, what came is not JSON: {line[:200]!r}") from error
        if not isinstance(message, dict):
            raise Lost(f"waiting for {what}, what came is no message: {line[:200]!r}")
        if "method" not in message:
            with self._news:
                if type(id_ := message.get("id")) in (int, str) and id_ in self._asked:
                    self._asked.discard(id_)
                    self._answers[id_] = message
        elif "id" in message:
            refusal = {"code": METHOD_NOT_FOUND, "message": "this client only calls tools"}
            answer = {"result": {}} if message["method"] == "ping" else {"error": refusal}
            self.child.write_line(json.dumps({"jsonrpc": "2.0", "id": message["id"], **answer}).encode())


def as_object(value: Any) -> dict[str, Any]:
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
