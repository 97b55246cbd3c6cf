"""A server that all agents of a store share: who needs it first starts it, and it ends with the last that uses it.

The host is a process that listens on an abstract Unix socket, whose name is taken from the store: only one can have
it. The host stays in the process group of the adapter that started it, so a kill of that adapter kills the server; the
others lose their connection, and the next call starts the server again. Requests to an MCP server over stdio go through
the host, each answered by its id, as many at once as there are agents; an HTTP server is asked directly.

Where an agent is one live process, the host has an MCP server for each agent instead, started by the first request of
that agent. Such a host is in no group but its own: an adapter that is killed takes with it the servers of the agents
that it alone has asked as, and no other agent's.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TextIO

from busproof.bus.base import DoorError, Lost, Refused, patient
from busproof.bus.child import GRACE_S, kill_family
from busproof.bus.toml.mcp import StdioServer

LOOK_S = 0.02
GONE_S = 1.0
UNUSED_S = 30.0  # a host that nobody came to ends
BYE = "null"  # of a guest that goes by itself


@dataclass(frozen=True)
class Plan:
    """The server to start."""

    argv: list[str]
    cwd: str
    env: dict[str, str]
    is_mcp: bool  # over stdio; else the server listens on a port
    is_each: bool  # one for each agent, whose name stands for `$agent`
    ready: str
    start_s: float
    pause_s: float

    @property
    def address(self) -> str:
        """The name of the host's socket."""
        digest = hashlib.sha256(json.dumps([self.argv, self.cwd, os.getuid()]).encode()).hexdigest()
        return f"\0busproof-{digest[:40]}"


class Guest:
    """An adapter's connection to the host."""

    def __init__(self, plan: Plan) -> None:
        if not hasattr(socket, "SO_PEERCRED"):
            raise Lost("a server that sessions share needs Linux: run it in a container, or map its command line")
        self._start_s = plan.start_s if plan.is_each else 0.0
        deadline = time.monotonic() + patient(plan.start_s)
        host: subprocess.Popen[bytes] | None = None
        while time.monotonic() < deadline:
            self._socket = socket.socket(socket.AF_UNIX)
            try:
                self._connect(plan, deadline)
            except ConnectionRefusedError:
                if host is None or host.poll() is not None:  # or another adapter's host was first, and has ended
                    host = _start_host(plan)
            except (OSError, ValueError):  # the host is just ending
                pass
            else:
                return
            self._socket.close()
            time.sleep(LOOK_S)
        raise Lost(f"{plan.argv[0]} was not ready in {patient(plan.start_s):g} s")

    def _connect(self, plan: Plan, deadline: float) -> None:
        self._socket.connect(plan.address)
        self._socket.settimeout(max(LOOK_S, deadline - time.monotonic()))
        self._lines: TextIO = self._socket.makefile("rw", encoding="utf-8", newline="\n")
        greeting = json.loads(self._lines.readline())
        if "error" in greeting:
            raise Lost(greeting["error"])
        self.port: int = greeting["port"]
        self.note: str = greeting["note"]

    def request(self, method: str, params: dict[str, Any], timeout_s: float, agent: str) -> dict[str, Any]:
        """Ask the MCP server behind the host, as this agent."""
        asked = {"method": method, "params": params, "timeout_s": timeout_s, "agent": agent}
        try:
            self._socket.settimeout(self._start_s + timeout_s + 5)
            self._lines.write(json.dumps(asked) + "\n")
            self._lines.flush()
            reply = json.loads(self._lines.readline())
        except (OSError, ValueError) as error:
            raise Lost(f"the shared server is gone: {error}") from error
        if "lost" in reply:
            raise Lost(reply["lost"])
        if "refused" in reply:
            raise Refused("REFUSED", reply["refused"], definite=reply["definite"], rpc=reply["rpc"])
        return dict(reply["result"])

    def is_there(self) -> bool:
        """Is the connection up?"""
        with contextlib.suppress(OSError):
            self._socket.settimeout(0)
            try:
                return self._socket.recv(1, socket.MSG_PEEK) != b""
            except BlockingIOError:
                return True
        return False

    def is_gone(self) -> bool:
        """Has the host ended? One that is killed ends within moments of its server."""
        deadline = time.monotonic() + GONE_S
        while self.is_there() and time.monotonic() < deadline:
            time.sleep(LOOK_S)
        return not self.is_there()

    def leave(self) -> None:
        """Go; the last waits until the server has ended."""
        with contextlib.suppress(OSError):
            self._socket.settimeout(GRACE_S + 1)
            self._lines.write(BYE + "\n")
            self._lines.flush()
            self._lines.readline()
            self._socket.shutdown(socket.SHUT_WR)
            self._lines.read()
        self._socket.close()


def _start_host(plan: Plan) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", __name__, json.dumps(asdict(plan))],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=plan.is_each,
    )


# -- the host's process


@dataclass(frozen=True)
class _Mcp:
    """An MCP server over stdio that has begun its session. `turn`: where it takes one request at a time, its lock."""

    mcp: StdioServer
    turn: contextlib.AbstractContextManager[Any]
    note: str = ""

    @classmethod
    def started(cls, plan: Plan, port: int, agent: str) -> _Mcp:
        """Start it; raises Lost."""
        mcp = StdioServer(*_filled(plan, port, agent), plan.cwd)
        mcp.begin_session(plan.start_s, plan.pause_s)
        if mcp.takes_two():
            return cls(mcp, contextlib.nullcontext())
        return cls(mcp, threading.Lock(), "the server does not take two requests at once: each waits its turn")


def _filled(plan: Plan, port: int, agent: str = "") -> tuple[list[str], dict[str, str]]:
    """Its command and its environment, with what is known only now."""

    def fill(word: str) -> str:
        return word.replace("$port", str(port)).replace("$agent", agent)

    return [*map(fill, plan.argv)], {name: fill(word) for name, word in plan.env.items()}


class Host:
    """The server and its guests."""

    def __init__(self, plan: Plan) -> None:
        self._plan, self._port = plan, _free_port()
        self._guests: dict[socket.socket, set[str]] = {}  # and the agents as which each has asked
        self._lock, self._starting = threading.Lock(), threading.Lock()
        self._came, self._ended = threading.Event(), threading.Event()
        self._greeting = threading.Event()
        self._hello: dict[str, Any] = {}
        self._servers: dict[str, _Mcp] = {}  # by agent, or one for all
        self._process: subprocess.Popen[bytes] | None = None

    def serve(self) -> None:
        """Until the last guest has gone. A second host of the store ends at once."""
        listening = socket.socket(socket.AF_UNIX)
        try:
            listening.bind(self._plan.address)
        except OSError:
            return
        listening.listen(64)
        threading.Thread(target=self._start, daemon=True).start()
        threading.Thread(target=self._let_in, args=(listening,), daemon=True).start()
        if self._came.wait(UNUSED_S):
            self._ended.wait()
        self._end()

    def _start(self) -> None:
        plan = self._plan
        try:
            if not plan.is_mcp:
                self._start_http()
            note = self._server("").note if plan.is_mcp and not plan.is_each else ""
            self._hello = {"port": self._port, "note": note}
        except (DoorError, OSError) as error:
            self._hello = {"error": str(error)}
        self._greeting.set()

    def _server(self, agent: str) -> _Mcp:
        """The MCP server of this agent, or of all, started if it does not run."""
        with self._starting:
            server = self._servers.get(agent)
            if server is None or (self._plan.is_each and server.mcp.child.has_ended):
                server = self._servers[agent] = _Mcp.started(self._plan, self._port, agent)
        return server

    def _start_http(self) -> None:
        argv, env = _filled(self._plan, self._port)
        with tempfile.TemporaryFile() as words:
            self._process = subprocess.Popen(
                argv, cwd=self._plan.cwd, env=env, stdin=subprocess.DEVNULL, stdout=words, stderr=words
            )
            try:
                _wait_for(self._port, self._plan, self._process)
            except Lost as error:
                words.seek(0)
                raise Lost(f"{error}: {words.read()[-400:].decode(errors='replace')}") from error
        time.sleep(self._plan.pause_s)

    def _let_in(self, listening: socket.socket) -> None:
        while True:
            guest, _ = listening.accept()
            _, uid, _ = struct.unpack("3i", guest.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            with self._lock:
                if self._ended.is_set() or uid != os.getuid():
                    guest.close()
                    continue
                self._guests[guest] = set()
                self._came.set()
            threading.Thread(target=self._serve, args=(guest,), daemon=True).start()
            if self._plan.is_each:
                threading.Thread(target=self._watch, args=(guest,), daemon=True).start()

    def _serve(self, guest: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError):
            lines = guest.makefile("rw", encoding="utf-8", newline="\n")
            self._greeting.wait()
            _write(lines, self._hello)
            for line in lines:
                if line.strip() == BYE:
                    self._guests[guest].clear()
                    _write(lines, {})
                else:
                    asked = json.loads(line)
                    self._guests[guest].add(asked["agent"])
                    _write(lines, self._answer(asked))
        if self._plan.is_each:
            self._bury()
        with self._lock:
            self._guests.pop(guest)
            if not self._guests:
                self._ended.set()
                self._last = guest  # stays open until the server has ended: its guest waits for that
                return
        guest.close()

    def _watch(self, guest: socket.socket) -> None:
        ends = select.poll()
        ends.register(guest, select.POLLRDHUP)
        ends.poll()
        self._bury()

    def _bury(self) -> None:
        """With guests that are gone and did not say goodbye go the agents that no other guest speaks for."""
        ends = select.poll()
        with self._lock:
            guests = {guest.fileno(): agents for guest, agents in self._guests.items()}
            for descriptor in guests:
                ends.register(descriptor, select.POLLRDHUP)
            gone = set().union(*(guests.pop(descriptor) for descriptor, _ in ends.poll(0)))
            for agent in (gone & self._servers.keys()).difference(*guests.values()):
                kill_family(self._servers.pop(agent).mcp.child.pid)

    def _answer(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        if self._plan.is_each:
            self._bury()
        try:
            server = self._server(asked["agent"] if self._plan.is_each else "")
            with server.turn:
                return {"result": server.mcp.request(asked["method"], asked["params"], asked["timeout_s"])}
        except Refused as error:
            return {"refused": error.message, "definite": error.definite, "rpc": error.rpc}
        except DoorError as error:
            if not self._plan.is_each and server.mcp.child.has_ended:
                self._ended.set()  # the next call starts another
            return {"lost": str(error)}

    def _end(self) -> None:
        for server in self._servers.values():
            server.mcp.leave(at_once=False)
        if self._process is not None:
            self._process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE_S)
            kill_family(self._process.pid)


def _write(lines: TextIO, reply: dict[str, Any]) -> None:
    lines.write(json.dumps(reply) + "\n")
    lines.flush()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def _wait_for(port: int, plan: Plan, process: subprocess.Popen[bytes]) -> None:
    """Until the server answers, or Lost."""
    deadline = time.monotonic() + patient(plan.start_s)
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise Lost(f"{plan.argv[0]} ended with status {process.returncode} before it was ready")
        with contextlib.suppress(OSError):
            if not plan.ready or _answers(port, plan.ready):
                with socket.create_connection(("127.0.0.1", port), timeout=1):
                    return
        time.sleep(LOOK_S)
    raise Lost(f"{plan.argv[0]} did not listen on port {port} within {patient(plan.start_s):g} s")


def _answers(port: int, path: str) -> bool:
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
    try:
        connection.request("GET", path)
        return connection.getresponse().status < 400
    except http.client.HTTPException:
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    Host(Plan(**json.loads(sys.argv[1]))).serve()
