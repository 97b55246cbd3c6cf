"""The reference's own stdio door: JSON-RPC 2.0, one object a line, on stdin and stdout.

`python -m refbus.driver` serves the reference. A mutant serves itself: `serve({"worker": MyBus})`.

Every line that arrives, whatever it is, gets one line in reply, and the process lives. Standard output belongs to the
protocol alone: all other output goes to stderr.
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import pkgutil
import sqlite3
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

from refbus import __version__
from refbus.kernel import jsontext
from refbus.kernel.clock import Clock
from refbus.kernel.db import fault
from refbus.kernel.errors import INTERNAL_SAYS, BusError, Internal, InvalidArgument, NotOpen
from refbus.kernel.lines import LINE_BYTES_MAX, read_line
from refbus.kernel.rules import limit as limits

PROTOCOL_VERSION = "1"

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, BUS_ERROR = (-32700, -32600, -32601, -32602, -32000)


class Rejected(Exception):
    """A request that never reached a bus; `rpc` is JSON-RPC's number for it."""

    def __init__(self, rpc: int, message: str, code: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message)
        self.rpc, self.code = rpc, code


class Driver:
    """One session: at most one open bus, and the clock that it is given."""

    METHODS = ("hello", "open", "close", "clock.set")

    def __init__(self, buses: Mapping[str, Any]) -> None:
        self._buses = buses
        self._system = next(iter(buses))
        self._clock = Clock()
        self._bus: Any = None

    def answer(self, line: bytes) -> dict[str, Any]:
        """The response to one line."""
        request_id: Any = None
        try:
            try:
                request = _parse(line)
            except Rejected:
                request_id = _id_of(_parse_leniently(line))
                raise
            request_id = _id_of(request)
            method, params = _check_request(request)
            result = self._call(method, params)
        except Rejected as error:
            return _error(request_id, error.rpc, str(error), error.code, True)
        except BusError as error:
            return _error(request_id, BUS_ERROR, str(error), error.code, error.definite)
        except sqlite3.Error as error:
            mapped = fault(error, definite=False)
            return _error(request_id, BUS_ERROR, str(mapped), mapped.code, mapped.definite)
        except Exception:
            traceback.print_exc()
            return _error(request_id, BUS_ERROR, INTERNAL_SAYS, Internal.code, False)
        return {"jsonrpc": "2.0", "id": request_id, "result": result}

    def hello(self, protocol: Sequence[str] = (PROTOCOL_VERSION,), system: str = "worker") -> dict[str, Any]:
        """Agree on a version and a system."""
        if not isinstance(protocol, list | tuple) or PROTOCOL_VERSION not in protocol:
            raise InvalidArgument(f"this driver speaks protocol {PROTOCOL_VERSION} only")
        if not isinstance(system, str) or system not in self._buses:
            raise InvalidArgument(f"this driver serves {', '.join(self._buses)}")
        self._system = system
        bus = self._buses[system]
        return {
            "protocol": PROTOCOL_VERSION,
            "name": "refbus",
            "version": __version__,
            "language": "python",
            "systems": list(self._buses),
            "nouns": list(bus.NOUNS),
            "features": list(bus.FEATURES),
            "clock": "manual",
            "durability": bus.DURABILITY,
            "limits": dict(bus.LIMITS),
        }

    def open(self, store: str, options: dict[str, Any] | None = None) -> dict[str, Any]:
        """Bind the session to a store; one that was open is closed."""
        bus = self._buses[self._system]
        options = {} if options is None else options
        if type(options) is not dict or not options.keys() <= set(bus.OPTIONS):
            raise InvalidArgument(f"options must be an object with any of {', '.join(bus.OPTIONS)}")
        if not isinstance(store, str):
            raise InvalidArgument("store must be a path")
        self._close_bus()
        self._bus = bus(store, clock=self._clock, **options)
        return {}

    def close(self) -> dict[str, Any]:
        """Leave the store. The next one starts on the wall clock again."""
        self._close_bus()
        self._clock.set(None)
        return {}

    def clock_set(self, now_ms: int) -> dict[str, Any]:
        """Stop the session's clock at now_ms."""
        self._clock.set(limits.integer("now_ms", now_ms, 0, limits.NOW_MS_MAX))
        return {}

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        owner: Any = self if method in self.METHODS else self._bus
        name = method.replace(".", "_")
        if owner is None or method not in owner.METHODS:
            if method in self._buses[self._system].METHODS:
                raise NotOpen("no store is open")
            raise Rejected(METHOD_NOT_FOUND, f"no method {method!a:.80}", "METHOD_NOT_FOUND")
        try:
            _signature(type(owner), name).bind(owner, **params)  # type: ignore[arg-type]
        except TypeError as error:
            raise Rejected(INVALID_PARAMS, f"{method}: {error!s:.200}") from error
        return getattr(owner, name)(**params)

    def _close_bus(self) -> None:
        bus, self._bus = self._bus, None
        if bus is not None:
            bus.close()


@functools.cache
def _signature(owner: type, name: str) -> inspect.Signature:
    return inspect.signature(getattr(owner, name))


def serve(buses: Mapping[str, Any]) -> None:
    """Answer lines until stdin ends."""
    lines = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # a stray print must not break the protocol
    driver = Driver(buses)
    with lines, answers:
        while line := read_line(lines):
            answers.write(_encode(driver.answer(line)))
            answers.flush()
        driver.close()


def _parse(line: bytes) -> Any:
    if len(line) > LINE_BYTES_MAX:
        raise Rejected(PARSE_ERROR, f"a line may have {LINE_BYTES_MAX} bytes", "PAYLOAD_TOO_LARGE")
    try:
        return jsontext.decode(line.decode(), jsontext.AROUND_MAX)
    except ValueError as error:
        raise Rejected(PARSE_ERROR, f"the line is no JSON: {error!s:.200}") from error


def _parse_leniently(line: bytes) -> Any:
    """A line that holds NaN is refused, and yet its id can be read, so the refusal finds its caller."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _id_of(request: Any) -> str | int | None:
    request_id = request.get("id") if isinstance(request, dict) else None
    return request_id if type(request_id) in (str, int) else None


def _check_request(request: Any) -> tuple[str, dict[str, Any]]:
    if type(request) is not dict:
        raise Rejected(INVALID_REQUEST, "a request is an object")
    if request.get("jsonrpc") != "2.0" or _id_of(request) is None:
        raise Rejected(INVALID_REQUEST, 'a request has "jsonrpc": "2.0" and an id')
    method, params = request.get("method"), request.get("params", {})
    if type(method) is not str:
        raise Rejected(INVALID_REQUEST, "method must be a string")
    if type(params) is not dict:
        raise Rejected(INVALID_PARAMS, "params must be an object")
    return method, params


def _error(request_id: Any, rpc: int, message: str, code: str, definite: bool) -> dict[str, Any]:
    data = {"code": code, "definite": definite}
    return {"jsonrpc": "2.0", "id": request_id, "error": {"code": rpc, "message": message, "data": data}}


def _encode(response: dict[str, Any]) -> bytes:
    # Bytes that a stranger stored in a text column are shown as text, rather than breaking the reply.
    return json.dumps(response, default=_readable).encode() + b"\n"


def _readable(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else repr(value)


class _Reference(Mapping[str, Any]):
    """Our own buses, each imported when it is asked for: a session serves one."""

    CLASSES: ClassVar = {
        "worker": "WorkerBus",
        "comms": "CommsBus",
        "relay": "RelayBus",
        "timeline": "TimelineBus",
        "mailbox": "MailboxBus",
    }

    def __getitem__(self, system: str) -> Any:
        return pkgutil.resolve_name(f"refbus.{system}.bus:{self.CLASSES[system]}")

    def __iter__(self) -> Iterator[str]:
        return iter(self.CLASSES)

    def __len__(self) -> int:
        return len(self.CLASSES)


if __name__ == "__main__":
    serve(_Reference())
