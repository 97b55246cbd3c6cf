"""A reader looks when its time is over, and not before."""

import time
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.route.17", "comms.route.18")


class Mutant(CommsBus):
    def receive_messages(self, *args: Any, timeout_seconds: Any = None, **kwargs: Any) -> dict[str, Any]:
        time.sleep(timeout_seconds or 0)
        return super().receive_messages(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
