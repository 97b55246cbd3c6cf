"""A payload that is no object becomes one."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.31",)


class Mutant(CommsBus):
    def send_message(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        if not isinstance(kwargs.get("payload"), dict):
            kwargs["payload"] = {"value": kwargs.get("payload")}
        return super().send_message(*args, **kwargs)


if __name__ == "__main__":
    serve({"comms": Mutant})
