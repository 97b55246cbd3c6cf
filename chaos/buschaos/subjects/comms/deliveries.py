"""The messages received on a `comms` bus, held against those that were sent."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from buschaos.contents import Sent, altered
from buschaos.state import Problem
from busproof.contract.history import Event

_COLUMNS = {"type": "message_type", "to_agent": "to_agent", "payload": "payload", "priority": "priority"}


def deliveries(events: Iterable[Event]) -> Iterator[Problem]:
    """Messages that an agent receives in another form than they were sent."""
    sent: dict[str, Sent] = {}
    received: list[tuple[int, str, dict[str, Any]]] = []
    for event in events:
        if event.type == "invoke" and event.op == "send_message" and "message_id" in event.value:
            message = {"priority": 5, **event.value}
            sent[message["message_id"]] = {column: message.get(name) for column, name in _COLUMNS.items()}
        elif event.type == "ok" and event.op == "receive_messages":
            received += [(event.index, row["id"], row) for row in event.value["messages"]]
    return altered(received, sent)
