"""The reference's `comms`, that does not declare idempotent_send and tells a payload as an object in its dump."""

import json
from typing import Any

from refbus.comms.bus import CommsBus
from refbus.driver import serve


class SendsOnce(CommsBus):
    """A sender that was not answered does not know whether its message was sent."""

    FEATURES = tuple(name for name in CommsBus.FEATURES if name != "idempotent_send")

    def dump(self) -> dict[str, Any]:
        dump: dict[str, Any] = dict(super().dump())
        dump["messages"] = [{**row, "payload": json.loads(row["payload"])} for row in dump["messages"]]
        return dump


if __name__ == "__main__":
    serve({"comms": SendsOnce})
