"""Growth: the cost of a request with a million recorded messages, against a thousand; on SQLite, which has one file.

Each round sends, fetches, answers and acknowledges requests on a timeline of its own; the two records take turns.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

from compare import describe, interleave, ratio, verdict
from timeline_store import ANSWER, PAYLOAD, SERVICE, fill, request

from refbus.timeline.bus import TimelineBus

SMALL = 1_000
EACH = 100
BAR = 1.3


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Both records grow by the same rounds."""
    (folder / "small").mkdir()
    (folder / "large").mkdir()
    with fill(folder / "small", SMALL) as small, fill(folder / "large", arguments.stored) as large:
        seconds = interleave({"small": _round(small), "large": _round(large)}, rounds=arguments.rounds)
        broken = [] if large.verify("round0")["ok"] else ["the record does not verify"]
    figure = ratio(seconds["small"], seconds["large"])
    word = verdict(figure["median"], BAR, at_least=False)
    us = {name: describe(took)["us"] for name, took in seconds.items()}
    print(f"send, fetch, reply, ack: {us['small']:.0f} µs at {SMALL}, {us['large']:.0f} µs at {arguments.stored}")
    print(f"{figure['median']:.2f} × ({figure['low']:.2f}–{figure['high']:.2f}), bar {BAR}: {word}")
    return {"stored": arguments.stored, "us": us, **figure, "verdict": word}, broken


def _round(bus: TimelineBus) -> Callable[[], int]:
    rounds = itertools.count()

    def play() -> int:
        timeline = f"round{next(rounds)}"
        for number in range(EACH):
            bus.send(request(timeline, "s", number), PAYLOAD)
            message = bus.fetch(SERVICE)["message"]
            assert message is not None and message["key"] is not None
            bus.reply(message["key"], ANSWER)
            bus.ack(message["delivery"])
        return EACH

    return play
