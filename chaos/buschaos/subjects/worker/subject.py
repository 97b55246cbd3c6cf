"""`worker`, as chaos sees it."""

from __future__ import annotations

from operator import itemgetter
from typing import Any

from buschaos import reading
from buschaos.plan import Call
from buschaos.subjects.base import ACTS, Epilogue, Memory, Repertoire, Subject, Truth
from buschaos.subjects.worker.deliveries import deliveries
from buschaos.subjects.worker.files import beside, facts
from buschaos.subjects.worker.operations import OPERATIONS, PEERS, READS, WAITS, ids, prepare
from buschaos.subjects.worker.roles import ROLES
from buschaos.subjects.worker.shown import shown
from buschaos.subjects.worker.state import ahead, comparable, problems, promises
from busproof.bus.session import Session
from busproof.contract.history import Event

_PAGE = 500


class WorkerMemory(Memory):
    """The seqs of the last poll, and the tokens of the claimed tasks."""

    def __init__(self) -> None:
        self._polled: list[int] = []
        self._tokens: dict[str, int] = {}

    def fill(self, call: Call) -> dict[str, Any]:
        """An ack is of a share of the messages polled last."""
        params = dict(call.params)
        if call.method == "ack":
            count = round(params.pop("share") * len(self._polled))
            params["seq"] = self._polled[count - 1] if count else 0
        elif call.method in ("renew_claim", "release_claim") and params["task_id"] in self._tokens:
            params["token"] = self._tokens[params["task_id"]]
        return params

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """Seqs and tokens."""
        if call.method == "poll":
            self._polled = [message["seq"] for message in reply["messages"]]
        elif call.method == "try_claim_task" and isinstance(reply.get("token"), int):
            self._tokens[params["task_id"]] = reply["token"]


def read_all(session: Session, _told: list[Event]) -> None:
    """Poll and acknowledge until nothing is left."""

    def look() -> list[dict[str, Any]]:
        return list(session.call("poll", limit=_PAGE)["messages"])

    for messages in reading.pages(look, itemgetter("seq"), "cursor"):
        session.call("ack", seq=messages[-1]["seq"])


SUBJECT = Subject(
    Repertoire(OPERATIONS, prepare, ids, reads=READS, peers=PEERS, waits=WAITS),
    Truth(facts, comparable, promises, problems, deliveries),
    acts=ACTS | {"chaos.waits"},
    roles=ROLES,
    memory=WorkerMemory,
    retried=frozenset({"publish", "publish_many"}),
    expected=frozenset({"BUSY"}),
    settle=("poll", {"agent_id": "bob", "limit": 1}),
    export="export_to_jsonl",
    files=beside,
    ahead=ahead,
    shown=shown,
    read_all=read_all,
    epilogue=(
        Epilogue("publish", {"agent_id": "alice", "message": {"id": "epilogue", "to": "bob", "type": "note"}}),
        Epilogue("poll", {"agent_id": "bob"}),
        Epilogue("try_claim_task", {"task_id": "epilogue", "agent_id": "bob"}, ("lease",)),
    ),
)
