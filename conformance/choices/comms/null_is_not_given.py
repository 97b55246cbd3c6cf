"""ttl_seconds null is a time to live that is not given, as the seed's default has it (C13)."""

from typing import Any

from refbus.comms import log
from refbus.comms.bus import CommsBus
from refbus.driver import serve

live = log.time_to_live_s


def time_to_live_s(channel: str, ttl_seconds: Any = log.UNSAID) -> int | None:
    return live(channel, log.UNSAID if ttl_seconds is None else ttl_seconds)


log.time_to_live_s = time_to_live_s

if __name__ == "__main__":
    serve({"comms": CommsBus})
