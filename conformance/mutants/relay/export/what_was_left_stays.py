"""Files that an orchestrator without an archive left in the outboxes stay there."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus
from refbus.relay.recovery import Recovery

KILLED_BY = ("relay.export.04",)
ITEM = "corpus:an_archive_that_comes_and_goes"


Recovery.archive_the_rest = lambda self: None  # type: ignore[method-assign]

if __name__ == "__main__":
    serve({"relay": RelayBus})
