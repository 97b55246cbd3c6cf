"""The open file is believed: a write after somebody removed it is acknowledged, and gone."""

from refbus.driver import serve
from refbus.kernel.db import Database
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.50",)

Database.refuse_another_file = lambda self, **how: None  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
