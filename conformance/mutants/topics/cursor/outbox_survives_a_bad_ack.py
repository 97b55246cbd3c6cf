"""The outbox is sent, though the ack beside it is refused."""

from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.kernel.rules import cursor as rule
from refbus.topics import cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.18",)

refused: list[InvalidArgument] = []
advance, move = rule.advance, cursor.move


def advance_later(current: int, asked: int, newest: int) -> int:
    try:
        return advance(current, asked, newest)
    except InvalidArgument as error:
        refused.append(error)
        return current


class Mutant(TopicsBus):
    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        refused.clear()
        call = super().begin_sync(*args, **kwargs)
        if refused:
            raise refused.pop()
        return call


rule.advance = advance_later
cursor.move = lambda *args: None if refused else move(*args)


if __name__ == "__main__":
    raise SystemExit(main(Mutant))
