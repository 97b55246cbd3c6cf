"""`py:module:factory`: an object of this process whose methods are the protocol's (`clock.set` is `clock_set`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from busproof.bus.asleep import OURS
from busproof.bus.base import Refused


class PythonDoor:
    """Calls go straight to the object. An exception's `code` and `definite`, if it has them, are the error."""

    stderr = ""
    pid = None
    serves_many = True
    store: Path | None = None

    def __init__(self, bus: Any) -> None:
        self._bus = bus

    def get_ready(self, system: str) -> None:
        """Say hello."""
        self.call("hello", {"protocol": ["1"], "system": system})

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """One call; code in one's own process cannot be held to timeout_s."""
        function = getattr(self._bus, method.replace(".", "_"), None)
        if function is None or method.startswith("_"):
            raise Refused("METHOD_NOT_FOUND", f"no method {method}", definite=True, rpc=-32601)
        try:
            reply = function(**params)
        except Exception as error:
            code = getattr(error, "code", "INVALID_ARGUMENT" if isinstance(error, TypeError) else "INTERNAL")
            raise Refused(str(code), str(error), definite=bool(getattr(error, "definite", False))) from error
        return {} if reply is None else dict(reply)

    def processes(self) -> list[Path]:
        """This process."""
        return [OURS]

    def kill(self) -> None:
        """The nearest thing to a kill: forget the object."""
        self._bus = None

    def close(self) -> None:
        """Nothing to end."""
        self._bus = None
