"""Messages live half as long as they were to."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.log.36",)


class Mutant(CommsBus):
    def _expires_at(self, channel: str, ttl_seconds: Any) -> str | None:
        return super()._expires_at(channel, ttl_seconds // 2 if isinstance(ttl_seconds, int) else ttl_seconds)


if __name__ == "__main__":
    serve({"comms": Mutant})
