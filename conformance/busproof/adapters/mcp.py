"""`mcp:CMD…`: any MCP server over stdio whose tools are the methods of `topics`. No adapter is needed.

The client is the official SDK's. A server knows its database from AGENT_BUS_DB, so a session that is opened on
another store is another process; on the same store it stays. What the protocol's `hello` would say is seen from
outside: nouns by the tools, the feature `sqlite` by the tables that the server makes.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sqlite3
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as FutureTimeoutError
from functools import partial
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import CONNECTION_CLOSED, CallToolResult, TextContent

from busproof.adapters.base import Lost, Refused
from busproof.protocol import INVALID_PARAMS, METHOD_NOT_FOUND
from busproof.protocol.topics import DB_NAME, TOOL_NOUNS, TOPICS_ERROR_CODES, TOPICS_METHODS

START_S = 60.0
SEED_TABLES = {"meta", "topics", "topic_seq", "messages", "cursors", "agent_name_reservations"}


class McpDoor:
    """One server process at a time, and a client of it. Threads may call side by side."""

    def __init__(self, argv: list[str], env: dict[str, str] | None = None) -> None:
        self.argv, self._env = argv, env or {}
        self.store: Path | None = None
        self.text = ""  # what a person, or a model without structured content, read of the last answer
        self._portal: BlockingPortal | None = None
        self._ends = contextlib.ExitStack()
        self._folder = tempfile.TemporaryDirectory(prefix="busproof-mcp-")
        self._stderr = Path(self._folder.name) / "stderr"
        self._pid: int | None = None

    @property
    def stderr(self) -> str:
        """The last 50 lines that the server wrote to stderr."""
        with contextlib.suppress(OSError):
            return "\n".join(self._stderr.read_text(errors="replace").splitlines()[-50:])
        return ""

    @property
    def pid(self) -> int | None:
        """The server's process id, which is its process group's too."""
        return self._pid

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """A tool, or one of the protocol's methods that bind a session to a store."""
        match method:
            case "hello":
                return self._hello()
            case "open":
                self._open(Path(params["store"]))
                return {}
            case "close":
                return {}
            case "tools.list":
                return {"tools": [tool.model_dump(mode="json", by_alias=True) for tool in self._tools()]}
            case _ if method not in TOPICS_METHODS:
                raise Refused("METHOD_NOT_FOUND", f"no tool is {method}", definite=True, rpc=METHOD_NOT_FOUND)
        return self._tool(method, params, timeout_s)

    def cancelled(self, method: str, params: dict[str, Any], after_s: float) -> bool:
        """Call, and cancel after so long, as a user who presses Escape. False if the answer came before."""
        assert self._portal is not None
        future = self._portal.start_task_soon(self._client.call_tool, method, params)
        with contextlib.suppress(FutureTimeoutError):
            future.result(after_s)
            return False
        future.cancel()
        return True

    def disconnect(self) -> None:
        """Close the connection whatever is under way; the server sees the end of its stdin."""
        self._stop()

    def kill(self) -> None:
        """SIGKILL to the server's process group."""
        if self._pid is not None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._pid, signal.SIGKILL)
        self._stop()
        self._folder.cleanup()

    def close(self) -> None:
        """EOF, a grace, then the SDK kills."""
        self._stop()
        self._folder.cleanup()

    # -- one process

    def _open(self, store: Path) -> None:
        if store == self.store:
            return
        self._stop()
        self._start(store / DB_NAME)
        self.store = store

    def _start(self, database: Path) -> None:
        pid_file = Path(self._folder.name) / "pid"
        pid_file.unlink(missing_ok=True)
        environment = {**os.environ, "AGENT_BUS_EMBEDDINGS_AUTOINDEX": "0", **self._env, "AGENT_BUS_DB": str(database)}
        # The SDK keeps the process to itself, and we must be able to kill it: the shell says who it becomes.
        argv = ["-c", 'echo $$ > "$0"; exec "$@"', str(pid_file), *self.argv]
        server = StdioServerParameters(command="/bin/sh", args=argv, env=environment)
        try:
            log = self._ends.enter_context(self._stderr.open("a", encoding="utf-8"))
            self._portal = self._ends.enter_context(start_blocking_portal())
            self._client = Client(stdio_client(server, errlog=log), cache=None)
            connecting = self._portal.wrap_async_context_manager(self._client)
            self._ends.enter_context(connecting)
            self._pid = int(pid_file.read_text())
        except Exception as error:
            self._stop()
            raise Lost(f"no MCP session with {self.argv}: {_short(error)}; {self.stderr[-500:]}") from error

    def _stop(self) -> None:
        self.store = None
        with contextlib.suppress(Exception, CancelledError):
            self._ends.close()
        self._portal = self._pid = None

    # -- calls

    def _tool(self, name: str, params: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        if self._portal is None:
            raise Lost("there is no server process")
        future = self._portal.start_task_soon(self._client.call_tool, name, params)
        try:
            result = future.result(timeout_s)
        except FutureTimeoutError:
            future.cancel()
            raise Lost(f"no answer to {name} in {timeout_s:g} s") from None
        except MCPError as error:
            code = error.error.code
            # The SDK's own word for it, under a number that servers use, too.
            if code == CONNECTION_CLOSED and error.error.message == "Connection closed":
                raise Lost(f"the server ended before it answered {name}; {self.stderr[-300:]}") from error
            definite = code in (METHOD_NOT_FOUND, INVALID_PARAMS)
            raise Refused(str(code), error.error.message, definite=definite, rpc=code) from error
        except (Exception, CancelledError) as error:
            raise Lost(f"{name}: {_short(error)}; {self.stderr[-300:]}") from error
        return self._reply(name, result)

    def _reply(self, name: str, result: CallToolResult) -> dict[str, Any]:
        self.text = "\n".join(part.text for part in result.content if isinstance(part, TextContent))
        structured = result.structured_content
        if result.is_error:
            told = (structured or {}).get("error") or {}
            code = str(told.get("code", "UNSTRUCTURED"))
            message = str(told.get("message", self.text))
            raise Refused(code, message, definite=TOPICS_ERROR_CODES.get(code, False))
        if not isinstance(structured, dict):
            raise Lost(f"the answer to {name} has no structured content: {self.text[:200]!r}")
        return structured

    def _tools(self) -> list[Any]:
        assert self._portal is not None
        page = self._portal.call(self._client.list_tools)
        tools = list(page.tools)
        while page.next_cursor:  # a server may spread its list over pages
            page = self._portal.call(partial(self._client.list_tools, cursor=page.next_cursor))
            tools += page.tools
        return tools

    # -- hello, from outside

    def _hello(self) -> dict[str, Any]:
        with tempfile.TemporaryDirectory(prefix="busproof-hello-") as folder:
            self._open(Path(folder))
            known = {tool.name for tool in self._tools()}
            info = self._client.server_info
            with contextlib.suppress(Refused):
                self._tool("topic_create", {"name": "hello"}, START_S)
            # Many servers leave the handshake's version to their SDK, which says its own; ping says the package's.
            version = info.version if info else "?"
            with contextlib.suppress(Refused):
                version = str(self._tool("ping", {}, START_S).get("package_version", version))
            features = ["sqlite"] if _tables(Path(folder) / DB_NAME) >= SEED_TABLES else []
            self._stop()
        return {
            "protocol": "1",
            "name": info.name if info else "?",
            "version": version,
            "language": "?",
            "systems": ["topics"],
            "clock": "wall",
            "durability": "process-crash",
            "nouns": list(dict.fromkeys(noun for tool, noun in TOOL_NOUNS if tool in known)),
            "features": features,
        }


def _tables(path: Path) -> set[str]:
    if not path.exists():
        return set()
    deadline = time.monotonic() + 5
    while True:
        try:
            with contextlib.closing(sqlite3.connect(path, timeout=5)) as connection:
                return set(_names(connection))
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                return set()


def _names(connection: sqlite3.Connection) -> Iterator[str]:
    for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'"):
        yield name


def _short(error: BaseException) -> str:
    """The innermost of a group."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:400]
