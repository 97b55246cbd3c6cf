"""What every adapter offers: a door through which one session talks to an implementation under test.

The tree of what a call can end in:

    DoorError
    ├── Refused          the bus answered with an error; `definite` says whether it certainly did not happen
    ├── Malformed        the answer has not the shape that the protocol gives it
    └── Lost             no answer (EOF, time-out, kill, nonsense): it may or may not have happened; retire the door
"""

from __future__ import annotations

from typing import Any, Protocol


class DoorError(Exception):
    """A call through the door did not end in a result."""


class Refused(DoorError):
    """The bus said no. `code` is the seed's name where it has one; `rpc` the JSON-RPC number."""

    def __init__(self, code: str, message: str, *, definite: bool, rpc: int = -32000) -> None:
        super().__init__(f"{code}: {message}")
        self.code, self.message, self.definite, self.rpc = code, message, definite, rpc


class Malformed(DoorError):
    """The request, what the protocol expects of its answer, and what came."""

    def __init__(self, method: str, params: Any, faults: str, reply: Any) -> None:
        super().__init__(
            f"the answer to {method} is not what docs/protocol.md#{method.replace('.', '')} describes: {faults};"
            f" sent {ascii(params)[:300]}, got {ascii(reply)[:300]}"
        )


class Lost(DoorError):
    """Nobody knows whether it happened."""


class Door(Protocol):
    """One session. `call` raises Refused or Lost."""

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """One request, one result."""
        ...

    def kill(self) -> None:
        """End the session at once, as SIGKILL would. Idempotent."""
        ...

    def close(self) -> None:
        """End the session politely. Idempotent."""
        ...

    @property
    def stderr(self) -> str:
        """The last lines that the session wrote for humans."""
        ...
