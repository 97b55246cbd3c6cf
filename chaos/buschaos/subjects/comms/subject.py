"""`comms`, as chaos sees it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from buschaos import reading
from buschaos.plan import Call
from buschaos.subjects.base import ACTS, Epilogue, Memory, Repertoire, Subject, Truth
from buschaos.subjects.comms.deliveries import deliveries
from buschaos.subjects.comms.files import append_as_a_hook, artifacts, facts
from buschaos.subjects.comms.operations import FORGETS, LIKE, OPERATIONS, OTHERS, PEERS, READS, WAITS, ids, prepare
from buschaos.subjects.comms.roles import ROLES
from buschaos.subjects.comms.state import comparable, problems, promises
from busproof.bus.session import Session
from busproof.contract.history import Event

NOBODYS = "00000000-0000-4000-8000-000000000000"
_PAGE = 200


class CommsMemory(Memory):
    """The messages received last, and those in hand."""

    def __init__(self) -> None:
        self._received: list[str] = []
        self._held: list[tuple[str, int | None]] = []

    def fill(self, call: Call) -> dict[str, Any]:
        """A claim is of a received message, a completion of a claimed one; without one, of nobody's message."""
        params = dict(call.params)
        pick = params.pop("pick", 0)
        if call.method == "claim_message":
            params["message_id"] = self._received[pick % len(self._received)] if self._received else NOBODYS
        elif call.method == "complete_message":
            # Without a claim in hand a completion would be refused, and rightly: look for work instead.
            if not self._held:
                return {"message_id": NOBODYS}
            params["message_id"], count = self._held.pop(pick % len(self._held))
            if count is not None:
                params["delivery_count"] = count
        return params

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """Ids, and the count that fences a completion."""
        if call.method == "receive_messages":
            self._received = [message["id"] for message in reply["messages"]]
        elif call.method == "claim_message" and reply["claimed"]:
            self._held.append((params["message_id"], reply.get("delivery_count")))


def read_all(session: Session, _told: list[Event]) -> None:
    """Receive, claim and complete until nothing is left."""

    def look() -> list[dict[str, Any]]:
        return list(session.call("receive_messages", channels=["general"], limit=_PAGE)["messages"])

    for messages in reading.pages(look, itemgetter("id"), "lease"):
        for message in messages:
            if session.call("claim_message", message_id=message["id"])["claimed"]:
                session.call("complete_message", message_id=message["id"])


SUBJECT = Subject(
    Repertoire(
        OPERATIONS, prepare, ids, reads=READS, like=LIKE, peers=PEERS, others=OTHERS, waits=WAITS, forgets=FORGETS
    ),
    Truth(facts, comparable, promises, problems, deliveries),
    acts=ACTS | {"chaos.waits"},
    roles=ROLES,
    memory=CommsMemory,
    retried=frozenset({"send_message"}),
    # A claim may have timed out and gone to another process; a sender may be too quick.
    expected=frozenset({"BUSY", "NOT_CLAIMED", "RATE_LIMITED"}),
    settle=("receive_messages", {"agent_id": "bob", "channels": ["general"], "limit": 1}),
    export="export_audit_trail",
    is_export_apart=True,
    files=artifacts,
    read_all=read_all,
    settle_ms=120_000,
    meanwhile=append_as_a_hook,
    epilogue=(
        Epilogue("send_message", {"from_agent": "alice", "to_agent": "bob", "message_type": "note", "payload": {}}),
        Epilogue("receive_messages", {"agent_id": "bob", "channels": ["general"]}),
    ),
)
