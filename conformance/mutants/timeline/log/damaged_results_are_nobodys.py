"""A result whose state somebody overwrote with bytes is passed over: the agent has its older state again."""

import refbus.timeline.log
from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.message import Node

KILLED_BY = ("timeline.log.49",)

_author = refbus.timeline.log._author


def of_whole_ones(node: Node) -> str | None:
    return _author(node) or ""


refbus.timeline.log._author = of_whole_ones


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
