"""The cost of waiting syncs: the processor time of their servers, first with no commit, then with others' commits.

At the end each waiting sync is sent one message and must answer with it.
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import Any

from compare import verdict
from topics_doors import Crowd, crowd

from busproof.contract.topics import DB_NAME
from refbus.topics.bus import TopicsBus

BAR = 2.0
SETTLE_S = 3.0
DISMISSED_S = 60.0
COMMITS_PER_S = 20


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Wait in silence, wait in noise, be woken."""
    store = folder / "store"
    store.mkdir()
    wait_s = int(10 * (arguments.idle_s + arguments.busy_s) + 300)
    with crowd(store, arguments.servers, arguments.topics, wait_s) as members:
        count = len(members.waits)
        print(f"{count} syncs wait on {arguments.servers} servers; {arguments.idle_s:g} s of silence", flush=True)
        time.sleep(SETTLE_S)
        before_s, start = _cpu_s(members), time.monotonic()
        time.sleep(arguments.idle_s)
        percent = (_cpu_s(members) - before_s) / (time.monotonic() - start) * 100
        print(
            f"in silence: {percent:.2f} % of a core, bar {BAR:g}: {verdict(percent, BAR, at_least=False)}", flush=True
        )
        commit_ms = _noise(store, members, arguments.busy_s)
        each_us = commit_ms / count * 1000
        print(f"each commit of others: {commit_ms:.2f} ms of processor, {each_us:.1f} µs a waiting sync")
        broken = members.returned_early() + members.dismiss(store, DISMISSED_S)
    return {
        "servers": arguments.servers,
        "syncs": count,
        "idle_percent_of_a_core": percent,
        "cpu_ms_for_a_commit": commit_ms,
    }, broken


def _noise(store: Path, members: Crowd, busy_s: float) -> float:
    """Milliseconds of all servers' processors for a message on a topic where none of them waits."""
    with TopicsBus(store / DB_NAME) as bus:
        topic_id = bus.topic_create("elsewhere")["topic_id"]
        bus.topic_join("alice", topic_id)
        before_s, commits = _cpu_s(members), max(1, int(busy_s * COMMITS_PER_S))
        for _ in range(commits):
            bus.sync(topic_id, [{"content_markdown": "not for you"}], wait_seconds=0)
            time.sleep(1 / COMMITS_PER_S)
        time.sleep(1)  # the last one's, too
        return (_cpu_s(members) - before_s) / commits * 1000


def _cpu_s(members: Crowd) -> float:
    """User and system time of the servers so far (proc_pid_stat(5): fields 14 and 15, in clock ticks)."""
    ticks = 0
    for door in members.doors:
        stat = Path(f"/proc/{door.pid}/stat").read_text()
        ticks += sum(map(int, stat.rpartition(")")[2].split()[11:13]))
    return ticks / os.sysconf("SC_CLK_TCK")
