"""`timeline`, as chaos sees it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from buschaos import reading
from buschaos.plan import Call
from buschaos.subjects.base import ACTS, Epilogue, Memory, Repertoire, Subject, Truth
from buschaos.subjects.timeline.operations import LIKE, OPERATIONS, PEERS, READS, WAITS, ids, prepare, request, wanted
from buschaos.subjects.timeline.roles import ROLES, SERVICE
from buschaos.subjects.timeline.state import comparable, deliveries, problems, promises
from busproof.bus.session import Session
from busproof.contract.history import Event
from busproof.contract.timeline import DB_NAME


class TimelineMemory(Memory):
    """The requests fetched and not yet acknowledged: key and delivery."""

    def __init__(self) -> None:
        self._held: list[tuple[dict[str, Any], str]] = []
        self._settled = ""

    def fill(self, call: Call) -> dict[str, Any]:
        """A call about a request in hand; with nothing in hand, a harmless call."""
        params = dict(call.params)
        if "pick" not in params:
            return params
        pick = params.pop("pick")
        if call.method == "reply":
            key = self._held[pick % len(self._held)][0] if self._held else request("nobody")
            # A worker that is given a request after another answers it in the same words.
            return {"key": key, "payload": {"answers": key["operation"]}}
        if not self._held:
            return {"delivery": self._settled}
        _, self._settled = self._held.pop(pick % len(self._held))
        return {"delivery": self._settled}

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """Keys and deliveries."""
        if call.method == "fetch" and reply["message"] is not None:
            self._held.append((reply["message"]["key"], reply["message"]["delivery"]))


def read_all(session: Session, _told: list[Event]) -> None:
    """Fetch and acknowledge until nothing is left."""

    def look() -> list[dict[str, Any]]:
        message = session.call("fetch", filter=wanted(SERVICE))["message"]
        return [] if message is None else [message]

    for (message,) in reading.pages(look, lambda message: message["subject"], "cursor"):
        session.call("ack", delivery=message["delivery"])


def inspect(store: Path) -> dict[str, Any]:
    """SQLite's judgement of the file."""
    return {"integrity": reading.integrity(store / DB_NAME)}


SUBJECT = Subject(
    Repertoire(OPERATIONS, prepare, ids, reads=READS, like=LIKE, peers=PEERS, waits=WAITS),
    Truth(inspect, comparable, promises, problems, deliveries),
    acts=ACTS | {"chaos.waits"},
    roles=ROLES,
    memory=TimelineMemory,
    retried=frozenset({"send", "fork"}),
    # Nothing may be in hand yet, or nothing at a fork point.
    expected=frozenset({"BUSY", "INVALID_ARGUMENT", "NOT_FOUND"}),
    settle=("timelines", {}),
    id="subject",
    read_all=read_all,
    settle_ms=120_000,
    epilogue=(
        Epilogue("send", {"key": request("epilogue"), "payload": "on"}),
        Epilogue("fetch", {"filter": wanted("epilogue")}),
    ),
)
