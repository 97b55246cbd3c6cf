"""A full disk is answered as if the message were sent."""

from typing import Any

from refbus.driver import serve
from refbus.kernel.errors import DiskFull
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.43",)
CHAOS = {"disk_full": True, "only": "send", "levels": (0,)}


class SwallowsFullDisk(TimelineBus):
    """Sent, it says."""

    def send(self, key: dict[str, Any], payload: Any = None, nonce: str | None = None) -> Any:
        try:
            return super().send(key, payload, nonce)
        except DiskFull:
            return {"subject": self.subject_of(key)["subject"], "number": 1, "hash": "0" * 64, "duplicate": False}


if __name__ == "__main__":
    serve({"timeline": SwallowsFullDisk})
