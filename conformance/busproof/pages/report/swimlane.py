"""The operations of a failure as a picture: a lane for each session, time from left to right, in SVG.

An operation is a bar from its call to its answer, green if it was answered, red if it was refused or nobody knows.
Below the bar stands what was asked, without the name of the session's own agent, and then the answer. Concurrent
operations show at a glance. A kill is a bar of its own; a lease that was granted is a line below its claim, with the
time at which it ends. Time is the order of events: a bus whose clock the kit sets does all at one moment. The
outlined bar is the last to end, or, where a model knows the right answers, those that it does not give.
"""

from __future__ import annotations

import itertools
import textwrap
from typing import Any

from markupsafe import Markup

from busproof.words import as_json

LANE, STEP, LEFT, CHAR = 74, 74, 96, 7.3  # pixels: height of a lane, width of an event, room for names, a character
LINE, ASKED_LINES = 14, 2
MARGIN = 3 * STEP  # behind the last event, for the words of its answer
_CLASSES = {"ok": "ok", "fail": "failed", "info": "info"}
Event = dict[str, Any]


def picture(events: list[Event]) -> Markup:
    """An <svg>; empty without events. A bus's words in it are escaped."""
    if not events:
        return Markup("")
    sessions = list(dict.fromkeys(_session(event) for event in events))
    bars = _bars(events)
    width, height = _x(len(events)) + MARGIN, LANE * len(sessions) + 26
    parts = [Markup('<div class="wide"><svg width="{}" height="{}" role="img">').format(width, height)]
    for number, session in enumerate(sessions):
        y = number * LANE + LANE - 1
        parts.append(Markup('<text class="soft" x="0" y="{}">{}</text>').format(y - LANE + 21, _cut(session[1], LEFT)))
        parts.append(Markup('<line class="lane" x1="{}" x2="{}" y1="{}" y2="{}"/>').format(LEFT, width, y, y))
    bad = [bar for bar in bars if bar["answer"] and bar["answer"].get("differs")]
    bad = bad or [max(bars, key=lambda bar: bar["to"])]
    for bar in bars:
        lane = _session(bar["call"])
        later = (_x(other["from"]) for other in bars if other["from"] > bar["from"] and _session(other["call"]) == lane)
        parts += _drawn(bar, sessions.index(lane) * LANE, bar in bad, next(later, width))
    parts += _clock(events, height)
    return Markup("").join([*parts, Markup("</svg></div>")])


def _session(event: Event) -> tuple[Any, str]:
    """The process, which has a lane of its own, and its name: two processes may work for one agent."""
    return event["process"], str(event.get("agent") or f"process {event['process']}")


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


def _drawn(bar: dict[str, Any], y: int, is_bad: bool, ends: int) -> list[Markup]:
    """The bar, its words, and its lease; its lane is free to the right as far as the pixel `ends`."""
    x, width = _x(bar["from"]) + 4, (bar["to"] - bar["from"] + 1) * STEP - 8
    answer = bar["answer"] or {}
    title = Markup("<title>{} {}\n{}</title>").format(bar["call"].get("op"), _said(bar["call"]), _said(answer))
    colour = bar["class"] + (" first" if is_bad else "")
    asked = [] if answer is bar["call"] else _wrapped(_asked(bar["call"]), ends - x)
    parts = [
        Markup('<g>{}<rect class="{}" x="{}" y="{}" width="{}" height="20"/>').format(title, colour, x, y + 6, width),
        Markup('<text x="{}" y="{}">{}</text>').format(x + 4, y + 20, _cut(bar["call"].get("op") or "", width)),
        *(
            Markup('<text class="asked" x="{}" y="{}">{}</text>').format(x, y + 40 + number * LINE, line)
            for number, line in enumerate(asked)
        ),
        Markup('<text class="soft" x="{}" y="{}">{}</text></g>').format(
            x, y + 40 + len(asked) * LINE, _cut(_said(answer), ends - x)
        ),
    ]
    if answer.get("granted") and (until_ms := answer.get("lease_until_ms")) and answer.get("bus_ms") is not None:
        lasts_s = (until_ms - answer["bus_ms"]) / 1000
        parts.append(Markup('<rect class="lease" x="{}" y="{}" width="{}" height="3"/>').format(x, y + 27, width))
        parts.append(Markup("<title>a lease of {} s</title>").format(lasts_s))
    return parts


def _clock(events: list[Event], height: int) -> list[Markup]:
    """Where the bus's clock moved, and by how much."""
    times = [(place, event["bus_ms"]) for place, event in enumerate(events) if event.get("bus_ms") is not None]
    moves = [(_x(place), now - before) for (_, before), (place, now) in itertools.pairwise(times) if now != before]
    parts = []
    for (x, moved_ms), (ends, _) in itertools.pairwise([*moves, (_x(len(events)) + MARGIN, 0)]):
        moved = _cut(f"{moved_ms / 1000:+,.12g} s", ends - x)
        parts.append(Markup('<line class="lane" x1="{}" x2="{}" y1="0" y2="{}"/>').format(x, x, height - 18))
        parts.append(Markup('<text class="soft" x="{}" y="{}">{}</text>').format(x, height - 4, moved))
    return parts


def _x(place: int) -> int:
    return LEFT + place * STEP


def _said(event: Event) -> str:
    value = event.get("value")
    return value if isinstance(value, str) else "" if value is None else as_json(value)


def _asked(call: Event) -> str:
    """The parameters of a call in few words; the name of its own agent stands before the lane."""
    value = call.get("value")
    if not isinstance(value, dict):
        return _said(call)
    others = {name: each for name, each in value.items() if each != call.get("agent")}
    return " ".join(f"{name}={each if isinstance(each, str) else as_json(each)}" for name, each in others.items())


def _wrapped(text: str, pixels: int) -> list[str]:
    """The text in lines that fit, parted between words; what the last one has no room for is left out."""
    most = max(int(pixels / CHAR) - 1, 1)
    return textwrap.wrap(text, most, max_lines=ASKED_LINES, placeholder="…", break_on_hyphens=False)


def _cut(text: str, pixels: int) -> str:
    most = int(pixels / CHAR) - 1  # the last place parts it from its neighbour
    return text if len(text) <= most else text[: most - 1] + "…"
