"""The plan for `relay`: bursts of messages that six agents write at once, and a pass of the orchestrator after each.

One session is the orchestrator. The agents are processes of the history too: a `send` begins when its file is written
and ends with the pass after it, with its row's id as its seq; no matter the pass, the message must not be lost.
"""

from __future__ import annotations

import itertools
import json
import random
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError
from busproof.bus.hand_relay import RelayHand
from busproof.bus.session import Session
from busproof.contract.common import T0_MS
from busproof.contract.history import Recorder, read
from busproof.play.workload.common import PHASES, Plan, Step, Workload, record_state

AGENTS = ("ann", "ben", "cas", "dee", "eve", "fay")
MS = 1_000_000
BODIES = (1, 40, 900)
SETTLED_MS = 1_000


def draw(seed: int, calls: int, nouns: set[str]) -> Plan:
    """The whole plan, a pure function of its arguments: four phases of bursts for the one session."""
    rng, numbers = random.Random(seed), itertools.count(1)
    bursts = max(1, calls // (PHASES * 2 * len(AGENTS)))
    ledger = next((kind for kind in ("sqlite", "dump") if kind in nouns), "")
    plan = [[[_burst(rng, numbers, ledger) for _ in range(bursts)]] for _ in range(PHASES)]
    plan[0][0].insert(0, Step("scan", {}))
    return plan


def _burst(rng: random.Random, numbers: itertools.count[int], ledger: str) -> Step:
    messages = [
        {"agent": name, "to": _to(rng, name), "number": next(numbers), "bytes": rng.choice(BODIES)}
        for name in AGENTS
        if rng.random() < 0.8
    ]
    return Step("burst", {"messages": messages, "ledger": ledger})


def _to(rng: random.Random, sender: str) -> list[str]:
    others = [name for name in AGENTS if name != sender]
    return others if rng.random() < 0.1 else [rng.choice(AGENTS)]


def play_step(session: Session, step: Step, rng: random.Random) -> None:
    """Files written at once by all agents, then one pass, which ends the sends that it has entered."""
    store = session.door.store
    assert store is not None
    with closing(RelayHand(store)) as hand:
        if step.op == "scan":
            for name in AGENTS:
                hand.agent(name)
            session.call("scan")
            return
        sent = [_send(session, store, message) for message in step.params["messages"]]
        threads = [threading.Thread(target=send) for _, _, send in sent]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        session.call("scan")
        rows = {_sent_as(row): row["id"] for row in _outboxes(session, hand, step.params["ledger"])}
        for params, process, _ in sent:
            reply = {"id": params["id"], "seq": rows.get(params["id"])}  # found or not, it stands in its outbox
            session.recorder.record("ok", process=process, op="send", agent=params["agent"], value=reply)


def _outboxes(session: Session, hand: RelayHand, ledger: str) -> list[dict[str, Any]]:
    """The rows of outboxes in the ledger's tables or, on a bus without such tables, as its dump tells them, if any."""
    if not ledger:
        return []
    messages = (hand.ledger() if ledger == "sqlite" else session.door.call("dump", {}))["messages"]
    return [row for row in messages if row["direction"] == "outbox"]


def _send(session: Session, store: Path, message: dict[str, Any]) -> tuple[dict[str, Any], int, Any]:
    """Record that an agent sends; gives its parameters, its process, and the function that writes the file."""
    agent, number = message["agent"], message["number"]
    now_ms = T0_MS if session.now_ms is None else session.now_ms
    stem = f"{now_ms * MS + number}-{number:08x}"
    body = f"{number} {'x' * message['bytes']}"
    params = {"agent": agent, "to": message["to"], "id": f"{agent}/{stem}", "body": body}
    process = 1 + AGENTS.index(agent)
    session.recorder.record("invoke", process=process, op="send", agent=agent, value=params)
    to = "*" if len(message["to"]) > 1 else message["to"][0]
    data = f"TO: {to}\n\n{body}"

    def write() -> None:
        with closing(RelayHand(store, f"{process}-{number}")) as hand:
            hand.write(agent, f"{stem}.msg", data, (now_ms - SETTLED_MS) * MS)

    return params, process, write


def finish(first: Session, sessions: list[Session], recorder: Recorder, store: Path, nouns: set[str]) -> None:
    """The final state: the ledger's rows of outboxes, and the content of the inboxes, as their readers find it.

    Where nobody tells the ledger, a message is known by its body, and was in its outbox if it is in an inbox.
    """
    try:
        first.call("scan")
    except DoorError:
        return  # no final state: the checks that need it are unknown
    ledger = next((kind for kind in ("sqlite", "dump") if kind in nouns), "")
    with closing(RelayHand(store)) as hand:
        try:
            rows = _outboxes(first, hand, ledger)
        except DoorError:
            return
        folders = hand.folder()["agents"]
    if ledger:
        names = {str(row["message_id"]): _sent_as(row) for row in rows}  # the bus's name for a message, and ours
    else:
        sent = [event.value for event in read(recorder.path) if event.type == "invoke" and event.op == "send"]
        names = {params["body"]: params["id"] for params in sent}
    messages = [
        _delivered(folder["name"], file["data"], names, by_body=not ledger)
        for folder in folders
        for file in folder["inbox"]
        if "data" in file
    ]
    if ledger:
        messages += [{"lane": f"outbox {row['agent_name']}", "id": _sent_as(row), "seq": row["id"]} for row in rows]
    else:
        entered = {row["id"] for row in messages} & set(names.values())
        messages += [{"lane": f"outbox {name.partition('/')[0]}", "id": name, "seq": None} for name in sorted(entered)]
    record_state(recorder, 1 + len(AGENTS), {"messages": messages})


def _sent_as(row: dict[str, Any]) -> str:
    """The sender and the stem of its file, under any name that the bus gives the message."""
    return f"{row['agent_name']}/{Path(row['file_path']).stem}"


def _delivered(reader: str, data: bytes, names: dict[str, str], *, by_body: bool) -> dict[str, Any]:
    """A copy, by the ID in its header, or by its body; a copy without one is a message that nobody sent."""
    headers, _, body = data.decode(errors="replace").partition("\n\n")
    head = headers.split("\n")
    ids = [body] if by_body else [line.removeprefix("ID: ") for line in head if line.startswith("ID: ")]
    return {
        "lane": f"inbox {reader}",
        "id": names.get(ids[0], ids[0]) if ids else json.dumps(head)[:200],
        "seq": None,
        "body": body,
    }


WORKLOAD = Workload(("orchestrator",), draw, play_step, finish)
