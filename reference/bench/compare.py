"""Side by side: contestants take turns within each round, so that a noisy moment hits all of them."""

from __future__ import annotations

import gc
import json
import os
import platform
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Round = Callable[[], int]  # does its work and returns how many operations it did


def interleave(
    contestants: dict[str, Round], *, rounds: int, before: Callable[[], None] = lambda: None
) -> dict[str, list[float]]:
    """Seconds an operation, one figure for each round, after one round to warm up. The order turns.

    `before` runs before each turn, outside the clock.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    names = list(contestants)
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds + 1):
            turn = number % len(names)
            for name in names[turn:] + names[:turn]:
                before()
                start = time.perf_counter()
                operations = contestants[name]()
                took = (time.perf_counter() - start) / operations
                if number:
                    seconds[name].append(took)
            gc.collect()
    finally:
        gc.enable()
    return seconds


def ratio(of: list[float], to: list[float]) -> dict[str, float]:
    """How fast `of` is in terms of `to` (1 = as fast), round by round: the median and the middle half."""
    ratios = sorted(theirs / ours for ours, theirs in zip(of, to, strict=True))
    quarters = statistics.quantiles(ratios, n=4)
    return {"median": statistics.median(ratios), "low": quarters[0], "high": quarters[2]}


def describe(seconds: list[float]) -> dict[str, float]:
    """Microseconds an operation and operations a second."""
    quarters = statistics.quantiles(seconds, n=4)
    return {
        "us": statistics.median(seconds) * 1e6,
        "us_low": quarters[0] * 1e6,
        "us_high": quarters[2] * 1e6,
        "per_s": 1 / statistics.median(seconds),
    }


def verdict(value: float, bar: float, *, at_least: bool = True) -> str:
    """Met or not, in a word."""
    return "met" if (value >= bar if at_least else value <= bar) else "NOT MET"


def machine() -> dict[str, Any]:
    """The machine that the figures were measured on."""
    return {
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
        "kernel": platform.release(),
        "cores": os.cpu_count(),
        "load": os.getloadavg(),
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }


def save(name: str, figures: dict[str, Any]) -> None:
    """Write the figures as JSON next to what `busproof` writes, and say where."""
    folder = Path("busproof-out/bench")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"machine": machine(), **figures}, indent=1) + "\n")
    print(f"figures: {path}", file=sys.stderr)
