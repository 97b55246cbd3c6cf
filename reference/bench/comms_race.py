"""The claim race: processes of one agent, which may all claim its messages (C4), on one backlog.

Events are written down outside the bus, in a journal: every process appends a line to it after each answer, in one
`write` that a kill cannot tear. Each line carries the claim's delivery_count, which tells claims apart.

Undisturbed, each message is processed exactly once. With kills it is at least once: messages that a dead process held
come back after the visibility time-out (C2). Five messages in a hundred fail at every delivery and must become dead
letters; five more fail at their first two deliveries and must not.
"""

from __future__ import annotations

import argparse
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import comms_floor
from comms_rate import UNLIMITED
from compare import verdict
from crew import Stalled, Watch, crew, is_wanted

from refbus.comms.bus import CommsBus
from refbus.kernel.errors import NotClaimed

AGENT = "worker"
FAILURES_MAX = 3  # the seed's number, rather than the kernel's
LIMIT = 10  # messages that each process sees at once: all see the same
LOOK_S = 0.05
ALWAYS, TWICE = 1_000_000, 2  # fails while its delivery_count is at most this
# With kills: held messages come back after a second, and the retry delays of 1 and 2 s shrink to a twentieth.
HASTY = {"visibility_ms": 1000, "retry_jitter": 0.05}


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Fill, race, judge."""
    kill_every_s = arguments.kill_every_ms / 1000 if arguments.kill_every_ms else None
    options = {**UNLIMITED, **(HASTY if kill_every_s else {})}
    floor = [comms_floor.per_s(folder, "claim", "complete")]
    root, journal = folder / "project", folder / "journal"
    root.mkdir()
    with CommsBus(root, **options) as bus:
        fails = _fill(bus, arguments.messages, is_failing=kill_every_s is not None)
        try:
            took_s, kills = _race(bus, folder, arguments.processes, arguments.messages, options, kill_every_s)
        except Stalled as error:
            return {}, [str(error)]
        dump = bus.dump()
    floor.append(comms_floor.per_s(folder, "claim", "complete"))
    broken = _judge(_read(journal), dump, fails, is_killed=kill_every_s is not None)
    return _tell(arguments, took_s, kills, sum(floor) / 2, dump, journal), broken


def _fill(bus: CommsBus, messages: int, *, is_failing: bool) -> dict[str, int]:
    """The backlog: message id → up to which delivery it fails."""
    watch = Watch("sent", messages)
    fails = {}
    for number in range(messages):
        until = {0: ALWAYS, 1: TWICE}.get(number % 20, 0) if is_failing else 0
        reply = bus.send_message("boss", AGENT, "note", {"fails": until})
        fails[reply["message_id"]] = until
        if number % 500 == 0:
            watch.see(number)
    watch.close()
    return fails


def _race(
    bus: CommsBus, folder: Path, processes: int, messages: int, options: dict[str, Any], kill_every_s: float | None
) -> tuple[float, int]:
    """Seconds until nothing is open, and how many were killed on the way."""
    watch = Watch("ended", messages)
    rng = random.Random(0)
    kills, start = 0, time.monotonic()
    next_s = start
    with crew() as members:
        for _ in range(processes):
            members.start(_work, str(folder), options)
        while (still_open := _open(bus)) > 0:
            watch.see(messages - still_open)
            members.check()
            next_s += kill_every_s or LOOK_S
            time.sleep(max(0.0, next_s - time.monotonic()))
            if kill_every_s is not None:
                members.kill(rng.randrange(processes))
                members.start(_work, str(folder), options)
                kills += 1
        took_s = time.monotonic() - start
        (folder / "stop").touch()
        members.join()
    watch.close()
    return took_s, kills


def _open(bus: CommsBus) -> int:
    return int(bus.store.db.row("SELECT count(*) FROM messages WHERE status <> 'done'")[0])


def _work(folder: str, options: dict[str, Any]) -> None:
    """A racer's process, until there is nothing more to do or it is killed."""
    os.nice(5)  # the process that starts and kills must get its turn
    journal = os.open(f"{folder}/journal", os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def note(what: str, message_id: str, count: int) -> None:
        os.write(journal, f"{what} {message_id} {count}\n".encode())

    with CommsBus(f"{folder}/project", **options) as bus:
        while is_wanted() and not os.path.exists(f"{folder}/stop"):
            received = bus.receive_messages(AGENT, ["general"], LIMIT, timeout_seconds=0.5)["messages"]
            for message in received:
                claim = bus.claim_message(AGENT, message["id"])
                if not claim["claimed"]:
                    continue
                count = claim["delivery_count"]
                note("took", message["id"], count)
                error = "made to fail" if count <= message["payload"]["fails"] else None
                if error is not None:
                    note("failing", message["id"], count)
                try:
                    status = bus.complete_message(message["id"], error, AGENT, count)["status"]
                except NotClaimed:  # held too long: another has it now
                    status = "late"
                note(status, message["id"], count)


Journal = dict[str, list[tuple[str, int]]]  # message id → what happened to it, under which delivery_count


def _read(journal: Path) -> Journal:
    happened: Journal = defaultdict(list)
    for line in journal.read_text().splitlines():
        what, message_id, count = line.split()
        happened[message_id].append((what, int(count)))
    return happened


def _judge(journal: Journal, dump: dict[str, Any], fails: dict[str, int], *, is_killed: bool) -> list[str]:
    """The faults, by the journal and by the final state."""
    done = {row["id"] for row in dump["messages"] if row["status"] == "done"}
    letters = Counter(row["id"] for row in dump["dead_letter_queue"])
    doomed = {message_id for message_id, until in fails.items() if until == ALWAYS}
    counts = {
        "lost: neither done nor dead": len(fails.keys() - done - letters.keys()),
        "done and dead at once": len(done & letters.keys()),
        "dead that did not fail three times": len(letters.keys() - doomed),
        "failed three times and not dead": len(doomed - letters.keys()),
        "done or dead and never claimed by anybody": len((done | letters.keys()) - journal.keys()),
        **Counter(fault for message_id in fails for fault in _faults(journal[message_id])),
    }
    if not is_killed:
        exactly = [("took", 1), ("done", 1)]
        counts["not processed exactly once"] = sum(journal[message_id] != exactly for message_id in fails)
    broken = [f"{count} messages {what}" for what, count in counts.items() if count]
    return broken if dump["integrity"] == "ok" else [*broken, f"integrity: {dump['integrity']}"]


def _faults(happened: list[tuple[str, int]]) -> Iterator[str]:
    """The events that must not happen to one message, whichever process is killed."""
    counts = defaultdict(list)
    for what, count in happened:
        counts[what].append(count)
    if len(counts["took"]) != len(set(counts["took"])):
        yield "granted twice under one delivery_count"
    if len(counts["done"]) > 1:
        yield "completed twice"
    if counts["done"] and max(counts["took"]) > min(counts["done"]):
        yield "claimed after they were done"
    if len(counts["failed"]) >= FAILURES_MAX:
        yield "failed three times and went on"
    if counts["dead"] and len(counts["failing"]) < FAILURES_MAX:
        yield "dead before the third failure"


def _tell(
    arguments: argparse.Namespace, took_s: float, kills: int, floor_per_s: float, dump: dict[str, Any], journal: Path
) -> dict[str, Any]:
    per_s = arguments.messages / took_s
    taken = sum(what == "took" for lines in _read(journal).values() for what, _ in lines)
    letters = len(dump["dead_letter_queue"])
    print(f"{arguments.processes} processes of one agent, {arguments.messages} messages, {took_s:.1f} s")
    print(f"{taken} claims granted, {letters} dead letters, {kills} processes killed and replaced", end="")
    print(f", one every {took_s / kills * 1000:.0f} ms" if kills else "")
    print(f"{per_s:,.0f} a second claimed and ended: {per_s / floor_per_s:.2f} × the floor, bare SQLite alone", end="")
    print(f" ({floor_per_s:,.0f}); bar, {verdict(per_s * 60, 10_000)}: 10,000 a minute")
    return {
        "processes": arguments.processes,
        "messages": arguments.messages,
        "seconds": took_s,
        "kills": kills,
        "claims": taken,
        "dead_letters": letters,
        "per_s": per_s,
        "to_floor": per_s / floor_per_s,
    }
