"""`refbus worker COMMAND`: the SQLite message bus of seed 000 from the shell."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from refbus.cli.common import (
    PAYLOAD_HELP,
    Commands,
    a_path,
    add_beats,
    beat_while,
    given,
    goes_on,
    made,
    print_all,
    print_one,
    read_json,
)
from refbus.cli.hold import hold
from refbus.kernel.errors import InvalidArgument
from refbus.worker.bus import WorkerBus
from refbus.worker.heartbeat import Heartbeat
from refbus.worker.store import DB_NAME
from refbus.worker.tail import Tail

HELP = "the SQLite message bus (seed 000)"
EPILOG = """\
The store is the folder that the agents share (default: .worker-state in the current folder); what writes makes it.
Keys are lines of at least 64 hex digits (`openssl rand -hex 32`). The first signs, all verify. They come from
--signing-key-file, or the environment's REFBUS_SIGNING_KEY; others on the machine can read a command line.

  refbus worker publish --as alice --to bob task_assign '{"task": "skills-abc"}'
  refbus worker poll --as bob --wait-ms 60000
  refbus worker ack --as bob 1
  refbus worker tail
"""


ANY = "in any state before its end"
VERBS = {  # of seed 000, over the states of W15
    "spawn": (None, "ASSIGNED"),
    "start": ("ASSIGNED", "WORKING"),
    "done": ("WORKING", "IN_REVIEW"),
    "approve": ("IN_REVIEW", "APPROVED"),
    "merge": ("APPROVED", "COMPLETED"),
    "cancel": (ANY, "CANCELLED"),
    "fail": (ANY, "FAILED"),
}
KEY_BYTES_MIN = 32  # as many as the hash has (RFC 2104)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the store is, and how messages are signed."""
    parser.add_argument("--store", type=a_path, default=Path(".worker-state"), metavar="DIR", help="the agents' folder")
    parser.add_argument("--lease-ms", type=int, metavar="MS", help="how long a claim lasts (default: 60 s)")
    parser.add_argument("--unread-max", type=int, metavar="N", help="refuse messages to who has so many unread ones")
    parser.add_argument("--deliveries-max", type=int, metavar="N", help="given so often, a message is a dead letter")
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument("--signing-key-file", type=Path, metavar="FILE", help="sign and verify messages with its keys")
    keys.add_argument("--signing-key", metavar="HEX", help="one key, for a machine of your own: everybody can see it")


def open_bus(arguments: Any) -> WorkerBus:
    """The bus in the folder that is meant."""
    keys = _signing_keys(arguments)
    return WorkerBus(
        made(arguments.store, arguments.store / DB_NAME, arguments),
        signing_key=keys[0] if keys else None,
        verifying_keys=keys[1:],
        synchronous=arguments.synchronous,
        **given(lease_ms=arguments.lease_ms, unread_max=arguments.unread_max, deliveries_max=arguments.deliveries_max),
    )


def _signing_keys(arguments: Any) -> list[str]:
    """The keys that were given, the one that signs first."""
    keys: list[str]
    if arguments.signing_key_file is not None:
        keys = arguments.signing_key_file.read_text("utf-8", "replace").split()
        if not keys:
            raise InvalidArgument(f"there is no key in {arguments.signing_key_file}")
    elif arguments.signing_key is not None:
        keys = [arguments.signing_key]
    else:
        keys = os.environ.get("REFBUS_SIGNING_KEY", "").split()
    if any(len(key) < 2 * KEY_BYTES_MIN for key in keys):
        raise InvalidArgument(f"a signing key must have at least {KEY_BYTES_MIN} bytes, {2 * KEY_BYTES_MIN} hex digits")
    return keys


def add_commands(commands: Commands) -> None:
    """One command for each thing that one does with the bus."""
    publish = commands.add("publish", _publish, "append a message")
    publish.add_argument("--to", metavar="AGENT", help="one recipient; without it a broadcast")
    publish.add_argument("--id", help="chosen by you, for idempotent retries")
    publish.add_argument("--correlation-id")
    publish.add_argument("--in-reply-to", metavar="ID")
    publish.add_argument("type")
    publish.add_argument("payload", nargs="?", help=PAYLOAD_HELP)
    poll = commands.add("poll", _poll, "unacknowledged messages, oldest first")
    poll.add_argument("--limit", type=int, default=100)
    poll.add_argument("--wait-ms", type=int, default=0, help="wait for a first message")
    commands.add("ack", _ack, "everything up to SEQ is processed").add_argument("seq", type=int)
    _add_claims(commands)
    beat = commands.add("heartbeat", _heartbeat, "say that an agent lives, once or for as long as it does")
    beat.add_argument("status", choices=("idle", "working", "blocked"))
    beat.add_argument("--task")
    beat.add_argument("--progress", type=float)
    add_beats(beat)
    _add_views(commands)
    commands.add("redrive", _redrive, "put a dead letter back in front of its agent").add_argument("seq", type=int)
    commands.add("dead-letters", _dead_letters, "messages that were given up", views=True)
    transition = commands.add("transition", _transition, "move a worker's state", takes_agent=False)
    transition.add_argument("worker")
    transition.add_argument("from_state", help="the state you believe; - for a new worker")
    transition.add_argument("to_state")
    for verb, (before, after) in VERBS.items():
        goes = commands.add(verb, _verb, f"a worker is {after}, and was {before or 'no worker'}", takes_agent=False)
        goes.set_defaults(verb=verb)
        goes.add_argument("worker")
    commands.add("state", _state, "a worker's state", takes_agent=False, views=True).add_argument("worker")
    commands.add_plain("liveness", "liveness", "who is alive, stale, dead")
    export = commands.add("export", _export, "bring bus.jsonl up to date", takes_agent=False, views=True)
    export.add_argument("--follow", action="store_true", help="and keep it so")
    commands.add_plain("archive", "archive", "move out what everybody has processed, and vacuum")
    commands.add_plain("dump", "dump", "every table, and an integrity check")


def _add_claims(commands: Commands) -> None:
    for name, method, says in (
        ("claim", "try_claim_task", "take a task's lease"),
        ("renew", "renew_claim", "extend the lease"),
        ("release", "release_claim", "give the task back"),
    ):
        claim = commands.add(name, _claim, says)
        claim.set_defaults(method=method)
        claim.add_argument("task")
        if name != "claim":
            claim.add_argument("--token", type=int, help="the fencing token of your grant")
    held = commands.add("hold", hold, "run a command while a task is claimed: renew, beat, release, pass its exit code")
    held.add_argument("task")
    held.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", type=str)


def _add_views(commands: Commands) -> None:
    search = commands.add("search", _search, "messages that hold all the words", takes_agent=False, views=True)
    search.add_argument("words", nargs="+")
    search.add_argument("--limit", type=int, default=100)
    status = commands.add(
        "status", _status, "newest state changes and heartbeat messages", takes_agent=False, views=True
    )
    status.add_argument("--limit", type=int, default=100)
    tail = commands.add("tail", _tail, "follow the log", takes_agent=False)
    tail.add_argument("-n", type=int, default=10, dest="lines", help="start so many messages back")
    tail.add_argument("--no-follow", action="store_true", help="stop at the end")


def _publish(bus: WorkerBus, arguments: Any) -> None:
    message = given(
        id=arguments.id,
        to=arguments.to,
        type=arguments.type,
        correlation_id=arguments.correlation_id,
        in_reply_to=arguments.in_reply_to,
    )
    if arguments.payload is not None:
        message["payload"] = read_json("payload", arguments.payload)
    print_one(bus.publish(arguments.agent, message))


def _poll(bus: WorkerBus, arguments: Any) -> None:
    print_all(bus.poll(arguments.agent, arguments.limit, arguments.wait_ms)["messages"])


def _ack(bus: WorkerBus, arguments: Any) -> None:
    print_one(bus.ack(arguments.agent, arguments.seq))


def _claim(bus: WorkerBus, arguments: Any) -> Any:
    token = {} if arguments.method == "try_claim_task" else {"token": arguments.token}
    return print_one(getattr(bus, arguments.method)(arguments.task, arguments.agent, **token))


def _heartbeat(bus: WorkerBus, arguments: Any) -> None:
    beat = (arguments.status, arguments.task, arguments.progress)
    if not goes_on(arguments):
        print_one(bus.heartbeat(arguments.agent, *beat))
        return
    heart = Heartbeat(bus, arguments.agent, interval_ms=round(1000 * arguments.every))
    heart.update(*beat)
    beat_while(heart, arguments)


def _export(bus: WorkerBus, arguments: Any) -> None:
    tail = Tail(bus, back=0)
    print_one(bus.export_to_jsonl())
    if arguments.follow:
        for _ in tail.messages():
            bus.export_to_jsonl()


def _search(bus: WorkerBus, arguments: Any) -> None:
    print_all(bus.search(" ".join(arguments.words), arguments.limit)["messages"])


def _status(bus: WorkerBus, arguments: Any) -> None:
    print_all(bus.status(arguments.limit)["rows"])


def _tail(bus: WorkerBus, arguments: Any) -> None:
    for message in Tail(bus, back=arguments.lines).messages(follow=not arguments.no_follow):
        print_one(message)


def _redrive(bus: WorkerBus, arguments: Any) -> Any:
    return print_one(bus.redrive(arguments.agent, arguments.seq))


def _dead_letters(bus: WorkerBus, arguments: Any) -> None:
    print_all(bus.dead_letters(arguments.agent)["messages"])


def _transition(bus: WorkerBus, arguments: Any) -> None:
    from_state = None if arguments.from_state == "-" else arguments.from_state
    print_one(bus.transition(arguments.worker, arguments.to_state, from_state))


def _verb(bus: WorkerBus, arguments: Any) -> None:
    before, after = VERBS[arguments.verb]
    if before == ANY:
        before = bus.worker_state(arguments.worker)["state"]
    print_one(bus.transition(arguments.worker, after, before))


def _state(bus: WorkerBus, arguments: Any) -> None:
    print_one(bus.worker_state(arguments.worker))
