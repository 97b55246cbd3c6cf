"""A message that is refused is stored all the same."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument

KILLED_BY = ("comms.log.34", "comms.limit.16")


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        try:
            return super().send_message(*args, **kwargs)
        except InvalidArgument:
            super().send_message("a", "b", "note", {})
            raise


if __name__ == "__main__":
    serve({"comms": Mutant})
