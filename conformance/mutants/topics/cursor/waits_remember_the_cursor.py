"""A sync that waits goes on where its reader stood when it began: two of one session take the same message."""

from typing import Any

from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp.server import main

KILLED_BY = ("topics.cursor.53",)

receive, sees_news = SyncCall.receive, SyncCall.sees_news


def its_own_look(call: SyncCall, tx: Any) -> bool:
    before = call.reply["cursor"]["last_seq"]
    lane, _, _ = call.cursor.standing(tx, call.me)
    return bool(call._page(tx, before, lane.next_seq - 1).messages)


def from_where_it_began(call: SyncCall) -> None:
    standing, before = call.cursor.standing, call.reply["cursor"]["last_seq"]
    call.cursor.standing = lambda tx, me: (standing(tx, me)[0], before, None)  # type: ignore[assignment, method-assign]
    try:
        receive(call)
    finally:
        call.cursor.standing = standing  # type: ignore[method-assign]


SyncCall.sees_news = its_own_look  # type: ignore[method-assign]
SyncCall.receive = from_where_it_began  # type: ignore[method-assign]


if __name__ == "__main__":
    raise SystemExit(main(TopicsBus))
