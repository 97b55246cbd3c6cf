"""Twenty agents: each sends to the others in turn, and claims and completes what the others send to it.

Nothing may be lost or come twice: the ids that were acknowledged to the senders are compared with those that the
agents say they have processed, and with the final state.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path
from typing import Any

import comms_floor
from compare import verdict
from crew import Crew, Stalled, Watch, context, crew, is_wanted

from refbus.comms.bus import CommsBus

ASKED_PER_MINUTE = 100
BAR = 100  # times the rate that is asked for
LOOK_EVERY = 10  # messages sent between two looks at one's own


def run(folder: Path, arguments: argparse.Namespace) -> tuple[dict[str, Any], list[str]]:
    """Play, count, judge."""
    total = arguments.agents * arguments.messages
    floor = [comms_floor.per_s(folder, "send", "claim", "complete")]
    root = folder / "project"
    root.mkdir()
    try:
        took_s, reports = _play(root, arguments.agents, arguments.messages)
    except Stalled as error:
        return {}, [str(error)]
    floor.append(comms_floor.per_s(folder, "send", "claim", "complete"))
    broken = _judge(root, reports, total)
    return _tell(total / took_s, sum(floor) / len(floor), total, took_s), broken


def _play(root: Path, agents: int, messages: int) -> tuple[float, list[Any]]:
    """Seconds from the first send to the last completion, and the report of each agent."""
    with crew() as members, CommsBus(root) as bus:
        pipes = []
        for number in range(agents):
            ours, theirs = context.Pipe()
            members.start(_agent, str(root), number, agents, messages, theirs)
            pipes.append(ours)
        for pipe in pipes:
            pipe.recv()
        start = time.monotonic()
        for pipe in pipes:
            pipe.send("go")
        _watch(bus, members, agents * messages)
        took_s = time.monotonic() - start
        reports = [pipe.recv() for pipe in pipes]
        members.join()
    return took_s, reports


def _watch(bus: CommsBus, members: Crew, total: int) -> None:
    watch = Watch("completed", total)
    while (done := bus.store.db.row("SELECT coalesce(sum(messages_processed), 0) FROM agent_status")[0]) < total:
        watch.see(done)
        members.check()
        time.sleep(0.05)
    watch.close()


def _agent(root: str, number: int, agents: int, messages: int, pipe: Any) -> None:
    """An agent's process. Tells the ids that it sent, with their addressees, and those that it processed."""
    name = _name(number)
    sent: dict[str, str] = {}
    processed: list[str] = []
    with CommsBus(root, **comms_floor.UNLIMITED) as bus:
        pipe.send("ready")
        pipe.recv()
        for n in range(messages):
            to_agent = _name((number + 1 + n % (agents - 1)) % agents)
            reply = bus.send_message(name, to_agent, "note", {"number": n})
            sent[reply["message_id"]] = to_agent
            if n % LOOK_EVERY == 0:
                processed += _process(bus, name, 0)
        while len(processed) < messages and is_wanted():
            processed += _process(bus, name, 1.0)
    pipe.send((sent, processed))


def _process(bus: CommsBus, name: str, wait_s: float) -> list[str]:
    done = []
    received = bus.receive_messages(name, ["general"], LOOK_EVERY, wait_s)
    for message in received["messages"]:
        claim = bus.claim_message(name, message["id"])
        if claim["claimed"]:
            bus.complete_message(message["id"], agent_id=name, delivery_count=claim["delivery_count"])
            done.append(message["id"])
    return done


def _judge(root: Path, reports: list[Any], total: int) -> list[str]:
    """The faults, by the agents' reports and by the final state."""
    with CommsBus(root) as bus:
        dump = bus.dump()
    sent = {id_: to_agent for agent_sent, _ in reports for id_, to_agent in agent_sent.items()}
    processed = Counter((id_, _name(place)) for place, (_, ids) in enumerate(reports) for id_ in ids)
    final = {row["id"]: row["status"] for row in dump["messages"]}
    counts = {
        "sent under an id that was given twice": total - len(sent),
        "lost: acknowledged and not in the final state": len(sent.keys() - final.keys()),
        "in the final state and sent by nobody": len(final.keys() - sent.keys()),
        "not done in the final state": sum(status != "done" for status in final.values()),
        "never processed by their addressee": len(set(sent.items()) - set(processed)),
        "processed more than once": sum(count > 1 for count in processed.values()),
        "processed by another": len(set(processed) - set(sent.items())),
        "dead letters though nothing failed": len(dump["dead_letter_queue"]),
    }
    broken = [f"{count} messages {what}" for what, count in counts.items() if count]
    return broken if dump["integrity"] == "ok" else [*broken, f"integrity: {dump['integrity']}"]


def _tell(per_s: float, floor_per_s: float, total: int, took_s: float) -> dict[str, Any]:
    per_minute = per_s * 60
    times = per_minute / ASKED_PER_MINUTE
    print(f"{total} messages sent, claimed and completed in {took_s:.1f} s: {per_minute:,.0f} a minute")
    print(f"that is {times:.0f} × the asked {ASKED_PER_MINUTE}, bar {BAR}: {verdict(times, BAR)}")
    print(
        f"and {per_s / floor_per_s:.2f} × the floor: bare SQLite, one process alone, {floor_per_s * 60:,.0f} a minute"
    )
    return {
        "messages": total,
        "seconds": took_s,
        "per_minute": per_minute,
        "times_asked": times,
        "to_floor": per_s / floor_per_s,
    }


def _name(number: int) -> str:
    return f"agent-{number:02}"
