"""The `comms` bus of seed 001 as a library, by the names of the seed."""

from refbus.comms.breaker import CircuitBreaker
from refbus.comms.bus import CommsBus
from refbus.comms.envelope import Message as MessageEnvelope
from refbus.comms.heartbeat import Heartbeat
from refbus.comms.limit import TokenBucket
from refbus.comms.store import initialize_communication_system

__all__ = [
    "CircuitBreaker",
    "CommsBus",
    "Heartbeat",
    "MessageEnvelope",
    "TokenBucket",
    "initialize_communication_system",
]
