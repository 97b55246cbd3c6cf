"""Each fork burns a number of its parent."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import token
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.fork.04",)
ITEM = "corpus:a_fork_goes_on"


class Mutant(TimelineBus):
    """Leaves a mark."""

    def fork(self, timeline: str, submission: str, agent_name: str, parent: str, at: int) -> Any:
        forked = super().fork(timeline, submission, agent_name, parent, at)
        if not forked["duplicate"]:
            self.store.queue.store.db.write(  # type: ignore[attr-defined]
                "UPDATE timelines SET number = number + 1 WHERE timeline = ?", (token.encode(parent),)
            )
        return forked


if __name__ == "__main__":
    serve({"timeline": Mutant})
