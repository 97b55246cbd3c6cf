"""A vote without a reasoning is refused."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument

KILLED_BY = ("comms.log.50",)


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if kwargs.get("message_type") == "vote.cast" and "reasoning" not in kwargs["payload"]:
            raise InvalidArgument("why?")
        return super().send_message(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
