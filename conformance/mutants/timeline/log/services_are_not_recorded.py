"""The record shows the messages of harness and agent, not those of services."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus
from refbus.timeline.lineage import Lineage

KILLED_BY = ("timeline.log.08",)
CONTROL = "cursor.one_each"

read = Lineage.read


def of_agents(lineage: Lineage, *args: Any, **kwargs: Any) -> Any:
    return (
        node for node in read(lineage, *args, **kwargs) if ".req." not in node.subject and ".res." not in node.subject
    )


Lineage.read = of_agents  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
