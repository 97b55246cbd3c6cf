"""The lock is given away before the agents that were started have ended."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.lease.14",)


class LetsGo(RelayBus):
    def close(self) -> None:
        self.store.lock.release()
        super().close()


if __name__ == "__main__":
    serve({"relay": LetsGo})
