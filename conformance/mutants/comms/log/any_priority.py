"""A priority may be anything, and becomes 5."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.30", "comms.log.33", "comms.log.70")


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        priority = kwargs.pop("priority", 5)
        good = type(priority) is int and 2 <= priority <= 9
        return super().send_message(*args, priority=priority if good else 5, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
