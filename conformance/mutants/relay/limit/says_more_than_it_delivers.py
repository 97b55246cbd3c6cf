"""hello tells a byte more than the orchestrator reads of a message."""

from refbus.driver import serve
from refbus.relay.bus import RelayBus

KILLED_BY = ("relay.limit.20",)


class Mutant(RelayBus):
    LIMITS = RelayBus.LIMITS | {"message_bytes_max": 1_048_577}


if __name__ == "__main__":
    serve({"relay": Mutant})
