"""`refbus worker COMMAND`: the SQLite message bus of seed 000 from the shell."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from refbus.cli.common import (
    AGENT,
    PAYLOAD_HELP,
    Commands,
    a_json,
    a_path,
    add_beats,
    beat_while,
    goes_on,
    made,
    print_one,
    taken,
    tell,
)
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.kernel.stop import Stop
from refbus.kernel.wake import SLEEP_S_MAX
from refbus.worker.bus import WorkerBus
from refbus.worker.heartbeat import Heartbeat
from refbus.worker.store import DB_NAME, Store
from refbus.worker.tail import Tail

HELP = "the SQLite message bus (seed 000)"
EPILOG = """\
The store is the folder that the agents share: --store, or the environment's REFBUS_STORE, or .worker-state in the
current folder. What writes makes it, so agents in folders of their own, as worktrees of git, must name one folder.
A `hold` that is killed (-9) leaves its command running, whose token is refused once another agent has claimed the task.
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
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
KEY_BYTES_MIN = 32  # as many as the hash has (RFC 2104)


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the store is, and how messages are signed."""
    parser.add_argument(
        "--store",
        type=a_path,
        default=Path(os.environ.get("REFBUS_STORE") or ".worker-state"),
        metavar="DIR",
        dest="place",
        help="the agents' folder",
    )
    parser.add_argument("--lease-ms", type=int, metavar="MS", help="how long a claim lasts (default: 60 s)")
    parser.add_argument("--unread-max", type=int, metavar="N", help="refuse messages to who has so many unread ones")
    parser.add_argument(
        "--deliveries-max",
        type=int,
        metavar="N",
        help="a message that `process` of the library handed out so often is a dead letter",
    )
    keys = parser.add_mutually_exclusive_group()
    keys.add_argument(
        "--signing-key-file", type=Path, metavar="FILE", dest="key_file", help="sign and verify messages with its keys"
    )
    keys.add_argument(
        "--signing-key", metavar="HEX", dest="key", help="one key, for a machine of your own: everybody can see it"
    )


def open_bus(arguments: Any) -> WorkerBus:
    """The bus in the folder that is meant."""
    keys = _signing_keys(**taken(_signing_keys, arguments))
    folder = made(arguments.place, arguments.place / DB_NAME, arguments)
    return WorkerBus(folder, signing_key=keys[0] if keys else None, verifying_keys=keys[1:], **taken(Store, arguments))


def _signing_keys(key: str | None = None, key_file: Path | None = None) -> list[str]:
    """The keys that were given, the one that signs first."""
    keys = os.environ.get("REFBUS_SIGNING_KEY", "").split() if key is None else [key]
    if key_file is not None:
        keys = key_file.read_text("utf-8", "replace").split()
        if not keys:
            raise InvalidArgument(f"there is no key in {key_file}")
    if any(len(word) < 2 * KEY_BYTES_MIN for word in keys):
        raise InvalidArgument(f"a signing key must have at least {KEY_BYTES_MIN} bytes, {2 * KEY_BYTES_MIN} hex digits")
    return keys


def add_commands(commands: Commands) -> None:
    """One command for each thing that one does with the bus."""
    publish = commands.add("publish", _publish, "append a message", who=AGENT)
    publish.add_argument("--to", metavar="AGENT", help="one recipient; without it a broadcast")
    publish.add_argument("--id", help="chosen by you, for idempotent retries")
    publish.add_argument("--correlation-id")
    publish.add_argument("--in-reply-to", metavar="ID")
    publish.add_argument("type")
    publish.add_argument("payload", nargs="?", type=a_json, help=PAYLOAD_HELP)
    poll = commands.add("poll", WorkerBus.poll, "unacknowledged messages, oldest first", who=AGENT, shows="messages")
    poll.add_argument("--limit", type=int)
    poll.add_argument("--wait-ms", type=int, help="wait for a first message")
    commands.add("ack", WorkerBus.ack, "everything up to SEQ is processed", who=AGENT).add_argument("seq", type=int)
    _add_claims(commands)
    beat = commands.add("heartbeat", _heartbeat, "say that an agent lives, once or for as long as it does", who=AGENT)
    beat.add_argument("status", choices=("idle", "working", "blocked"))
    beat.add_argument("--task", dest="current_task", metavar="TASK")
    beat.add_argument("--progress", type=float)
    add_beats(beat)
    _add_views(commands)
    redrive = commands.add("redrive", WorkerBus.redrive, "put a dead letter back in front of its agent", who=AGENT)
    redrive.add_argument("seq", type=int)
    commands.add(
        "dead-letters", WorkerBus.dead_letters, "messages that were given up", who=AGENT, shows="messages", views=True
    )
    transition = commands.add("transition", _transition, "move a worker's state")
    transition.add_argument("worker")
    transition.add_argument("from_state", help="the state you believe; - for a new worker")
    transition.add_argument("to_state")
    for verb, (before, after) in VERBS.items():
        goes = commands.add(verb, _verb, f"a worker is {after}, and was {before or 'no worker'}")
        goes.set_defaults(verb=verb)
        goes.add_argument("worker")
    commands.add("state", WorkerBus.worker_state, "a worker's state", views=True).add_argument("worker")
    commands.add("liveness", WorkerBus.liveness, "who is alive, stale, dead", views=True)
    export = commands.add("export", _export, "bring bus.jsonl up to date", views=True)
    export.add_argument("--follow", action="store_true", help="and keep it so")
    commands.add(
        "archive", WorkerBus.archive, "move out what every agent with a cursor has acknowledged, and vacuum", views=True
    )
    commands.add("dump", WorkerBus.dump, "every table, and an integrity check", views=True)


def _add_claims(commands: Commands) -> None:
    for name, method, says in (
        ("claim", WorkerBus.try_claim_task, "take a task's lease"),
        ("renew", WorkerBus.renew_claim, "extend the lease"),
        ("release", WorkerBus.release_claim, "give the task back"),
        ("hold", hold, "run the command behind -- while REFBUS_TASK is claimed by REFBUS_TOKEN; pass its exit code"),
    ):
        claim = commands.add(name, method, says, who=AGENT, runs_command=name == "hold")
        claim.add_argument("task_id", metavar="task")
        if name in ("renew", "release"):
            claim.add_argument("--token", type=int, help="the fencing token of your grant")


def _add_views(commands: Commands) -> None:
    search = commands.add("search", _search, "messages that hold all the words", shows="messages", views=True)
    search.add_argument("words", nargs="+")
    status = commands.add(
        "status", WorkerBus.status, "newest state changes and heartbeat messages", shows="rows", views=True
    )
    for command in (search, status):
        command.add_argument("--limit", type=int)
    tail = commands.add("tail", _tail, "follow the log")
    tail.add_argument("-n", type=int, dest="lines", help="start so many messages back")
    tail.add_argument("--no-follow", action="store_true", help="stop at the end")


def _publish(bus: WorkerBus, agent_id: str, arguments: Any) -> Any:
    fields = ("id", "to", "type", "correlation_id", "in_reply_to", "payload")
    return bus.publish(agent_id, {name: value for name, value in vars(arguments).items() if name in fields})


def _heartbeat(bus: WorkerBus, agent_id: str, arguments: Any) -> Any:
    if not goes_on(arguments):
        return bus.heartbeat(**taken(WorkerBus.heartbeat, arguments))
    heart = Heartbeat(bus, agent_id, interval_ms=round(1000 * arguments.every))
    heart.update(**taken(Heartbeat.update, arguments))
    return beat_while(heart, arguments)


def _export(bus: WorkerBus, follow: bool = False) -> None:
    print_one(bus.export_to_jsonl())
    if not follow:
        return
    with bus.store.waiters.borrow() as waiter:

        def keep_up() -> None:
            bus.export_to_jsonl()
            waiter.wait(SLEEP_S_MAX)

        Stop().repeat(keep_up, tell)


def _search(bus: WorkerBus, words: list[str], limit: int = 100) -> Any:
    return bus.search(" ".join(words), limit)


def _tail(bus: WorkerBus, no_follow: bool = False, lines: int = 10) -> None:
    for message in Tail(bus, back=lines).messages(follow=not no_follow):
        print_one(message)


def _transition(bus: WorkerBus, worker: str, from_state: str, to_state: str) -> Any:
    return bus.transition(worker, to_state, None if from_state == "-" else from_state)


def _verb(bus: WorkerBus, worker: str, verb: str) -> Any:
    before, after = VERBS[verb]
    if before == ANY:
        present = bus.worker_state(worker)["state"]
        before = "WORKING" if present == after else present  # a repeat changes nothing
    return bus.transition(worker, after, before)


def hold(bus: WorkerBus, arguments: Any) -> Any:
    """Run an agent's program while its task is claimed and its heart beats; renew three times in the length of a lease.

    Whoever lost the lease has lost the task: the command is asked to end. Returns its exit code, 128 and the number of
    the signal that ended it, or the claim that was not granted.
    """
    task, agent = arguments.task_id, arguments.agent_id
    claim = bus.try_claim_task(task, agent)
    if not claim:
        return claim
    try:
        with Heartbeat(bus, agent) as heart:
            heart.update("working", current_task=task)
            code = _run(bus, arguments, claim["token"])
    finally:
        try:
            bus.release_claim(task, agent, claim["token"])
            bus.heartbeat(agent, "idle")
        except BusError as error:  # the claim ends by itself, and the command has ended
            tell(error)
    return code if code >= 0 else 128 - code


def _run(bus: WorkerBus, arguments: Any, token: int) -> int:
    """Start the command and wait for its end, renewing meanwhile. A signal to us is the command's."""
    received: list[int] = []
    for number in SIGNALS:
        signal.signal(number, lambda number, _: received.append(number))
    environment = os.environ | {"REFBUS_TASK": arguments.task_id, "REFBUS_TOKEN": str(token)}
    with subprocess.Popen(arguments.command, env=environment) as process:
        for number in SIGNALS:
            signal.signal(number, lambda number, _: process.send_signal(number))
        for earlier in received:  # before there was a process to send it to
            process.send_signal(earlier)
        while True:
            try:
                return process.wait(bus.store.lease_ms / 3000)
            except subprocess.TimeoutExpired:
                if not _renewed(bus, arguments, token):
                    print(f"refbus: the claim of {arguments.task_id} is lost; its command is ended", file=sys.stderr)
                    process.terminate()


def _renewed(bus: WorkerBus, arguments: Any, token: int) -> bool:
    """Is the task still ours? A call that failed is made again, while the lease lasts."""
    try:
        return bool(bus.renew_claim(arguments.task_id, arguments.agent_id, token))
    except BusError as error:
        tell(error)
        return True
