"""The state of a `timeline` store as a value that can be compared, and all that must be true of it in any case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from buschaos.nemeses.server import KILL, START
from buschaos.state import Evidence, Problem, Promise, answered, cleaned, health, short
from buschaos.subjects.timeline.chain import broken
from buschaos.subjects.timeline.operations import subject
from busproof.contract.history import Event

FORGETS_NS = 5_000_000_000  # JetStream writes an acknowledgement some tenths of a second after it answered it
OF_TIME = ("time_us", "visible_at_us", "hash", "previous")


def comparable(dump: dict[str, Any], known_ids: set[str], clock: str) -> dict[str, Any]:
    """A dump without values that two runs of the same calls may not share: on a wall clock times, and so hashes."""
    return cleaned(dump, lambda _row, _column, value: value, lambda column: clock == "manual" or column not in OF_TIME)


def promises(events: Iterable[Event]) -> list[Promise]:
    """Every acknowledged message of a history."""
    return [
        Promise(event.value["subject"], event.value["number"], asked)
        for asked, event in answered(events)
        if event.op in ("send", "reply")
    ]


def problems(evidence: Evidence) -> list[Problem]:
    """The problems of a record."""
    if "died" in evidence.facts:
        return [Problem("log", evidence.facts["died"])]
    wrong = [*health(evidence)]
    if evidence.dump is not None:
        messages = evidence.dump["messages"]
        if damaged := [row["subject"] for row in messages if row.get("key") is None]:
            return [*wrong, Problem("log", f"damaged: {short(damaged)}")]
        wrong += _doubled(messages)
        wrong += _kept_promises(messages, evidence.promises)
        wrong += broken(messages, evidence.dump["timelines"])
    return wrong


def _doubled(messages: list[dict[str, Any]]) -> Iterable[Problem]:
    for (name, nonce), times in Counter((row["subject"], row.get("nonce")) for row in messages).items():
        if times > 1:
            yield Problem("log", f"doubled: {name} {nonce or ''} stands {times} times in the record")


def _kept_promises(messages: list[dict[str, Any]], kept: list[Promise]) -> Iterable[Problem]:
    stored = {(row["subject"], row["number"]): row["payload"] for row in messages}
    for promise in kept:
        place = (promise.id, promise.seq)
        if place not in stored:
            yield Problem("log", f"lost: {promise.id} was acknowledged as number {promise.seq}, and is not there")
        elif stored[place] != promise.message.get("payload"):
            yield Problem("log", f"changed: {promise.id} has not the payload that was acknowledged")


def deliveries(events: Iterable[Event]) -> Iterable[Problem]:
    """A sent request comes to a worker, and never again once an acknowledgement was answered (T5).

    A history ends with a reading that takes and acknowledges all that waits, when every time of a worker is over. A
    server that was killed soon after it answered, or before its answer was recorded, may have forgotten an
    acknowledgement (T23).
    """
    died_ns = -1
    asked: dict[int, Event] = {}
    sent: dict[str, int] = {}
    came: set[str] = set()
    names: dict[str, str] = {}  # delivery → subject
    settled: dict[str, Event] = {}  # subject → the answer to its acknowledgement
    for event in events:
        if event.type == "nemesis" and event.op in (KILL, START):
            died_ns = event.mono_ns
            settled = {name: ack for name, ack in settled.items() if died_ns - ack.mono_ns > FORGETS_NS}
        if event.type == "invoke":
            asked[event.process] = event
        if event.type != "ok":
            continue
        begun = asked[event.process]
        if event.op == "send" and begun.value["key"]["type"] == "request":
            sent[subject(begun.value["key"])] = event.index
        elif event.op == "ack":
            if begun.value["delivery"] in names and begun.mono_ns > died_ns:
                settled.setdefault(names[begun.value["delivery"]], event)
        elif event.op == "fetch" and event.value["message"] is not None:
            name = event.value["message"]["subject"]
            names[event.value["message"]["delivery"]] = name
            came.add(name)
            if name in settled and settled[name].index < begun.index:
                shown = (settled[name].index, event.index)
                yield Problem("cursor", f"{name} came again after its acknowledgement", shown)
    for name in sorted(sent.keys() - came):
        yield Problem("cursor", f"{name} was sent, and came to no worker", (sent[name],))
