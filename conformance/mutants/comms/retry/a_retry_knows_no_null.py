"""send_with_retry takes null for "not given", so a message that is to live for ever gets the usual time."""

from typing import Any

from refbus.comms import bus
from refbus.comms.retry import Retries
from refbus.driver import serve

KILLED_BY = ("comms.retry.28",)


class Mutant(Retries):
    def send_with_retry(self, /, max_attempts: int = 3, base_delay: float = 1.0, **message_args: Any) -> Any:
        given = {name: value for name, value in message_args.items() if value is not None}
        return super().send_with_retry(max_attempts, base_delay, **given)


bus.Retries = Mutant

if __name__ == "__main__":
    serve({"comms": bus.CommsBus})
