"""Nobody hears of the last attempt's error."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import RateLimited

KILLED_BY = ("comms.retry.22",)


class Mutant(CommsBus):
    def send_with_retry(self, **kwargs: Any) -> dict[str, Any]:
        try:
            return super().send_with_retry(**kwargs)
        except RateLimited:
            return {"message_id": ""}


if __name__ == "__main__":
    serve({"comms": Mutant})
