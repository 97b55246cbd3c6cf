"""A worker is told the timeline main, whichever it is."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import cursor
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.cursor.10",)
ITEM = "corpus:program_03"

as_fetched = cursor._as_fetched


def on_main(taken: Any) -> Any:
    told = as_fetched(taken)
    return {**told, "key": {**(told["key"] or {}), "timeline": "main"}}


cursor._as_fetched = on_main


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
