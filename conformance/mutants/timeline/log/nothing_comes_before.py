"""A message does not tell the hash before it."""

from refbus.driver import serve
from refbus.timeline import cursor, dump, log, message, replay
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.17",)
ITEM = "corpus:program_03"

as_message = message.as_message


def alone(node: message.Node) -> message.Message:
    return {**as_message(node), "previous": message.START}


for module in (log, cursor, replay, dump):
    module.as_message = alone  # type: ignore[attr-defined]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
