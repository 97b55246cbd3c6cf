"""A connection to NATS for code that blocks: nats-py runs in a thread of its own, and each call waits for its answer.

Every caller waits for a server that is away; the connection comes back by itself. Every failure is UNREACHABLE, and not
definite: the server may have heard.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

import nats
from nats.aio.client import Client as Connection
from nats.aio.msg import Msg

from refbus.kernel.errors import InvalidArgument, Unreachable

Answer = TypeVar("Answer")

CONNECT_S = 3.0
RECONNECT_S = 0.05
SLACK_S = 5.0  # the thread itself answers in time; if not, the process is as good as stopped

NO_MESSAGE = ("404", "408", "409")


class Client:
    """One connection. Threads may share it."""

    def __init__(self, url: str, creds: str | None = None) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="nats", daemon=True)
        self._thread.start()
        self._connection = Connection()
        self._trouble: Exception | None = None  # the last that the connection told
        try:
            self._run(self._connect(url, creds), CONNECT_S)
        except BaseException as error:
            self.close()
            if isinstance(error, Unreachable):
                raise Unreachable(f"nothing answers at {url:.100}: {self._trouble or error}", definite=True) from error
            raise

    def ask(
        self, subject: str, data: bytes = b"", timeout_s: float = 2.0, headers: dict[str, str] | None = None
    ) -> Msg:
        """Send, and wait for the one answer."""
        return self._run(self._connection.request(subject, data, timeout_s, headers=headers), timeout_s)

    def ask_all(self, questions: Sequence[tuple[str, bytes]], timeout_s: float = 2.0) -> list[Msg]:
        """Send all at once, and wait for the answer to each."""

        async def ask() -> list[Msg]:
            return await asyncio.gather(
                *(self._connection.request(subject, data, timeout_s) for subject, data in questions)
            )

        return self._run(ask(), timeout_s)

    def pull(self, subject: str, data: bytes, timeout_s: float) -> Msg | None:
        """Ask a consumer for one message; None: it has none."""
        message = self._run(self._connection.request(subject, data, timeout_s, old_style=True), timeout_s)
        return None if message.headers and message.headers.get("Status") in NO_MESSAGE else message

    def page(self, subject: str, data: bytes, timeout_s: float = 5.0) -> list[Msg]:
        """Send, and collect answers until one that says it is the last."""
        return self._run(self._page(subject, data, timeout_s), timeout_s)

    @contextlib.contextmanager
    def hints(self, subject: str) -> Iterator[threading.Event]:
        """An event that is set when anything is published there. A hint, no more: it may not have been stored."""
        event = threading.Event()

        async def heard(_: Msg) -> None:
            event.set()

        async def listen() -> Any:
            heard_at = await self._connection.subscribe(subject, cb=heard)
            await self._connection.flush(2)
            return heard_at

        subscription = self._run(listen(), 2.0)
        try:
            yield event
        finally:
            with contextlib.suppress(Unreachable):
                self._run(subscription.unsubscribe(), 2.0)

    def close(self) -> None:
        """Leave; nobody waits for the server."""
        if self._loop.is_closed():
            return
        with contextlib.suppress(Unreachable, AssertionError):  # nats-py asserts that it got as far as to a server
            self._run(self._connection.close(), 2.0)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(SLACK_S)
        if not self._thread.is_alive():
            self._loop.close()

    async def _connect(self, url: str, creds: str | None) -> None:
        servers, refused = url.split(","), asyncio.Semaphore(0)

        async def keep(error: Exception) -> None:
            self._trouble = error
            if isinstance(error, OSError) and not isinstance(error, TimeoutError):
                refused.release()

        async def all_refuse() -> None:
            for _ in servers:
                await refused.acquire()
            raise self._trouble or ConnectionRefusedError

        credentials = None if creds is None else _readable(creds)
        connecting = self._connection.connect(
            servers,
            error_cb=keep,
            reconnect_time_wait=RECONNECT_S,  # type: ignore[arg-type]
            max_reconnect_attempts=-1,
            user_credentials=credentials,
        )
        try:
            await _first_of(connecting, all_refuse())
        except ValueError as error:
            raise InvalidArgument(f"nats_url or nats_creds: {error!s:.200}") from error
        except ImportError as error:  # nats-py signs with a package that its extra of this name brings
            raise InvalidArgument("nats_creds needs nkeys: pip install 'nats-py[nkeys]'") from error

    async def _page(self, subject: str, data: bytes, timeout_s: float) -> list[Msg]:
        inbox = self._connection.new_inbox()
        subscription = await self._connection.subscribe(inbox)
        messages: list[Msg] = []
        try:
            await self._connection.publish(subject, data, reply=inbox)
            while True:
                message = await subscription.next_msg(timeout_s)
                status = message.headers and message.headers.get("Status")
                if status == "503":
                    raise nats.errors.NoRespondersError
                if status:
                    return messages
                messages.append(message)
        finally:
            await subscription.unsubscribe()

    def _run(self, work: Coroutine[Any, Any, Answer], timeout_s: float) -> Answer:
        """The result of the coroutine, computed in the thread."""
        future = asyncio.run_coroutine_threadsafe(asyncio.wait_for(work, timeout_s + 1), self._loop)
        try:
            return future.result(timeout_s + SLACK_S)
        except (nats.errors.Error, OSError, TimeoutError, concurrent.futures.TimeoutError) as error:
            future.cancel()
            raise Unreachable(f"{type(error).__name__}: {error!s:.200}") from error


async def _first_of(*works: Coroutine[Any, Any, Any]) -> None:
    """Until the first of them is over; raises its error."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        done.pop().result()
    finally:
        for task in tasks:
            task.cancel()


def _readable(creds: str) -> str:
    """The path of the credentials; the client reads them only once a server has asked for them."""
    path = Path(creds).expanduser()
    try:
        path.read_bytes()
    except OSError as error:
        raise InvalidArgument(f"nats_creds: {error!s:.200}") from error
    return str(path)
