"""A call on a fork gets what its parent was answered after the fork point."""

from dataclasses import replace
from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import NotFound
from refbus.timeline import keys, token
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

KILLED_BY = ("timeline.fork.07",)
ITEM = "corpus:program_06"


def all_along(lineage: Lineage, key: Any, nonce: str | None = None) -> Any:
    try:
        spans = lineage.spans(key.timeline)
    except NotFound:
        return
    for span in reversed(spans):
        own = replace(key, timeline=token.decode(span.timeline))
        yield lineage.store.queue.find(keys.subject(own), None if nonce is None else token.encode(nonce))


Lineage.sight = all_along  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
