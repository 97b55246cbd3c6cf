"""The operations that show why a row is broken, for a reader and for `busproof replay`."""

from __future__ import annotations

import math
from typing import Any

from busproof.contract.history import Event
from busproof.play.suite import Finding

EVENTS_SHOWN = 12
SHOWN_TYPES = ("invoke", "ok", "fail", "info", "nemesis")


def operations_of(events: list[Event], finding: Finding) -> list[dict[str, Any]]:
    """The operations that show it: those that the script blames, or the ones just before the expectation. An answer
    comes with its call, which may have been sent long before: in a race all calls stand before the first answer."""
    if finding.shown:
        chosen = [event for event in events if event.index in finding.shown][:EVENTS_SHOWN]
    else:
        chosen = [e for e in events if e.index <= finding.at_event and e.op != "clock.set" and e.type in SHOWN_TYPES]
        chosen = chosen[-EVENTS_SHOWN:]
    wanted = {event.index for event in chosen} | {call_of(event, events) for event in chosen}
    return [short(event) for event in events if event.index in wanted]


def short(event: Event) -> dict[str, Any]:
    members = event.told("run", "system", "mono_ns")
    if len(repr(members.get("value"))) > 1_000:
        members["value"] = repr(members["value"])[:1_000] + "…"
    return members


def script_of(events: list[Event], finding: Finding, opened_with: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    """The calls that lead there, for `busproof replay`; if some calls each show it alone, only these."""
    steps: list[dict[str, Any]] = []
    opened: set[int] = set()
    for e in events:
        is_wanted = not finding.shown or e.index in finding.shown or e.op == "clock.set"
        is_step = e.type in ("invoke", "nemesis") and len(repr(e.value)) < 20_000
        if e.index > finding.at_event or not is_wanted or not is_step:
            continue
        step = {"process": e.process, "method": e.op, "params": e.value if e.type == "invoke" else {}}
        if e.type == "invoke" and (answer := _answer_to(e, events)) is not None:
            step["answered"] = answer  # a replay learns from it which ids to put others for
        if e.type == "invoke" and _has_company(e, events):
            step["at_once"] = True  # a replay, which sends one call after the other, says that it is no race
        if e.process not in opened and opened_with.get(e.process):
            step["options"] = opened_with[e.process]
        opened.add(e.process)
        steps.append(step)
    return steps


def _has_company(call: Event, events: list[Event]) -> bool:
    """Was it, or another process's call, sent before the answer to the other came?"""
    under_way = {e.process: e for e in events if e.type == "invoke" and e.index < call.index}  # the last of each
    end = _end_of(call, events)
    return any(e.process != call.process and _end_of(e, events) > call.index for e in under_way.values()) or any(
        e.type == "invoke" and e.process != call.process and call.index < e.index < end for e in events
    )


def _end_of(call: Event, events: list[Event]) -> float:
    """The index of its answer; none came: never."""
    own = (e.index for e in events if e.index > call.index and e.process == call.process and e.type != "invoke")
    return next(own, math.inf)


def _answer_to(call: Event, events: list[Event]) -> Any:
    """The answer, if it says anything."""
    later = (e for e in events if e.index > call.index and e.process == call.process and e.op == call.op)
    answer = next((e for e in later if e.type != "invoke"), None)
    return answer.value if answer is not None and answer.type == "ok" and len(repr(answer.value)) < 20_000 else None


def call_of(answer: Event, events: list[Event]) -> int:
    """The index of the call that this answers; an answer alone may not say what was asked."""
    if answer.type not in ("ok", "fail", "info"):
        return answer.index
    own = (e for e in events if e.index < answer.index and e.process == answer.process and e.op == answer.op)
    return max((e.index for e in own if e.type == "invoke"), default=answer.index)
