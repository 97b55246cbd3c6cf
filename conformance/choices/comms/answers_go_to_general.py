"""An answer goes to the channel general, wherever the request was (C17)."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve


class Choice(CommsBus):
    def send_response(self, original_message: dict[str, Any], *args: Any, **more: Any) -> dict[str, Any]:
        channel = original_message.get("channel") if type(original_message) is dict else None
        if type(channel) is str and channel.isprintable() and 1 <= len(channel) <= 1024:
            original_message = {**original_message, "channel": "general"}
        return super().send_response(original_message, *args, **more)


if __name__ == "__main__":
    serve({"comms": Choice})
