"""A worker of a backend gets the requests to all backends of its service."""

from dataclasses import replace
from typing import Any

from refbus.driver import serve
from refbus.timeline import filters
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.23", "timeline.route.24")
ITEM = "corpus:keys_request"

from_dict = filters.from_dict


def without_backend(value: Any, group: object = None) -> filters.Filter:
    wanted = from_dict(value, group)
    if value["type"] != "request":
        return wanted
    return replace(wanted, tokens=(*wanted.tokens[:4], None, *wanted.tokens[5:]))


filters.from_dict = without_backend


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
