"""A call on a fork is not answered from its parent's record."""

from itertools import islice

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

KILLED_BY = ("timeline.fork.06",)
ITEM = "corpus:a_fork_goes_on"

sight = Lineage.sight
Lineage.sight = lambda lineage, *key: islice(sight(lineage, *key), 1)  # type: ignore[method-assign, return-value]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
