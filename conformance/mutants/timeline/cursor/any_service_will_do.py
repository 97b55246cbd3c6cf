"""A worker is given requests for every service, whichever its filter names."""

from dataclasses import replace

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.filters import Filter

KILLED_BY = ("timeline.cursor.24",)

SERVICE = 3  # its place among the tokens of a request
glob_of = Filter.glob.fget  # type: ignore[attr-defined]


def glob(wanted: Filter) -> str:
    if len(wanted.tokens) <= SERVICE:
        return str(glob_of(wanted))
    return str(glob_of(replace(wanted, tokens=(*wanted.tokens[:SERVICE], None, *wanted.tokens[SERVICE + 1 :]))))


Filter.glob = property(glob)  # type: ignore[assignment,method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
