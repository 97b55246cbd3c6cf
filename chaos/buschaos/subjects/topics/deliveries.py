"""The messages that readers received over all deaths of their sessions, and those that a kill may take from them (B4).

For the kit's `syncs`, a sync that was cut may still happen at any time. Here its server is known to be dead, so more
can be said of its reader:

- the cursor that an answered sync told is stored: nothing up to there is received again;
- every message in the topic was received, except those that cut syncs with auto_advance may have consumed: as many as
  each had room for. A reader that acknowledges loses none.

Holds for a history that was read to its end, and without cursor_reset.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

from buschaos import contents
from buschaos.state import Problem, short
from busproof.contract.history import Event
from busproof.oracle.checks import Facts, extract
from busproof.oracle.checks.calls import Call, calls
from busproof.oracle.checks.extract.topics import ITEMS_MAX, SOURCE

Reader = tuple[str, str]  # name, topic


def deliveries(events: Iterable[Event]) -> list[Problem]:
    """The messages that were received again, and those that never were."""
    events = list(events)
    facts = extract(events, SOURCE)
    if facts.dump_at is None:
        return []
    altered = contents.altered(_received(events), _sent(events))
    seqs_of = {end: [row.seq or 0 for row in rows] for end, rows in facts.answers().items()}
    return [*altered, *_again(facts, seqs_of), *_never(facts, seqs_of, _room_in_cut(events))]


def _sent(events: list[Event]) -> dict[str, contents.Sent]:
    """The sent messages under the names that their senders gave them."""
    items = [item for event in events if event.type == "invoke" and event.op == "sync" for item in _items(event.value)]
    named = [item for item in items if item.get("client_message_id") is not None]
    columns = ("content_markdown", "metadata")
    return {item["client_message_id"]: {column: item.get(column) for column in columns} for item in named}


def _items(params: dict[str, Any]) -> list[dict[str, Any]]:
    return params.get("outbox") or []


def _received(events: list[Event]) -> Iterator[tuple[int, str, dict[str, Any]]]:
    for event in events:
        if event.type == "ok" and event.op == "sync":
            for row in event.value["received"]:
                yield event.index, str(row.get("client_message_id")), row


def _again(facts: Facts, seqs_of: dict[int, list[int]]) -> Iterable[Problem]:
    stored: dict[Reader, int] = defaultdict(int)
    for sync in sorted(facts.reads, key=lambda sync: sync.end):
        reader = (sync.reader, sync.lane)
        if again := [seq for seq in seqs_of[sync.end] if seq <= stored[reader]]:
            why = f"{sync.reader} was answered cursor {stored[reader]}, and received {short(again)} afterwards"
            yield Problem("cursor", f"doubled: {why}", (sync.begin, sync.end))
        stored[reader] = max(stored[reader], sync.after or 0)


def _room_in_cut(events: Iterable[Event]) -> Counter[Reader]:
    """How many messages may have been consumed by syncs whose end nobody saw."""
    room = Counter[Reader]()
    for call in calls(events):
        if not isinstance(call, Call) or call.op != "sync" or call.outcome != "info":
            continue
        if call.params.get("auto_advance", True):
            room[call.agent, call.params["topic_id"]] += call.params.get("max_items") or ITEMS_MAX
    return room


def _never(facts: Facts, seqs_of: dict[int, list[int]], room: Counter[Reader]) -> Iterable[Problem]:
    received: dict[Reader, set[int]] = defaultdict(set)
    for sync in facts.reads:
        received[sync.reader, sync.lane].update(seqs_of[sync.end])
    for (reader, topic), seqs in received.items():
        lost = [
            row.seq or 0 for row in facts.stored if row.lane == topic and row.sender != reader and row.seq not in seqs
        ]
        if len(lost) > room[reader, topic]:
            why = f"{reader} never received {short(sorted(lost))}, and kills explain {room[reader, topic]}"
            yield Problem("cursor", f"lost: {why}")
