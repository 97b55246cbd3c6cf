"""The MCP server: the ten tools over stdio. One process is one agent's session; all meet in one SQLite file.

    AGENT_BUS_DB=/path/to/bus.sqlite python -m refbus.topics.mcp.server

Every call of the bus runs in one of the server's threads, and a sync that waits is in none: it sleeps in the event
loop until the notifier wakes it. So a ping is answered at once, whatever else goes on. A sync that is cancelled, or
whose client closes the connection, consumes nothing: what its last transaction may have consumed by then is given
back (B3). From then on it is answered, come what may.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from functools import partial
from typing import Any, Self

import anyio
import anyio.lowlevel
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ListToolsResult,
    PaginatedRequestParams,
    TextContent,
    Tool,
    ToolAnnotations,
)

from refbus import __version__
from refbus.kernel.errors import BusError, Internal, InvalidArgument
from refbus.topics import environment
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall, Synced
from refbus.topics.mcp import text
from refbus.topics.mcp.threads import Threads
from refbus.topics.mcp.tools import INSTRUCTIONS, TOOLS

THREADS = 4

logger = logging.getLogger(__name__)


class Session:
    """The tools of one connection, on one bus."""

    def __init__(self, bus: TopicsBus) -> None:
        self.bus = bus
        self.threads = Threads(THREADS)
        # One sync of the session takes at a time, so that what one gives back the next one sees.
        self.taking = anyio.Lock()

    async def list_tools(self, _context: Any, _params: PaginatedRequestParams | None) -> ListToolsResult:
        """All ten, on one page."""
        return ListToolsResult(
            tools=[
                Tool(name=name, **tool | {"annotations": ToolAnnotations(**tool["annotations"])})
                for name, tool in TOOLS.items()
            ]
        )

    async def call_tool(self, _context: Any, params: CallToolRequestParams) -> CallToolResult:
        """Structured content and the same in words; an error is both, too, with isError."""
        if params.name not in TOOLS:
            raise MCPError(INVALID_PARAMS, f"no tool is named {params.name!r:.80}")
        try:
            reply = await self._answer(params.name, _bound(params.name, params.arguments or {}))
        except BusError as error:
            return error_result(error.code, str(error))
        except Exception as error:
            logger.exception("%s failed", params.name)
            return error_result(Internal.code, f"{type(error).__name__}: {error}")
        return CallToolResult(content=[TextContent(text=text.of(params.name, reply))], structured_content=reply)

    async def _answer(self, tool: str, arguments: dict[str, Any]) -> Any:
        if tool == "ping":
            return self.bus.ping()
        if tool == "sync":
            return await self.sync(arguments)
        return await self.threads.run(partial(getattr(self.bus, tool), **arguments))

    async def sync(self, arguments: dict[str, Any]) -> Synced:
        """A sync that waits in the event loop. Errors: those of the bus."""
        async with self.taking:
            call = await self.threads.run(partial(self.bus.begin_sync, **arguments))
            await self._give_back_if_gone(call)
        try:
            while not call.is_done:
                await self._wait_for_news(call)
                async with self.taking:
                    await self.threads.run(call.receive)
                    await self._give_back_if_gone(call)
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                async with self.taking:
                    await self._give_back(call)
            raise
        return call.reply

    async def _give_back_if_gone(self, call: SyncCall) -> None:
        """A thread is not interrupted: whether the caller went meanwhile shows here."""
        try:
            await anyio.lowlevel.checkpoint_if_cancelled()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                await self._give_back(call)
            raise

    async def _wait_for_news(self, call: SyncCall) -> None:
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        with self.bus.notifier.subscribed(wake, call.sees_news):
            if not await self.threads.run(call.has_news):
                with anyio.move_on_after(call.left_s):
                    await woken.wait()

    async def _give_back(self, call: SyncCall) -> None:
        try:
            await self.threads.run(call.give_back)
        except BusError as error:
            logger.warning("a cancelled sync has consumed messages: %s", error)


def _bound(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments, if the tool takes them. Null is how many models say "not given"."""
    given = {name: value for name, value in arguments.items() if value is not None}
    known = TOOLS[tool]["input_schema"]["properties"]
    unknown = ", ".join(sorted(given.keys() - known.keys()))
    if unknown:
        raise InvalidArgument(f"{tool} takes no {unknown:.200}; it takes {', '.join(known) or 'nothing'}")
    missing = ", ".join(name for name in TOOLS[tool]["input_schema"]["required"] if name not in given)
    if missing:
        raise InvalidArgument(f"{tool} needs {missing}")
    return given


def error_result(code: str, message: str) -> CallToolResult:
    """An error in both forms: structured, and in words."""
    structured = {"error": {"code": code, "message": message}}
    return CallToolResult(content=[TextContent(text=message)], structured_content=structured, is_error=True)


def make_server(bus: TopicsBus) -> Server[Any]:
    """A server for one session on the bus."""
    session = Session(bus)
    return Server(
        "refbus-topics",
        version=__version__,
        title="Agent bus",
        instructions=INSTRUCTIONS,
        on_list_tools=session.list_tools,
        on_call_tool=session.call_tool,
    )


class Answers:
    """The way out. An answer that waits here for its turn is not dropped when the connection closes: what it consumed
    would never be seen."""

    def __init__(self, writing: Any) -> None:
        self._writing = writing

    async def send(self, message: SessionMessage, /) -> None:
        """Whoever is cancelled meanwhile."""
        with anyio.CancelScope(shield=True):
            await self._writing.send(message)

    async def aclose(self) -> None:
        """No more answers."""
        await self._writing.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


async def serve(bus: TopicsBus) -> None:
    """Answer on stdin and stdout until the client closes them."""
    server = make_server(bus)
    async with stdio_server() as (reading, writing):
        await server.run(reading, Answers(writing), server.create_initialization_options())


def run(bus: TopicsBus) -> None:
    """Serve until the client closes the connection."""
    # The thread that reads stdin cannot be interrupted. A server may be killed at any point, so Ctrl-C does that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(serve, bus)


def main(bus_class: type[TopicsBus] = TopicsBus) -> int:
    """Serve on the database that the environment names. Exit code 1 if there can be none."""
    try:
        with bus_class(environment.database(), embedding_model=environment.embedding_model()) as bus:
            run(bus)
    except (BusError, OSError) as error:
        print(f"refbus: {error!r}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
