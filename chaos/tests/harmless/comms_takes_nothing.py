"""The reference's `comms` without a token for anybody."""

from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve
from refbus.kernel.errors import RateLimited


class TakesNothing(CommsBus):
    """Every sender is to come again later."""

    def send_message(self, **_params: Any) -> Any:
        raise RateLimited("come again later")


if __name__ == "__main__":
    serve({"comms": TakesNothing})
