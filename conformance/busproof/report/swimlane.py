"""The operations of a failure as a picture: a lane for each session, time from left to right, in SVG.

An operation is a bar from its call to its answer, green if it was answered, red if it was refused or nobody knows;
concurrent operations show at a glance. A kill is a bar of its own; a lease that was granted is a line below its claim,
with the time at which it ends. Time is the order of events: a bus whose clock the kit sets does all at one moment.
"""

from __future__ import annotations

import json
from typing import Any

from markupsafe import Markup

LANE, STEP, LEFT, TEXT = 46, 74, 96, 34  # pixels: height of a lane, width of an event, room for names; characters
_CLASSES = {"ok": "ok", "fail": "failed", "info": "info"}
Event = dict[str, Any]


def picture(events: list[Event]) -> Markup:
    """An <svg>; empty without events. A bus's words in it are escaped."""
    if not events:
        return Markup("")
    sessions = list(dict.fromkeys(_session(event) for event in events))
    bars = list(_bars(events))
    width, height = LEFT + STEP * (len(events) + 3), LANE * len(sessions) + 26
    parts = [Markup('<div class="wide"><svg width="{}" height="{}" role="img">').format(width, height)]
    for number, session in enumerate(sessions):
        y = number * LANE + LANE - 1
        parts.append(Markup('<text class="soft" x="0" y="{}">{}</text>').format(y - 25, session[:12]))
        parts.append(Markup('<line class="lane" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(LEFT, width, y, y))
    first_bad = next((bar["call"]["index"] for bar in bars if bar["class"] == "failed"), None)
    for bar in bars:
        parts += _drawn(bar, sessions.index(_session(bar["call"])) * LANE, bar["call"]["index"] == first_bad)
    parts += _clock(events, height)
    return Markup("").join([*parts, Markup("</svg></div>")])


def _session(event: Event) -> str:
    return str(event.get("agent") or f"process {event['process']}")


def _bars(events: list[Event]) -> list[dict[str, Any]]:
    """Each operation: the event that began it, where it begins and ends, and how it came out."""
    bars: list[dict[str, Any]] = []
    open_calls: dict[Any, dict[str, Any]] = {}
    for place, event in enumerate(events):
        if event["type"] == "invoke":
            bar = {"call": event, "answer": None, "from": place, "to": place, "class": "open"}
            open_calls[event["process"]] = bar
            bars.append(bar)
        elif (bar_ := open_calls.pop(event["process"], None)) is not None and event["type"] in _CLASSES:
            bar_ |= {"answer": event, "to": place, "class": _CLASSES[event["type"]]}
        else:
            kind = _CLASSES.get(event["type"], "nemesis")
            bars.append({"call": event, "answer": event, "from": place, "to": place, "class": kind})
    return bars


def _drawn(bar: dict[str, Any], y: int, is_first_bad: bool) -> list[Markup]:
    x, width = LEFT + bar["from"] * STEP + 4, (bar["to"] - bar["from"] + 1) * STEP - 8
    answer = bar["answer"] or {}
    told = Markup("<title>{} {}\n{}</title>").format(bar["call"].get("op"), _said(bar["call"]), _said(answer))
    colour = bar["class"] + (" first" if is_first_bad else "")
    parts = [
        Markup('<g>{}<rect class="{}" x="{}" y="{}" width="{}" height="20"/>').format(told, colour, x, y + 6, width),
        Markup('<text x="{}" y="{}">{}</text>').format(x + 4, y + 20, _cut(bar["call"].get("op") or "", width)),
        Markup('<text class="soft" x="{}" y="{}">{}</text></g>').format(x, y + 40, _cut(_said(answer), width + 40)),
    ]
    if answer.get("granted") and answer.get("lease_until_ms") and answer.get("bus_ms") is not None:
        lasts_s = (answer["lease_until_ms"] - answer["bus_ms"]) / 1000
        parts.append(Markup('<rect class="lease" x="{}" y="{}" width="{}" height="3"/>').format(x, y + 27, width))
        parts.append(Markup("<title>a lease of {} s</title>").format(lasts_s))
    return parts


def _clock(events: list[Event], height: int) -> list[Markup]:
    """Where the bus's clock moved, and by how much."""
    parts, before = [], None
    for place, event in enumerate(events):
        now = event.get("bus_ms")
        if now is not None and before is not None and now != before:
            x, moved = LEFT + place * STEP, f"{(now - before) / 1000:+g} s"
            parts.append(Markup('<line class="lane" x1="{}" x2="{}" y1="0" y2="{}"/>').format(x, x, height - 18))
            parts.append(Markup('<text class="soft" x="{}" y="{}">{}</text>').format(x, height - 4, moved))
        before = now if now is not None else before
    return parts


def _said(event: Event) -> str:
    value = event.get("value")
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _cut(text: str, pixels: int) -> str:
    most = max(4, int(pixels / 7.3))
    return text if len(text) <= most else text[: most - 1] + "…"
