"""Messages live half as long as they should."""

from typing import Any

from refbus.comms import log
from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.36",)


time_to_live_s = log.time_to_live_s


def half(channel: str, ttl_seconds: Any) -> int | None:
    return time_to_live_s(channel, ttl_seconds // 2 if isinstance(ttl_seconds, int) else ttl_seconds)


log.time_to_live_s = half


if __name__ == "__main__":
    serve({"comms": CommsBus})
