"""A message without a sender comes from nobody."""

import functools
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.32", "comms.limit.15")


class Mutant(CommsBus):
    @functools.wraps(CommsBus.send_message)  # the driver looks at its parameters
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        kwargs["from_agent"] = kwargs.get("from_agent") or "nobody"
        return super().send_message(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
