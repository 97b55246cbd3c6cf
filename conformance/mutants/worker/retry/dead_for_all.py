"""A broadcast that one agent gave up is unread for nobody."""

from refbus.driver import serve
from refbus.worker import route
from refbus.worker.bus import WorkerBus

KILLED_BY = ("worker.route.02",)
ITEM = "corpus"


route._UNREAD = route._UNREAD.replace("    WHERE", "    WHERE seq NOT IN (SELECT seq FROM dead_letters) AND")


class Mutant(WorkerBus):
    """The reference, on the changed rule."""


if __name__ == "__main__":
    serve({"worker": Mutant})
