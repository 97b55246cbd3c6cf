"""The delivery that fetch gives to ack with is a text in Base64, padded, which tells nobody anything."""

import base64
import binascii
from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import InvalidArgument
from refbus.timeline.bus import TimelineBus


def opened(delivery: Any) -> Any:
    if type(delivery) is not str:
        return delivery
    try:
        return base64.b64decode(delivery.encode(), validate=True)[::-1].decode()
    except (binascii.Error, UnicodeError):
        raise InvalidArgument("no delivery") from None


class Choice(TimelineBus):
    def fetch(self, filter: Any, group: Any = None, wait_ms: Any = 0) -> dict[str, Any]:
        found = super().fetch(filter, group, wait_ms)
        if found["message"] is not None:
            hidden = base64.b64encode(found["message"]["delivery"].encode()[::-1]).decode()
            found["message"]["delivery"] = hidden
        return found

    def ack(self, delivery: Any) -> dict[str, Any]:
        return super().ack(opened(delivery))

    def nak(self, delivery: Any) -> dict[str, Any]:
        return super().nak(opened(delivery))


if __name__ == "__main__":
    serve({"timeline": Choice})
