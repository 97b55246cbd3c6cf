"""The archive does not wait for an addressee that never acknowledged."""

from refbus.driver import serve
from refbus.worker import archive
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.log.43",)
ITEM = "corpus"


archive._COPY = archive._COPY.replace("AND (to_agent IS NULL OR to_agent IN (SELECT agent_id FROM cursors))", "")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
