"""The time-out of a receive is ignored."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.16",)


class Mutant(CommsBus):
    def receive_messages(self, *args: Any, timeout_seconds: Any = None, **kwargs: Any) -> dict[str, Any]:
        return super().receive_messages(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
