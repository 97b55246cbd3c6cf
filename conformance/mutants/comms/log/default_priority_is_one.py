"""A message without a priority gets the lowest."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.13",)


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        return super().send_message(*args, **{"priority": 1, **kwargs})


if __name__ == "__main__":
    serve({"comms": Mutant})
