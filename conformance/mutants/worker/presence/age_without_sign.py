"""After a clock was set back, heartbeats of the future are old."""

from refbus.driver import serve
from refbus.worker import presence
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.presence.07",)
ITEM = "corpus"


_state = presence.presence.state
presence.presence.state = lambda age_ms: _state(abs(age_ms))


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
