"""Does a bus order messages by their time alone? On a clock that stands still those of one moment have no order.

This is one fault, and it would show in every script. So it is told once, under the row of the order, and the script is
played again on a clock that moves on with each message: what still breaks there breaks for another reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.fleet import Fleet
from busproof.play.suite import Ctx, stage

AT_ONCE, ROUNDS = 8, 3


@dataclass(frozen=True)
class Ordered:
    """How a system's messages are sent and read, and the row of their order."""

    row: str
    send: str
    message: Callable[[str], dict[str, Any]]
    read: str
    text: Callable[[dict[str, Any]], Any]


ORDERED = {
    "worker": Ordered(
        "worker.cursor.04",
        "publish",
        lambda text: {"message": {"type": "note", "to": "reader", "payload": text}},
        "poll",
        lambda row: row.get("payload"),
    ),
    "mailbox": Ordered(
        "mailbox.cursor.01", "send", lambda text: {"to": "reader", "body": text}, "receive", lambda row: row.get("body")
    ),
}


def tied(fleet: Fleet) -> str:
    """Why the messages of one moment have no order on this bus; empty if they have, or nobody can tell. Tried once."""
    if fleet.tied is None:
        fleet.tied = ""
        ordered = ORDERED.get(fleet.system)
        if ordered is not None and fleet.hello.clock == "manual" and {"log", "cursor"} <= {*fleet.hello.nouns}:
            try:
                with stage(fleet, run="ties") as ctx:
                    fleet.tied = _tried(ctx, ordered)
            except (DoorError, LookupError, TypeError):  # other rows tell why
                pass
    return fleet.tied


def _tried(ctx: Ctx, ordered: Ordered) -> str:
    """Messages of one moment, and of one moment each, in turns."""
    reader, sender = ctx.agent("reader"), ctx.agent("sender")
    for session in (reader, sender):
        session.call(ordered.read)
    at_once: list[Any] = []
    for turn in range(ROUNDS):
        for is_moving in (False, True):
            sent = [f"{turn} {is_moving} {number}" for number in range(AT_ONCE)]
            for text in sent:
                if is_moving:
                    ctx.advance(1)
                sender.call(ordered.send, **ordered.message(text))
            shown = [text for row in reader.call(ordered.read)["messages"] if (text := ordered.text(row)) in sent]
            if sorted(shown) != sent or (shown == sent) is not is_moving:
                return ""
            at_once = at_once or shown
            ctx.advance(1)
    return (
        f"{AT_ONCE} messages sent in one millisecond are shown in the order {', '.join(text[-1] for text in at_once)}, "
        "those of a millisecond each in the order in which they were sent.\n"
        "Likely cause: they are sorted by their time. Sort them by a number that rises with each message. Everything "
        "else was judged on a clock that moves on with each message"
    )
