"""The messages polled on a `worker` bus, held against those that were published."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from buschaos.contents import Sent, altered
from buschaos.state import Problem
from busproof.contract.history import Event

_COLUMNS = {"to_agent": "to", "type": "type", "correlation_id": "correlation_id", "payload": "payload"}


def deliveries(events: Iterable[Event]) -> Iterator[Problem]:
    """Messages that a poll shows in another form than they were published."""
    sent: dict[str, Sent] = {}
    polled: list[tuple[int, str, dict[str, Any]]] = []
    for event in events:
        if event.type == "invoke" and event.op in ("publish", "publish_many"):
            for message in [event.value["message"]] if event.op == "publish" else event.value["messages"]:
                sent[message["id"]] = {column: message.get(name) for column, name in _COLUMNS.items()}
        elif event.type == "ok" and event.op == "poll":
            polled += [(event.index, row["id"], row) for row in event.value["messages"]]
    return altered(polled, sent)
