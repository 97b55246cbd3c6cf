"""A call on a fork gets the answer that its parent got after the fork point."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage, Span

KILLED_BY = ("timeline.fork.07",)
ITEM = "corpus:program_06"

find = Lineage.find


def all_along(lineage: Lineage, span: Span, key: Any, nonce: str | None = None) -> Any:
    return find(lineage, span._replace(upto=None), key, nonce)


Lineage.find = all_along  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
