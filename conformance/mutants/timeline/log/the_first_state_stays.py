"""An agent's state is that of its first result."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.27",)
ITEM = "corpus:behind_the_first_result"


class Mutant(TimelineBus):
    """Looks no further."""

    def state(self, timeline: str, agent: str) -> Any:
        for one in self.log(timeline)["messages"]:
            key = one["key"] or {}
            if one["state"] is not None and agent in (key.get("target"), key.get("agent")):
                return {"state": one["state"], "number": one["number"]}
        return super().state(timeline, agent)


if __name__ == "__main__":
    serve({"timeline": Mutant})
