"""Any JSON that a stranger stored as a payload is handed out."""

from typing import Any

from refbus.comms import route
from refbus.comms.bus import CommsBus
from refbus.comms.envelope import COLUMNS
from refbus.driver import serve
from refbus.kernel import jsontext

KILLED_BY = ("comms.log.88",)

as_message = route.as_message


def whatever(row: tuple[Any, ...]) -> dict[str, Any]:
    message = as_message(row)
    if message.pop("payload_error", None) == "no_object":
        message["payload"] = jsontext.decode(row[COLUMNS.index("payload")])
    return message


route.as_message = whatever


if __name__ == "__main__":
    serve({"comms": CommsBus})
