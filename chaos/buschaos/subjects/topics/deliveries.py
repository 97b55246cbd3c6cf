"""What readers received over all deaths of their sessions, and what a kill may take from them (B4).

The kit's `topic_delivery` says nothing of a reader once a sync of its was cut: that one may still happen at any time.
Here its server is known to be dead, so its cursor can be followed:

- what an answered sync said of the cursor is stored: nothing up to there is received again;
- what is in the topic was received, but for what cut syncs with auto_advance may have consumed: as many messages as
  each had room for. Who acknowledges loses none.

Holds for a history that was read to its end, and without cursor_reset.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

from buschaos.state import Problem, short
from busproof.checks.calls import Calls
from busproof.checks.topics_facts import TopicsFacts, extract
from busproof.history import Event

Reader = tuple[str, str]  # name, topic
ITEMS_MAX = 20  # where a sync does not say (seed 004, 4.3)


def deliveries(events: Iterable[Event]) -> list[Problem]:
    """What was received again, and what never."""
    events = list(events)
    facts = extract(events)
    return [*_again(facts), *_never(facts, _room_in_cut(events))] if facts.dump_at is not None else []


def _again(facts: TopicsFacts) -> Iterable[Problem]:
    stored: dict[Reader, int] = defaultdict(int)
    for sync in facts.synced:
        reader = (sync.reader, sync.topic)
        seqs = [seq for seq, _ in sync.got]
        if again := [seq for seq in seqs if seq <= stored[reader]]:
            told = f"{sync.reader} was answered cursor {stored[reader]}, and received {short(again)} afterwards"
            yield Problem("cursor", f"doubled: {told}", (sync.begin, sync.end))
        stored[reader] = max(stored[reader], sync.after)


def _room_in_cut(events: Iterable[Event]) -> Counter[Reader]:
    """How many messages syncs that nobody saw the end of may have consumed."""
    room = Counter[Reader]()
    for call in Calls(events):
        if call.begun.op == "sync" and call.outcome == "info" and call.params.get("auto_advance", True):
            room[str(call.begun.agent), call.params["topic_id"]] += call.params.get("max_items") or ITEMS_MAX
    return room


def _never(facts: TopicsFacts, room: Counter[Reader]) -> Iterable[Problem]:
    received: dict[Reader, set[int]] = defaultdict(set)
    for sync in facts.synced:
        received[sync.reader, sync.topic].update(seq for seq, _ in sync.got)
    for (reader, topic), seqs in received.items():
        lost = [
            message.seq
            for message in facts.stored
            if message.topic == topic and message.sender != reader and message.seq not in seqs
        ]
        if len(lost) > room[reader, topic]:
            told = f"{reader} never received {short(sorted(lost))}, and kills explain {room[reader, topic]}"
            yield Problem("cursor", f"lost: {told}")
