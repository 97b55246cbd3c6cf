"""A sync looks for news, and listens for more only where there is none: nobody tells it of messages in between."""

import asyncio
import contextlib
from functools import partial
from typing import Any

from refbus.topics.mcp.server import Session, main
from refbus.topics.notifier import Notifier

KILLED_BY = ("topics.cursor.55",)
CHAOS = {"waits": True}


async def wait_for_news(self: Session, call: Any, request: Any) -> None:
    request.woken.clear()
    if await self.threads.run(call.has_news):
        return
    wake = partial(asyncio.get_running_loop().call_soon_threadsafe, request.woken.set)
    with self.bus.notifier.subscribed(wake, call.sees_news), contextlib.suppress(TimeoutError):
        await asyncio.wait_for(request.woken.wait(), call.left_s)


def watch(self: Notifier) -> None:
    with self._store.waiters.borrow() as waiter:
        seen = self._store.version()
        while self._has_subscribers():
            if (present := self._store.version()) != seen:
                seen = present
                for subscriber in self._with_news():
                    subscriber.wake()
            waiter.wait(1.0)


Session._wait_for_news = wait_for_news  # type: ignore[method-assign]
Notifier._watch = watch  # type: ignore[method-assign]

if __name__ == "__main__":
    raise SystemExit(main())
