"""`exec:CMD…`: any program that speaks the protocol on its stdin and stdout."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from busproof.bus.base import Lost, Refused, Spawn, parsed, patient
from busproof.bus.child import Child
from busproof.contract import PARSE_ERROR
from busproof.words import is_strict_json


class StdioDoor:
    """One process."""

    serves_many = True

    def __init__(self, argv: Sequence[str], spawn: Spawn = Child) -> None:
        self.child = spawn(argv)
        self.store: Path | None = None
        self._next_id = 0

    @property
    def pid(self) -> int | None:
        """The process's id, which is its process group's too."""
        return self.child.pid

    @property
    def stderr(self) -> str:
        """The last 50 lines the process wrote to stderr."""
        return self.child.stderr

    def get_ready(self, system: str) -> None:
        """Say hello."""
        self.call("hello", {"protocol": ["1"], "system": system})

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """One request line, one response line, within the time."""
        timeout_s = patient(timeout_s)
        deadline = time.monotonic() + timeout_s
        self._next_id += 1
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        asked = json.dumps(request).encode()
        self.child.write_line(asked, timeout_s)
        reply = self._answer(self.child.read_line(method, deadline - time.monotonic()), method, asked)
        if method == "open":
            self.store = Path(params["store"])
        elif method == "close":
            self.store = None
        return reply

    def send_line(self, line: bytes) -> None:
        """Write raw bytes as one line (bad-input checks send lines that `call` would not)."""
        self.child.write_line(line)

    def receive_line(self, waiting_for: str, timeout_s: float = 30.0) -> bytes:
        """The next line, or Lost after timeout_s or EOF."""
        return self.child.read_line(waiting_for, patient(timeout_s))

    def _answer(self, line: bytes, method: str, asked: bytes) -> dict[str, Any]:
        try:
            response = parsed(line)
        except ValueError as error:
            raise Lost(f"the answer to {method} is not JSON: {line[:200]!r}") from error
        if not isinstance(response, dict) or not (response.get("id") == self._next_id or _was_no_json(response, asked)):
            raise Lost(f"the answer to {method} has not the request's id {self._next_id}: {line[:200]!r}")
        refusal = response.get("error")
        if refusal is not None:
            if not isinstance(refusal, dict):
                raise Lost(f"the error of {method} is not an object: {line[:200]!r}")
            data = refusal["data"] if isinstance(refusal.get("data"), dict) else {}
            rpc = refusal["code"] if isinstance(refusal.get("code"), int) else -32000
            # JSON-RPC's own errors (no such method, bad params) come before any work is done.
            definite = bool(data.get("definite", rpc in (-32700, -32600, -32601, -32602)))
            raise Refused(str(data.get("code", rpc)), str(refusal.get("message")), definite=definite, rpc=rpc)
        result = response.get("result")
        if not isinstance(result, dict):
            raise Lost(f"the result of {method} is not an object: {line[:200]!r}")
        return result

    def processes(self) -> list[Path]:
        """The process's own, and its helpers'."""
        return self.child.processes()

    def kill(self) -> None:
        """SIGKILL to the process's whole group."""
        self.child.kill()

    def close(self) -> None:
        """EOF on stdin, two seconds' grace, then kill."""
        self.child.close()


def _was_no_json(response: dict[str, Any], asked: bytes) -> bool:
    """Is it the answer to a line that is no JSON (it holds NaN, or half a surrogate), whose id a strict parser lost?"""
    refusal = response.get("error")
    if response.get("id") is not None or not isinstance(refusal, dict) or refusal.get("code") != PARSE_ERROR:
        return False
    try:
        return not is_strict_json(parsed(asked))
    except ValueError:
        return True
