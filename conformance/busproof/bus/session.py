"""A session: one agent's door, with every call recorded in the history."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from pydantic import ValidationError

from busproof.bus.base import Door, Lost, Malformed, Refused
from busproof.contract import CONTRACTS
from busproof.contract.history import MALFORMED, Recorder, typed_columns
from busproof.words import faults

# Set in a thread whose next call is to go out at the same moment as those of others (`scenarios.common.raced`).
GATE: ContextVar[Callable[[Door], object] | None] = ContextVar("GATE", default=None)


class Session:
    """Calls go out under this agent's name and are recorded at send and at receive."""

    def __init__(
        self,
        door: Door,
        recorder: Recorder,
        *,
        process: int,
        agent: str,
        goes_on: Callable[[str], None] = lambda method: None,  # before each call; raises where none is to follow
    ) -> None:
        self.door, self.recorder, self.process, self.agent = door, recorder, process, agent
        self._goes_on = goes_on
        self.now_ms: int | None = None
        self.retired = False
        self.names: dict[str, str] | None = None  # the bus's id of a message → a script's, where scripts give none
        self._contract = CONTRACTS[recorder.system]

    def call(self, method: str, *, timeout_s: float = 30.0, **params: Any) -> dict[str, Any]:
        """Call and record. The caller's name is this agent's if the method takes one and none is given."""
        for name in self._contract.callers_of(method):
            params.setdefault(name, self.agent)
        self._goes_on(method)
        self._record("invoke", method, params)
        if (gate := GATE.get()) is not None:
            GATE.set(None)
            gate(self.door)  # after recording, which takes a lock, or the calls would go out one behind the other
        try:
            reply = self.door.call(method, params, timeout_s=timeout_s)
        except Refused as error:
            kind = "fail" if error.definite else "info"
            self._record(kind, method, params, code=error.code, value={"code": error.code, "message": error.message})
            raise
        except Lost as error:
            self.retired = True
            self._record("info", method, params, code="LOST", value={"message": str(error)})
            raise
        faults = self._faults(method, reply)
        self._record("ok", method, params, reply=reply, value=reply, code=MALFORMED if faults else None)
        if faults:
            raise Malformed(method, self._contract.page_of(method), params, faults, reply)
        return reply

    def _faults(self, method: str, reply: dict[str, Any]) -> str:
        """The parts of an answer that do not match the protocol."""
        known = self._contract.methods.get(method)
        if known is None:
            return ""
        try:
            known.reply.of(reply)
        except ValidationError as error:
            return faults(error)
        return ""

    def refusal(self, method: str, **params: Any) -> Refused | None:
        """The error that the bus answers with; None if it accepted the call."""
        try:
            self.call(method, **params)
        except Refused as error:
            return error
        return None

    def set_clock(self, now_ms: int) -> None:
        """Set this session's clock; every later event carries it as bus_ms."""
        self.call("clock.set", now_ms=now_ms)
        self.now_ms = now_ms

    def _record(self, kind: Any, method: str, params: dict[str, Any], *, reply: Any = None, **more: Any) -> None:
        more.setdefault("value", params)
        columns = typed_columns(self._contract, method, params, reply)
        if not self._contract.callers:
            columns["agent"] = self.agent  # no method says who calls: the session does
        self.recorder.record(kind, process=self.process, op=method, bus_ms=self.now_ms, **{**columns, **more})
