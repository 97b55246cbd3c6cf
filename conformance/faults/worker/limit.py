"""Faults of worker, limit."""

from __future__ import annotations

import json
import os
from typing import Any

from plant import fault, patch, reword

from refbus import driver
from refbus.kernel import jsontext
from refbus.kernel.errors import Backpressure, BusError, InvalidArgument
from refbus.kernel.rules import limit
from refbus.worker import log, route
from refbus.worker.bus import WorkerBus
from refbus.worker.message import Draft, new_ids
from refbus.worker.route import Routes

CONTROL = "limit.process_lives"


@fault("worker.limit.13")
class ABatchKnowsNoBound(WorkerBus):
    """The bound on unread messages holds for publish, and not for publish_many."""

    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        bound, self.store.unread_max = self.store.unread_max, None
        try:
            return super().publish_many(agent_id, messages)
        finally:
            self.store.unread_max = bound


@fault("worker.limit.14")
class BackpressureNeverEnds(WorkerBus):
    """An ack makes no room."""

    full = False

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        if self.full and message.get("to") == "b":
            raise Backpressure("still full")
        try:
            return super().publish(agent_id, message)
        except Backpressure:
            self.full = self.full or message.get("to") == "b"
            raise


@fault("worker.limit.13")
def backpressure_one_late():
    """One message more than the bound may wait."""
    _room, _count_unread = limit.room, Routes.count_unread
    patch(limit, room=lambda recipient, unread, more, unread_max: _room(recipient, unread, more, unread_max + 1))
    patch(Routes, count_unread=lambda self, tx, agent, count_max: _count_unread(self, tx, agent, count_max + 1))


@fault("worker.limit.15")
class BackpressureUnasked(WorkerBus):
    """A bound on unread messages is set by default."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **{"unread_max": 100, **options})


@fault("worker.limit.13", item="corpus:redriven_and_at_the_bound")
class BatchesTakeNoRoom(WorkerBus):
    """publish_many knows no bound on unread messages."""

    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> Any:
        bound, self.store.unread_max = self.store.unread_max, None
        try:
            return super().publish_many(agent_id, messages)
        finally:
            self.store.unread_max = bound


@fault("worker.limit.16", item="corpus:races")
def broadcasts_are_held_back():
    """A broadcast is refused while one agent is full."""
    check_room = log.Log._refuse_beyond_bound

    def for_all(self: log.Log, tx: Any, draft: Any) -> None:
        check_room(self, tx, draft)
        unread_max = self._store.unread_max
        if unread_max is not None and draft.to is None:
            for (agent,) in tx.rows("SELECT agent_id FROM cursors"):
                if self._routes.count_unread(tx, agent, unread_max) >= unread_max:
                    raise Backpressure(f"{agent} is full")

    patch(log.Log, _refuse_beyond_bound=for_all)


@fault("worker.limit.16", item="corpus")
def broadcasts_take_no_room():
    """Broadcasts do not count as unread."""
    reword(route, "_COUNT_UNREAD", "WHERE to_agent IS NULL AND", "WHERE FALSE AND")


@fault("worker.limit.05", dies_of="INTERNAL", item="corpus:options")
def clamps_numbers():
    """A number that does not fit passes: the check sees one that was made to fit."""
    _integer = limit.integer

    def _clamped(what: str, value: Any, low: int = 0, high: int = limit.INT64_MAX) -> int:
        return _integer(what, max(low, min(high, value)) if type(value) is int else value, low, high)

    patch(limit, integer=_clamped)


@fault("worker.limit.07")
class DeclaresLessThanItTakes(WorkerBus):
    """hello declares a limit on payloads that the bus does not keep."""

    LIMITS = {**WorkerBus.LIMITS, "payload_bytes_max": 1_000_000}  # noqa: RUF012


@fault("worker.limit.10", control="cursor.poll_does_not_advance", dies_of="ended before")
class DiesOfABadCall(WorkerBus):
    """A bad publish ends the process."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id, message)
        except InvalidArgument:
            os._exit(3)


@fault("worker.limit.11", dies_of="ended before")
def dies_of_a_bad_line():
    """A line that is no JSON ends the process."""
    _answer = driver.Driver.answer

    def _unguarded(self: Any, line: bytes) -> dict[str, Any]:
        json.loads(line)
        return _answer(self, line)

    patch(driver.Driver, answer=_unguarded)


@fault("worker.limit.02")
class IgnoresUnknownFields(WorkerBus):
    """A field that nobody knows is dropped without a word."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        known = ("id", "to", "type", "correlation_id", "in_reply_to", "payload")
        return super().publish(agent_id, {key: value for key, value in message.items() if key in known})


@fault("worker.limit.13")
class LooksForRoomFirst(WorkerBus):
    """The bus checks for room for a message before it takes the lock."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> Any:
        limit.name("agent_id", agent_id)
        draft = Draft(message, *new_ids(1))
        bound = self.store.unread_max
        if bound is not None and draft.to is not None:
            with self.store.snapshot() as tx:
                limit.room(draft.to, self.routes.count_unread(tx, draft.to, bound), 1, bound)
        self.store.unread_max = None
        try:
            return super().publish(agent_id, message)
        finally:
            self.store.unread_max = bound


@fault("worker.limit.08", item="corpus:06056")
def names_become_paths():
    """A worker's name is put into a path as it is."""
    patch(limit, name=limit.text)


@fault("worker.limit.17")
def redriven_is_not_unread():
    """A redriven message does not count against the bound."""
    reword(route, "_COUNT_UNREAD", "WHERE seq IN (SELECT seq FROM redriven WHERE agent_id = :agent)", "WHERE 0")


@fault("worker.limit.18")
class SaysLessIsInline(WorkerBus):
    """hello tells as inline_payload_bytes_max half of the size that really stays in the row."""

    LIMITS = WorkerBus.LIMITS | {"inline_payload_bytes_max": 2048}


@fault("worker.limit.09")
class StoresWhatItRefuses(WorkerBus):
    """A refused publish leaves a row."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id, message)
        except BusError:
            super().publish("bus", {"type": "refused"})
            raise


@fault("worker.limit.07")
def takes_any_size():
    """A payload may be as large as memory."""
    patch(limit, PAYLOAD_BYTES_MAX=10**12)


@fault("worker.limit.01", control="cursor.poll_does_not_advance", item="corpus:06079")
def takes_any_type():
    """A value of another type is turned into text."""
    _text = limit.text
    patch(limit, text=lambda what, value: _text(what, value if isinstance(value, str) else str(value)))


@fault("worker.limit.04", item="corpus:06091")
def takes_half_surrogates():
    """Half surrogates in a payload are stored."""
    patch(jsontext, encode=lambda value: json.dumps(value, allow_nan=False))


@fault("worker.limit.06", dies_of="not JSON", item="corpus:values")
def takes_nan():
    """NaN and Infinity are stored as if they were JSON."""
    patch(jsontext, encode=json.dumps, decode=lambda text, around=0: json.loads(text))


@fault("worker.limit.03", item="corpus:06216")
def takes_nul():
    """Names may hold NUL."""
    _text = limit.text
    patch(limit, text=lambda what, value: value if isinstance(value, str) and "\0" in value else _text(what, value))


@fault("worker.limit.12")
def unknown_methods_are_bad_arguments():
    """An unknown method is answered with another number than -32601."""
    patch(driver, METHOD_NOT_FOUND=-32000)


@fault("worker.limit.19", author="public report, mcp_agent_mail #116")
class LeavesADescriptor(WorkerBus):
    """Each export leaves a descriptor open."""

    def export_to_jsonl(self) -> Any:
        os.open(self.folder, os.O_RDONLY)
        return super().export_to_jsonl()
