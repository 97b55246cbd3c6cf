"""time_us is in milliseconds."""

from refbus.driver import serve
from refbus.timeline import cursor, dump, log, message, replay
from refbus.timeline.bus import TimelineBus

KILLED_BY = ("timeline.log.30",)
ITEM = "corpus:program_03"

as_message = message.as_message


def in_ms(node: message.Node) -> message.Message:
    return {**as_message(node), "time_us": node.time_us // 1_000}


for module in (log, cursor, replay, dump):
    module.as_message = in_ms  # type: ignore[attr-defined]


if __name__ == "__main__":
    serve({"timeline": TimelineBus})
