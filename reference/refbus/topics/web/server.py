"""The web page: topics and their messages, live, for people. Nothing can be changed here.

One process, on the loopback interface alone; no build step. Pages are whole without scripts. With them, new messages
come as server-sent events: the fragments of HTML that the page was made of. Agents' words are shown as text.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import secrets
import signal
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any, TypedDict, TypeVar
from urllib.parse import urlencode

import uvicorn
from anyio import to_thread
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from refbus.kernel.errors import BusError, InvalidArgument, TopicNotFound
from refbus.topics.browse import Shown
from refbus.topics.bus import TopicsBus
from refbus.topics.web.render import PAGES, environment

T = TypeVar("T")

HOST = "127.0.0.1"
PAGE_MESSAGES = 100
PAGE_RESULTS = 50
RESULTS_MAX = 1000  # of one search
HERE_S = 900  # a peer that synced in the last quarter of an hour is shown as here
STILL_HERE_S = 15.0
# Nothing from elsewhere, and no script but the one file: agents' words cannot act in this page.
HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
}


class Filters(TypedDict):
    """The sender and type whose messages are shown; None for all."""

    sender: str | None
    message_type: str | None


class Pages:
    """The pages of one bus."""

    def __init__(self, bus: TopicsBus) -> None:
        self._bus = bus
        self._templates = environment()

    async def topics(self, _request: Request) -> Response:
        """All topics, the busiest lately first."""
        return await self._page("topics.html", topics=await _in_thread(self._bus.overview))

    async def topic_events(self, request: Request) -> Response:
        """The table of topics, anew whenever it changes."""
        return self._stream(self._tables())

    async def topic(self, request: Request) -> Response:
        """A hundred messages: the newest, or those from a number on; of one sender or type, if asked for."""
        (topic,) = await _in_thread(partial(self._bus.overview, request.path_params["topic_id"]))
        topic_id, filters = topic["topic_id"], _filters(request)
        after = _number("after", request.query_params.get("after"))
        messages = await self._some(topic_id, after, filters)
        shown = messages[-1].message["seq"] if messages else after or 0
        first = messages[0].message["seq"] if messages else 1
        newest = await self._some(topic_id, None, filters, some=1)
        return await self._page(
            "topic.html",
            topic=topic,
            messages=messages,
            shown=shown,
            earlier=max(0, first - 1 - PAGE_MESSAGES),
            has_earlier=first > 1,
            is_live=not newest or shown >= newest[-1].message["seq"],
            filters=filters,
            query_of=lambda **more: urlencode({k: v for k, v in {**filters, **more}.items() if v is not None}),
            voices=await _in_thread(partial(self._bus.voices, topic_id)),
            **await self._aside(topic_id),
        )

    async def message_events(self, request: Request) -> Response:
        """Every message after a number, as it comes. A browser that was cut off says where it was."""
        topic_id = request.path_params["topic_id"]
        await _in_thread(partial(self._bus.overview, topic_id))
        after_text = request.headers.get("last-event-id") or request.query_params.get("after")
        after, filters = _number("after", after_text) or 0, _filters(request)
        await self._some(topic_id, after, filters, some=1)  # a refusal has no stream: 400 comes before it begins
        return self._stream(self._messages(topic_id, after, filters))

    async def search(self, request: Request) -> Response:
        """Messages that match, fifty a page."""
        query = request.query_params.get("q", "").strip()
        start = min(_number("from", request.query_params.get("from")) or 0, RESULTS_MAX - PAGE_RESULTS)
        answer: dict[str, Any] = {"results": []}
        if query:
            mode = "hybrid" if self._bus.search.has_model() else "fts"
            limit = min(start + PAGE_RESULTS + 1, RESULTS_MAX)
            answer |= await _in_thread(partial(self._bus.messages_search, query, mode=mode, limit=limit))
        results = answer["results"][start:]
        return await self._page(
            "search.html",
            **answer | {"query": query, "results": results[:PAGE_RESULTS], "start": start},
            later=start + PAGE_RESULTS if len(results) > PAGE_RESULTS else None,
        )

    async def refused(self, _request: Request, error: Exception) -> Response:
        """An error of the bus as a page."""
        assert isinstance(error, BusError)
        status = 404 if isinstance(error, TopicNotFound) else 400 if isinstance(error, InvalidArgument) else 503
        return await self._page("error.html", status, error=error)

    async def _page(self, template: str, status: int = 200, **values: Any) -> Response:
        values = {"path": self._bus.store.path, "query": "", **values}
        return HTMLResponse(await self._rendered(template, **values), status, HEADERS)

    async def _rendered(self, template: str, **values: Any) -> str:
        """In a thread: a long page of Markdown must not hold the others."""
        return await _in_thread(partial(self._templates.get_template(template).render, values))

    def _stream(self, events: AsyncIterator[str]) -> Response:
        return StreamingResponse(events, media_type="text/event-stream", headers=HEADERS)

    async def _tables(self) -> AsyncIterator[str]:
        shown = ""
        async for _ in self._moments():
            table = await self._rendered("topics_table.html", topics=await _in_thread(self._bus.overview))
            yield ": still here\n\n" if table == shown else _event(table, "whole")
            shown = table

    async def _messages(self, topic_id: str, after: int, filters: Filters) -> AsyncIterator[str]:
        shown = ""
        with contextlib.suppress(TopicNotFound):  # deleted: the stream ends, and asking again is answered 404
            async for _ in self._moments():
                yield ": still here\n\n"
                while messages := await self._some(topic_id, after, filters):
                    for entry in messages:
                        after = entry.message["seq"]
                        yield _event(await self._rendered("message.html", one=entry), "message", after)
                aside = await self._rendered("aside.html", **await self._aside(topic_id))
                if aside != shown:
                    yield _event(aside, "aside")
                shown = aside

    async def _aside(self, topic_id: str) -> dict[str, Any]:
        """The peers that are here, and the questions that wait for an answer."""
        present = await _in_thread(partial(self._bus.topic_presence, topic_id, HERE_S, 50))
        return {"peers": present["peers"], "unanswered": await _in_thread(partial(self._bus.unanswered, topic_id))}

    async def _moments(self) -> AsyncIterator[None]:
        """Now, after every commit, and from time to time."""
        loop, woken = asyncio.get_running_loop(), asyncio.Event()

        def wake() -> None:
            loop.call_soon_threadsafe(woken.set)

        with self._bus.notifier.subscribed(wake):
            while not self._bus.notifier.is_closed:
                woken.clear()
                yield
                try:
                    await asyncio.wait_for(woken.wait(), STILL_HERE_S)
                except TimeoutError:
                    continue

    async def _some(self, topic_id: str, after: int | None, filters: Filters, some: int = PAGE_MESSAGES) -> list[Shown]:
        return await _in_thread(partial(self._bus.page, topic_id, after=after, limit=some, **filters))


class Token:
    """Lets in those who know the token: from the printed address at first, from a cookie after that."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token
        self._cookie = f"refbus_{token[:8]}"  # cookies of one host are shared by all its ports

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a stranger with 403, and the printed address with the cookie and the address without the token."""
        app = self._app
        if scope["type"] == "http":
            request = Request(scope)
            if self._is_right(request.query_params.get("token")):
                app = RedirectResponse(request.url.remove_query_params("token"), 303, HEADERS)
                app.set_cookie(self._cookie, self._token, httponly=True, samesite="strict")
            elif not self._is_right(request.cookies.get(self._cookie)):
                app = Response("Open the address that refbus printed: it holds a token.\n", 403, HEADERS)
        await app(scope, receive, send)

    def _is_right(self, given: str | None) -> bool:
        return given is not None and secrets.compare_digest(given.encode(), self._token.encode())


def make_app(bus: TopicsBus, token: str) -> Starlette:
    """The pages of a bus as an ASGI application. Other host names are refused: they would be somebody's trick."""
    pages = Pages(bus)
    return Starlette(
        routes=[
            Route("/", pages.topics),
            Route("/events", pages.topic_events),
            Route("/search", pages.search),
            Route("/topics/{topic_id}", pages.topic),
            Route("/topics/{topic_id}/events", pages.message_events),
            *(Route(f"/{name}", partial(_file, name)) for name in ("page.css", "page.js", "icon.svg")),
        ],
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"]),
            Middleware(Token, token=token),
        ],
        exception_handlers={BusError: pages.refused},
    )


def serve(bus: TopicsBus, port: int, announce: Callable[[str], None]) -> None:
    """Serve until interrupted; port 0 takes any free one. The address that is announced lets in, others do not."""
    token = secrets.token_hex(16)
    with listening_on(port) as listening:
        announce(f"http://{HOST}:{listening.getsockname()[1]}/?token={token}")
        config = uvicorn.Config(make_app(bus, token), log_level="warning", timeout_graceful_shutdown=1)
        with contextlib.suppress(KeyboardInterrupt):
            _Server(config, bus).run(sockets=[listening])


def listening_on(port: int) -> socket.socket:
    """The server's socket. Its connections send at once: else a head and its page would wait 40 ms for each other,
    since asyncio sees to that only for sockets that name their protocol, and these do not."""
    listening = socket.create_server((HOST, port))
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # accepted connections inherit it
    return listening


class _Server(uvicorn.Server):
    """Ends the streams of events before it waits for them: it would cancel them, each with a traceback."""

    def __init__(self, config: uvicorn.Config, bus: TopicsBus) -> None:
        super().__init__(config)
        self._bus = bus

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """From here on uvicorn heeds them: it ends, and raises then what it caught: of Ctrl-C an exception."""
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with super().capture_signals():
            yield

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Close the notifier, by which every stream ends, then as usual."""
        self._bus.notifier.close()
        await super().shutdown(sockets)


async def _file(name: str, _request: Request) -> Response:
    return FileResponse(PAGES / name, headers=HEADERS)


async def _in_thread(function: Callable[[], T]) -> T:
    return await to_thread.run_sync(function)


def _event(html: str, kind: str, event_id: int | None = None) -> str:
    """One server-sent event. JSON keeps the fragment on one line."""
    event = f"event: {kind}\ndata: {json.dumps(html)}\n\n"
    return event if event_id is None else f"id: {event_id}\n{event}"


def _number(what: str, text: str | None) -> int | None:
    """A whole number as an address or a browser says it; None where it is left out."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidArgument(f"{what} must be a number, not {text!a:.40}")
    return int(text)


def _filters(request: Request) -> Filters:
    """The part of a topic that is asked for: all, or one sender's messages, or those of one type."""
    asked = request.query_params
    return {"sender": asked.get("sender") or None, "message_type": asked.get("message_type") or None}
