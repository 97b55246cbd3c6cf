"""Every seventh message is acknowledged, and not stored."""

from typing import Any

from refbus.driver import serve
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.37",)


class Mutant(TimelineBus):
    """Answers first."""

    def send(self, *args: Any, **kwargs: Any) -> Any:
        sent = super().send(*args, **kwargs)
        if sent["number"] % 7 == 0:
            self.store.queue.store.db.write("DELETE FROM messages WHERE hash = ?", (sent["hash"],))  # type: ignore[attr-defined]
        return sent


if __name__ == "__main__":
    serve({"timeline": Mutant})
