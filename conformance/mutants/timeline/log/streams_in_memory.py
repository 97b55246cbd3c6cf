"""The stream is kept in the server's memory: a server that is killed loses all that was acknowledged."""

from typing import Any

from refbus.driver import serve
from refbus.timeline import jetstream, stream
from refbus.timeline.bus import TimelineBus
from refbus.timeline.stream import Stream

KILLED_BY = ("timeline.log.42",)
CHAOS = {"kills": 16}
DOOR = "nats:"
CONTROL = "retry.time_out"


for module in (jetstream, stream):
    module.PATIENCE_S = 1.0  # a lost message does not come back: nobody learns more by waiting

_api = Stream.api


def _in_memory(of: Stream, name: str, body: dict[str, Any]) -> dict[str, Any]:
    return _api(of, name, body | {"storage": "memory"} if name.startswith("STREAM.CREATE.") else body)


Stream.api = _in_memory  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"timeline": TimelineBus})
