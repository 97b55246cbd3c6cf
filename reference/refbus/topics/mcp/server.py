"""The MCP server: the ten tools over stdio. One process is one agent's session; all meet in one SQLite file.

    AGENT_BUS_DB=/path/to/bus.sqlite python -m refbus.topics.mcp.server

Every call of the bus runs in one of the server's threads, and a sync that waits is in none: it sleeps in the event
loop until the notifier wakes it. So a ping is answered at once, whatever else goes on. All other calls take their turns
in the order of their lines. A sync that is cancelled, or whose client closes the connection while it waits, consumes
nothing: messages that its last transaction consumed by then are given back (B3), and the next sync sees them. From then
on it is answered, come what may.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
import signal
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar

from refbus import __version__
from refbus.kernel.errors import INTERNAL_SAYS, BusError, Internal, InvalidArgument
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall, Synced
from refbus.topics.mcp import text
from refbus.topics.mcp.protocol import (
    ENVELOPE_VERSIONS,
    INVALID_PARAMS,
    INVALID_REQUEST,
    Connection,
    Failure,
    Handler,
    Params,
    Request,
    handshake_version,
)
from refbus.topics.mcp.tools import INSTRUCTIONS, TOOLS
from refbus.topics.mcp.wire import Wire
from refbus.topics.store import database, embedding_model

THREADS = 4
SERVER = {"name": "refbus-topics", "title": "Agent bus", "version": __version__}
CAPABILITIES = {"tools": {"listChanged": False}}

logger = logging.getLogger(__name__)
Result = TypeVar("Result")


class Threads:
    """Do a server's calls and nothing else, so that each finds the connection that it used before.

    So many at most. Calls that come one after the other all run in the same.
    """

    def __init__(self, count: int) -> None:
        self._limit = asyncio.Semaphore(count)
        self._idle: list[ThreadPoolExecutor] = []

    async def run(self, function: Callable[[], Result]) -> Result:
        """The result of the function. Nobody can interrupt a thread."""
        async with self._limit:
            thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1)
            try:
                return await asyncio.get_running_loop().run_in_executor(thread, function)
            finally:
                self._idle.append(thread)


class Session:
    """The tools of one connection, on one bus."""

    def __init__(self, bus: TopicsBus) -> None:
        self.bus = bus
        self.threads = Threads(THREADS)
        # One call at a time: a sync sees what an earlier one gives back, and the join of the line before.
        self.taking = asyncio.Lock()
        self.syncs: set[Request] = set()

    @property
    def handlers(self) -> dict[str, Handler]:
        """By method of the protocol."""
        return {
            "initialize": self.initialize,
            "server/discover": self.discover,
            "ping": self.ping,
            "tools/list": self.list_tools,
            "tools/call": self.call_tool,
        }

    async def initialize(self, params: Params, _request: Request) -> dict[str, Any]:
        """Our identity, in the version that is asked for."""
        version = handshake_version(params.get("protocolVersion"))
        description = {"capabilities": CAPABILITIES, "serverInfo": SERVER, "instructions": INSTRUCTIONS}
        return {"protocolVersion": version, **description}

    async def discover(self, _params: Params, _request: Request) -> dict[str, Any]:
        """The same, for clients that do not shake hands."""
        return {
            "supportedVersions": list(ENVELOPE_VERSIONS),
            "capabilities": CAPABILITIES,
            "instructions": INSTRUCTIONS,
        }

    async def ping(self, _params: Params, _request: Request) -> dict[str, Any]:
        """The protocol's own."""
        return {}

    async def list_tools(self, _params: Params, _request: Request) -> dict[str, Any]:
        """All ten, on one page."""
        return {"tools": [_described(name, tool) for name, tool in TOOLS.items()]}

    async def call_tool(self, params: Params, request: Request) -> dict[str, Any]:
        """Structured content and the same in words; an error is both, too, with isError."""
        name, arguments = params.get("name"), params.get("arguments")
        if type(name) is not str or name not in TOOLS:
            raise Failure(INVALID_PARAMS, f"no tool is named {name!r:.80}")
        if type(arguments) not in (dict, type(None)):
            raise Failure(INVALID_PARAMS, "arguments must be an object")
        try:
            reply = await self._answer(name, _bound(name, arguments or {}), request)
            return _result(text.of(name, reply), reply, is_error=False)
        except BusError as error:
            return error_result(error.code, str(error))
        except Failure:
            raise
        except Exception:
            logger.exception("%s failed", name)
            return error_result(Internal.code, INTERNAL_SAYS)

    async def _answer(self, tool: str, arguments: Params, request: Request) -> Any:
        if tool == "ping":
            return self.bus.ping()
        if tool == "sync":
            return await self.sync(arguments, request)
        async with self.taking:
            return await self.threads.run(partial(getattr(self.bus, tool), **arguments))

    async def sync(self, arguments: Params, request: Request) -> Synced:
        """A sync that waits in the event loop. Errors: those of the bus."""
        for gone in [earlier for earlier in self.syncs if earlier.is_gone]:
            await gone.is_over.wait()
        self.syncs.add(request)
        try:
            async with self.taking:
                if request.is_gone:
                    raise Failure(INVALID_REQUEST, "the caller has gone")
                call = await self.threads.run(partial(self.bus.begin_sync, **arguments))
                await self._give_back_if_gone(call, request)
            while not call.is_done and not request.is_gone and not request.is_last:
                request.waits = True
                await self._wait_for_news(call, request)
                async with self.taking:
                    if not request.is_gone:
                        await self.threads.run(call.receive)
                    await self._give_back_if_gone(call, request)
            return call.reply
        finally:
            self.syncs.discard(request)

    async def _wait_for_news(self, call: SyncCall, request: Request) -> None:
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(request.woken.set)

        if not request.is_gone:
            request.woken.clear()
            with self.bus.notifier.subscribed(wake, call.sees_news):
                if not await self.threads.run(call.has_news):
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(request.woken.wait(), call.left_s)

    async def _give_back_if_gone(self, call: SyncCall, request: Request) -> None:
        """A thread is not interrupted: whether the caller went meanwhile shows here."""
        if request.is_gone:
            try:
                await self.threads.run(call.give_back)
            except BusError as error:
                logger.warning("a cancelled sync has consumed messages: %s", error)


def _described(name: str, tool: dict[str, Any]) -> dict[str, Any]:
    """A tool as the protocol spells it."""
    spelt = {"name": name, **_camel(tool), "annotations": _camel(tool["annotations"])}
    return {key: value for key, value in spelt.items() if value is not None}


def _camel(words: dict[str, Any]) -> dict[str, Any]:
    """input_schema is inputSchema."""
    return {re.sub("_(.)", lambda match: match[1].upper(), word): value for word, value in words.items()}


def _bound(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, if the tool takes them. Null is how many models say "not given"."""
    given = {name: value for name, value in arguments.items() if value is not None}
    known = TOOLS[tool]["input_schema"]["properties"]
    unknown = sorted(given.keys() - known.keys())
    if unknown:
        raise InvalidArgument(
            f"{tool} takes no {', '.join(unknown) or 'empty name':.200}; it takes {', '.join(known) or 'nothing'}"
        )
    missing = ", ".join(name for name in TOOLS[tool]["input_schema"]["required"] if name not in given)
    if missing:
        raise InvalidArgument(f"{tool} needs {missing}")
    return given


def error_result(code: str, message: str) -> dict[str, Any]:
    """An error in both forms: structured, and in words."""
    return _result(f"{code}: {message}", {"error": {"code": code, "message": message}}, is_error=True)


def _result(words: str, structured: dict[str, Any], *, is_error: bool) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": words}], "structuredContent": structured, "isError": is_error}


async def serve(bus: TopicsBus, wire: Wire) -> None:
    """Answer until the client closes the connection."""
    connection = Connection(Session(bus).handlers, SERVER, wire.send)
    async for line in wire.lines():
        connection.receive(line)
    await connection.close(is_read=wire.is_read())


def run(bus: TopicsBus) -> None:
    """Serve on stdin and stdout."""
    # The thread that reads stdin cannot be interrupted. A server may be killed at any point, so Ctrl-C does that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    wire = Wire()
    try:
        asyncio.run(serve(bus, wire))
    finally:
        wire.close()


def main(bus_class: type[TopicsBus] = TopicsBus) -> int:
    """Serve on the database that the environment names. Exit code 1 if there can be none."""
    try:
        with bus_class(database(), embedding_model=embedding_model()) as bus:
            run(bus)
    except (BusError, OSError) as error:
        print(f"refbus: {error!r}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
