"""Ten megabytes end the process."""

import os
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.limit.17",)
DIES_OF = "ended before"


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if len(str(kwargs.get("payload"))) > 5_000_000:
            os._exit(1)
        return super().send_message(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
