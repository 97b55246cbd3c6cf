"""The file under a name is moved to the archive, though its agent has written other words since it was read."""

from refbus.driver import serve
from refbus.kernel.msgfile import Stat
from refbus.relay import tree
from refbus.relay.archive import Archive
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.67",)
CHAOS = {"holds": True, "only": "scan"}

_move = Archive.move


def move(self: Archive, agent: str, name: str, stat: Stat) -> bool:
    with tree.folder(self._store.root, tree.AGENTS, agent, tree.OUTBOX) as outbox:
        try:
            now = tree.stat_of(tree.look(name, outbox))
        except OSError:
            now = stat
    return _move(self, agent, name, now)


Archive.move = move  # type: ignore[method-assign]


if __name__ == "__main__":
    serve({"relay": RelayBus})
