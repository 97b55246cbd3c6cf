"""By default the first pause is half a second."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.24",)


class Mutant(CommsBus):
    def retry_delays(self, max_attempts: int = 3, base_delay: float = 0.5, jitter: float = 1.0) -> dict[str, Any]:
        return super().retry_delays(max_attempts, base_delay, jitter)


if __name__ == "__main__":
    serve({"comms": Mutant})
