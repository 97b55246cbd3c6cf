"""A consumer's name leaves the group out."""

from refbus.driver import serve
from refbus.timeline import filters
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.route.19",)
ITEM = "corpus:consumers_have_one_name"


def without_group(wanted: filters.Filter) -> str:
    return wanted.subject.replace(".", "+").replace("*", "=").replace(">", "==")[:200]


filters.Filter.consumer = property(without_group)  # type: ignore[assignment, method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
