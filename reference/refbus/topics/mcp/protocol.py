"""MCP, as much of it as a server of tools needs: JSON-RPC 2.0, one object a line.

Both eras of the protocol are spoken. Up to 2025-11-25 a connection begins with `initialize`; from 2026-07-28 on every
request says its version in `_meta`, and every result says who answers. Source: modelcontextprotocol.io, specification.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from refbus.kernel.errors import INTERNAL_SAYS
from refbus.kernel.lines import LINE_BYTES_MAX

HANDSHAKE_VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
ENVELOPE_VERSIONS = ("2026-07-28",)
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
SERVER_KEY = "io.modelcontextprotocol/serverInfo"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
UNSUPPORTED_VERSION = -32022

logger = logging.getLogger(__name__)

Params = dict[str, Any]


class Failure(Exception):
    """A request that is answered with an error of the protocol."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message} | ({} if data is None else {"data": data})


class Request:
    """A request under way. Its caller may go: by a cancellation, or by the end of the connection."""

    def __init__(self) -> None:
        self.is_gone = False
        self.waits = False  # for something that may never come
        self.is_last = False  # nobody will ask for more: it is answered, and does not begin to wait
        self.woken = asyncio.Event()  # set when the caller goes, or by the one that the handler asks
        self.is_over = asyncio.Event()

    def leave(self) -> None:
        """The caller has gone: there will be no answer."""
        self.is_gone = True
        self.woken.set()

    def finish(self) -> None:
        """No more lines will come: the caller of a request that waits has gone, any other one wants its answer."""
        if self.waits:
            self.leave()
        self.is_last = True


Handler = Callable[[Params, Request], Awaitable[dict[str, Any]]]


class Connection:
    """Takes lines, and calls the handlers by method. Requests run side by side; each is answered when it is done."""

    def __init__(
        self, handlers: Mapping[str, Handler], server: Mapping[str, Any], send: Callable[[bytes], None]
    ) -> None:
        self._handlers, self._server, self._send = handlers, server, send
        self._requests: dict[str | int, Request] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def receive(self, line: bytes) -> None:
        """One line of the client."""
        if len(line) > LINE_BYTES_MAX:
            return self._refuse(PARSE_ERROR, f"a line may have {LINE_BYTES_MAX} bytes")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError) as error:
            return self._refuse(PARSE_ERROR, f"the line is no JSON: {error!s:.200}")
        # A batch, which version 2025-03-26 lets a client send: each message in it is answered by itself.
        for member in message if type(message) is list and message else [message]:
            self._take(member)
        return None

    def _take(self, message: Any) -> None:
        """One message."""
        if type(message) is not dict:
            return self._refuse(INVALID_REQUEST, "a message is an object")
        method, params = message.get("method"), message.get("params")
        params = params if type(params) is dict else {}
        if method is None:
            return None  # it answers a request, and we make none
        if type(method) is not str or type(message.get("id", 0)) not in (str, int):
            return self._refuse(INVALID_REQUEST, "method must be a string, id a string or a whole number")
        if "id" in message:
            return self._begin(message["id"], method, params)
        if method == "notifications/cancelled":
            return self._cancel(params.get("requestId"))
        return None

    async def close(self, *, is_read: bool = False) -> None:
        """The client sends no more; does it still read? Returns when every request is over."""
        for request in self._requests.values():
            request.finish() if is_read else request.leave()
        await asyncio.gather(*self._tasks)

    def _begin(self, id_: str | int, method: str, params: Params) -> None:
        request = self._requests[id_] = Request()
        task = asyncio.create_task(self._run(id_, method, params, request))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _cancel(self, id_: object) -> None:
        request = self._requests.get(id_) if isinstance(id_, str | int) else None
        if request is not None:
            request.leave()

    def _refuse(self, code: int, message: str) -> None:
        self._answer(None, error=Failure(code, message).error)

    async def _run(self, id_: str | int, method: str, params: Params, request: Request) -> None:
        answer: dict[str, Any]
        try:
            answer = {"result": await self._result(method, params, request)}
        except Failure as failure:
            answer = {"error": failure.error}
        except Exception:
            logger.exception("%s failed", method)
            answer = {"error": Failure(INTERNAL, INTERNAL_SAYS).error}
        finally:
            request.is_over.set()
            if self._requests.get(id_) is request:
                del self._requests[id_]
        if not request.is_gone:
            self._answer(id_, **answer)

    async def _result(self, method: str, params: Params, request: Request) -> dict[str, Any]:
        meta = params.get("_meta")
        version = meta.get(VERSION_KEY) if type(meta) is dict else None
        if version is not None and version not in ENVELOPE_VERSIONS:
            supported = {"supported": list(ENVELOPE_VERSIONS), "requested": version}
            raise Failure(UNSUPPORTED_VERSION, f"protocol version {version!r:.40} is not served", supported)
        handler = self._handlers.get(method)
        if handler is None:
            raise Failure(METHOD_NOT_FOUND, f"no method is named {method!r:.80}")
        result = await handler(params, request)
        if version is None:
            return result
        fresh = {} if method == "tools/call" else {"ttlMs": 0, "cacheScope": "private"}
        return {**result, **fresh, "resultType": "complete", "_meta": {SERVER_KEY: self._server}}

    def _answer(self, id_: str | int | None, **answer: Any) -> None:
        try:
            line = _encode({"jsonrpc": "2.0", "id": id_, **answer})
        except Exception:  # a caller that is told nothing waits for ever
            logger.exception("an answer is no JSON")
            line = _encode({"jsonrpc": "2.0", "id": id_, "error": Failure(INTERNAL, INTERNAL_SAYS).error})
        self._send(line)


def handshake_version(asked: object) -> str:
    """The version that an `initialize` is answered with: the one asked for, or the latest that we know."""
    return asked if type(asked) is str and asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[-1]


def _encode(message: dict[str, Any]) -> bytes:
    try:
        return json.dumps(message, allow_nan=False, default=_text).encode() + b"\n"
    except ValueError:  # a number that another program stored and JSON cannot say
        return _encode(json.loads(json.dumps(message, default=_text), parse_constant=lambda _: None))


def _text(value: object) -> str:
    """The text of a BLOB that another program stored where a text belongs."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    raise TypeError(f"{type(value).__name__} is no JSON")
