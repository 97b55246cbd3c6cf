"""An outbox is a list, as the seed's table says; one object or a text are refused (decision 0015)."""

from typing import Any

from refbus.kernel.errors import InvalidArgument
from refbus.topics import cursor
from refbus.topics.bus import TopicsBus
from refbus.topics.mcp.server import main

drafts = cursor.drafts


def of_a_list(outbox: Any) -> list[Any]:
    if type(outbox) not in (list, type(None)):
        raise InvalidArgument("outbox must be a list")
    return drafts(outbox)


cursor.drafts = of_a_list

if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
