"""The last calls of a program up to its difference, as events: a report draws them like those of a scenario."""

from __future__ import annotations

import json
from typing import Any

from busproof.oracle.models.spec import Refusal
from busproof.play.explore.orders import Called
from busproof.play.explore.search import Program
from busproof.play.explore.stage import Mismatch
from busproof.words import as_json, shortened

CALLS_SHOWN, CHARS_SHOWN = 8, 600


def events_of(program: Program, mismatch: Mismatch) -> tuple[dict[str, Any], ...]:
    """An invoke and an answer for each call; calls that were in the air at once overlap. `differs` marks the answers
    that the model does not have."""
    groups = _until(mismatch, [calls for calls, _ in program.history])
    while len(groups) > 1 and sum(map(len, groups)) > CALLS_SHOWN:
        groups = groups[1:]
    events: list[dict[str, Any]] = []
    for calls in groups:
        # The hand's calls come while the others wait; a call that waits for news stands first, and ends last.
        nested = sorted(calls, key=lambda c: c.at == "hand")
        events += [_event(c, "invoke", c.params) for c in nested]
        events += [_event(c, *_ended(c), differs=_is_of(c, mismatch.called)) for c in reversed(nested)]
    return tuple({"index": index, **event} for index, event in enumerate(events))


def _until(mismatch: Mismatch, groups: list[list[Called]]) -> list[list[Called]]:
    """Up to the calls that differ; a choice is followed, so a program goes on after these."""
    last = mismatch.called[-1:]
    place = next((n for n, calls in enumerate(groups) if any(_is_of(c, last) for c in calls)), len(groups))
    return groups[: place + 1]


def _is_of(called: Called, calls: list[Called]) -> bool:
    """Is it that very call, and not another like it?"""
    return any(called is other for other in calls)


def _ended(called: Called) -> tuple[str, Any]:
    if isinstance(called.seen, Refusal):
        return "fail" if called.seen.definite else "info", f"{called.seen.code}: {called.seen.message:.300}"
    return "ok", called.seen


def _event(called: Called, kind: str, value: Any, *, differs: bool = False) -> dict[str, Any]:
    shown = json.loads(json.dumps(shortened(value), default=as_json))  # the hand reads bytes
    if len(text := as_json(shown)) > CHARS_SHOWN:
        shown = f"{text[:CHARS_SHOWN]}…"
    event = {"process": called.at, "type": kind, "op": called.method, "bus_ms": called.now_ms, "value": shown}
    return event | ({"agent": "the kit"} if called.at == "hand" else {}) | ({"differs": True} if differs else {})
