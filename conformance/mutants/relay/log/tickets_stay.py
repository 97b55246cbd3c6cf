"""A spawn's file in tmp stays there, where no process could be started at all."""

from pathlib import Path

from refbus.driver import serve
from refbus.relay import processes
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.log.08",)


class Stays(type(Path())):
    """Such a file."""

    def unlink(self, missing_ok: bool = False) -> None:
        pass


_started = processes.Started.__init__
processes.Started.__init__ = lambda self, argv, *, ticket, **more: _started(self, argv, ticket=Stays(ticket), **more)

if __name__ == "__main__":
    serve({"relay": RelayBus})
