"""A session that looked for a timeline before anybody had written to it does not see it for ever after."""

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.queue import Branch
from refbus.timeline.sqlite import SqliteQueue

KILLED_BY = ("timeline.log.09",)

branch, append = SqliteQueue.branch, SqliteQueue.append
UNKNOWN: dict[SqliteQueue, set[str]] = {}


def remembered(queue: SqliteQueue, timeline: str) -> Branch | None:
    known = None if timeline in UNKNOWN.setdefault(queue, set()) else branch(queue, timeline)
    if known is None:
        UNKNOWN[queue].add(timeline)
    return known


def written(queue: SqliteQueue, message, *more):  # type: ignore[no-untyped-def]
    done = append(queue, message, *more)
    UNKNOWN.setdefault(queue, set()).discard(message.timeline)
    return done


SqliteQueue.branch = remembered  # type: ignore[method-assign]
SqliteQueue.append = written  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
