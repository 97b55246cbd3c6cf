"""Every attempt is a message of its own."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve

KILLED_BY = ("comms.retry.20",)


class Mutant(CommsBus):
    def send_with_retry(self, max_attempts: int = 3, base_delay: float = 1.0, **message_args: Any) -> dict[str, Any]:
        for _ in range(max_attempts):
            reply = self.send_message(**message_args)
        return reply


if __name__ == "__main__":
    serve({"comms": Mutant})
