"""A ping while a sync of the same server waits, beside one while none does."""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from compare import verdict
from topics_doors import door
from topics_wakeup import quantiles

from busproof.bus.mcp import McpDoor

BAR_MS = 20.0
EVERY_S = 0.1


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Ping for a while, then ping through a whole wait."""
    store = folder / "store"
    store.mkdir()
    with door(store) as mcp, ThreadPoolExecutor(1) as thread:
        topic_id = mcp.call("topic_create", {"name": "lane"})["topic_id"]
        mcp.call("topic_join", {"topic_id": topic_id, "agent_name": "bob"})
        alone = _pings(mcp, time.monotonic() + min(10, arguments.wait_s))
        print(f"a sync waits for {arguments.wait_s} s; a ping every {EVERY_S * 1000:g} ms", flush=True)
        sync = {"topic_id": topic_id, "wait_seconds": arguments.wait_s}
        start = time.monotonic()
        waiting = thread.submit(mcp.call, "sync", sync, timeout_s=arguments.wait_s + 60)
        during = _pings(mcp, start + arguments.wait_s - 0.5)
        broken = ["the sync did not wait"] if waiting.done() else []
        reply = waiting.result()
    if reply["status"] != "timeout":
        broken.append(f"the sync ended as {reply['status']}")
    return _tell(quantiles(alone), quantiles(during), len(during)), broken


def _pings(mcp: McpDoor, until: float) -> list[int]:
    took_ns = []
    while time.monotonic() < until:
        asked_ns = time.monotonic_ns()
        mcp.call("ping", {})
        took_ns.append(time.monotonic_ns() - asked_ns)
        time.sleep(EVERY_S)
    return took_ns


def _tell(alone: dict[str, float], during: dict[str, float], count: int) -> dict[str, Any]:
    print(f"{count} pings\n{'':10}{'waiting ms':>12}{'alone ms':>12}")
    for name in during:
        print(f"{name:10}{during[name]:12.2f}{alone[name]:12.2f}")
    print(f"slowest {during['max']:.2f} ms, bar {BAR_MS:g}: {verdict(during['max'], BAR_MS, at_least=False)}")
    return {"pings": count, "during_a_wait_ms": during, "alone_ms": alone}
