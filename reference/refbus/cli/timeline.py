"""`refbus timeline COMMAND`: typed messages, the record and its forks (seed 003) from the shell."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refbus.cli.common import PAYLOAD_HELP, Commands, a_json, a_path, in_ms, made, taken, tell
from refbus.kernel import jsontext
from refbus.kernel.errors import BusError, Internal, InvalidArgument
from refbus.kernel.stop import Stop
from refbus.timeline import config
from refbus.timeline.bus import TimelineBus
from refbus.timeline.cursor import Fetched
from refbus.timeline.graph import lines
from refbus.timeline.keys import DIMENSIONS, KINDS
from refbus.timeline.message import Message
from refbus.timeline.run import calls_before
from refbus.timeline.sqlite import DB_NAME
from refbus.timeline.store import Store
from refbus.timeline.worker import WAIT_MS, Worker

HELP = "typed messages with replay and forks, on SQLite or NATS (seed 003)"
EPILOG = """\
The store is a folder (default: .timeline), which is made if missing. Its config.toml says where the messages are:

  [queue]
  backend = "nats"                      # default: sqlite, a file in the folder
  nats_url = "nats://127.0.0.1:4222"

  refbus timeline work request service=infer backend=ollama -- ./infer.sh &
  refbus timeline work invoke agent=ada -- ./ada.sh &
  refbus timeline submit local ada '{"q": "why?"}'
  refbus timeline fork side main 2
  refbus timeline log --graph

The command of `work` finds in its environment where its own calls belong, so that they are recorded, replayed and
forked with what it works on: REFBUS_TIMELINE, REFBUS_SUBMISSION, REFBUS_AGENT, REFBUS_CALLS (the number before those
of its own calls), REFBUS_NONCE of a delegation, and REFBUS_MADE, the file in which its calls are counted. `call` and
`delegate` take them from there: the same calls made again, after a crash, are answered by the record.
"""
WORKED_ON = "REFBUS_"  # begins the names of the variables that tell a command of `work` its TIMELINE, AGENT, …
LOOKS = 3  # of a worker at its command, in the time that a message is in its hands
KEY_HELP = "DIMENSION=VALUE, one for each that must match"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the store is, and its queue where config.toml should not decide."""
    parser.add_argument(
        "--store", type=a_path, default=Path(".timeline"), dest="place", metavar="DIR", help="the shared folder"
    )
    parser.add_argument("--backend", choices=config.BACKENDS, help="instead of what config.toml says")
    parser.add_argument("--nats-url", metavar="URL", help="instead of what config.toml says")
    parser.add_argument("--nats-creds", metavar="FILE", help="instead of what config.toml says")
    parser.add_argument("--ack-wait-ms", type=int, metavar="MS", help="unacknowledged work comes again (default: 30 s)")


def open_bus(arguments: Any) -> TimelineBus:
    """The bus in the folder that is meant."""
    options = taken(Store, arguments)
    queue = {name: value for name, value in options.items() if name in config.Config._fields}
    is_file = config.load(arguments.place, **queue).backend == "sqlite"
    folder = made(arguments.place, arguments.place / DB_NAME if is_file else arguments.place, arguments)
    return TimelineBus(folder, **options)


def add_commands(commands: Commands) -> None:
    """One command for each thing that one does with the bus."""
    _add_calls(commands)
    _add_queue(commands)
    _add_record(commands)


# -- calls


def _add_calls(commands: Commands) -> None:
    submit = commands.add("submit", _submit, "submit to an agent, and wait for its result")
    submit.add_argument("--harness", default="cli", help="default: cli")
    submit.add_argument("runtime")
    submit.add_argument("agent")
    call = commands.add("call", _call, "call a service as an agent, and wait for its response")
    _add_agent(call, "--agent", "who calls")
    call.add_argument("--sequence", type=int, help="which of the agent's calls (default: the next one of `work`, or 1)")
    call.add_argument("service")
    call.add_argument("backend_of", metavar="BACKEND")
    call.add_argument("operation")
    delegate = commands.add("delegate", _delegate, "hand a sub-task to an agent, and wait")
    _add_agent(delegate, "--caller", "who delegates")
    delegate.add_argument("--nonce", help="tells delegations to one target apart (default: the call's number or fresh)")
    delegate.add_argument("target")
    timeline, submission = (os.environ.get(f"{WORKED_ON}{name}") for name in ("TIMELINE", "SUBMISSION"))
    fresh = submission or uuid.uuid4().hex
    for command in (submit, call, delegate):
        command.add_argument("--timeline", default=timeline or "main", help="default: that of `work`, or main")
        command.add_argument("--submission", default=fresh, help="default: that of `work`, or a fresh one")
        command.add_argument(
            "--wait", type=in_ms, dest="timeout_ms", metavar="SECONDS", help="TIMEOUT after so long (30)"
        )
        command.add_argument("payload", nargs="?", type=a_json, help=PAYLOAD_HELP)


def _add_agent(parser: argparse.ArgumentParser, option: str, says: str) -> None:
    agent = os.environ.get(f"{WORKED_ON}AGENT")
    parser.add_argument(option, required=agent is None, default=agent, help=f"{says} (default: whom `work` runs)")


def _submit(bus: TimelineBus, submission: str, arguments: Any) -> Any:
    return {"submission": submission, **bus.run_agent(**taken(TimelineBus.run_agent, arguments))}


def _call(bus: TimelineBus, submission: str, arguments: Any) -> Any:
    arguments.backend = arguments.backend_of  # not that of the queue
    given: int | None = vars(arguments).get("sequence")
    arguments.sequence = _calls_before() + (_calls_made() or 1 if given is None else given)
    return {"submission": submission, **bus.call_service(**taken(TimelineBus.call_service, arguments))}


def _delegate(bus: TimelineBus, submission: str, arguments: Any) -> Any:
    values = taken(TimelineBus.delegate, arguments)
    if "nonce" not in values:
        number = _calls_made()
        values["nonce"] = uuid.uuid4().hex if number is None else str(_calls_before() + number)
    return {"submission": submission, **bus.delegate(**values)}


def _calls_before() -> int:
    """The number before those of this run's calls."""
    return int(os.environ.get(f"{WORKED_ON}CALLS", 0))


def _calls_made() -> int | None:
    """Which call of its run of `work` this one is, from 1; None outside of `work`."""
    path = os.environ.get(f"{WORKED_ON}MADE")
    if path is None:
        return None
    made = os.open(path, os.O_WRONLY | os.O_APPEND)
    try:
        os.write(made, b".")
        return os.lseek(made, 0, os.SEEK_CUR)  # behind its own byte, whoever else appends
    finally:
        os.close(made)


# -- the queue


def _add_queue(commands: Commands) -> None:
    for name, run, says in (
        ("send", TimelineBus.send, "send a message to a subject of an invoke, a request or a delegate"),
        ("reply", TimelineBus.reply, "answer the message with this subject"),
    ):
        sends = commands.add(name, _with_key, says)
        sends.set_defaults(method=run)
        sends.add_argument("--nonce", help="of a delegation")
        sends.add_argument("subject")
        sends.add_argument("payload", nargs="?", type=a_json, help=PAYLOAD_HELP)
    sends.add_argument("--state", type=a_json, help="of the agent, JSON: its hash goes with a result")
    fetch = commands.add("fetch", _fetch, "take the oldest message of a filter")
    fetch.add_argument("--wait", type=in_ms, default=0, dest="wait_ms", metavar="SECONDS", help="wait for one")
    work = commands.add(
        "work",
        _work,
        "answer the messages of a filter by the command behind --: payload on its stdin, answer on its stdout, in JSON",
        runs_command=True,
    )
    work.add_argument("--once", action="store_true", help="one message, then end")
    subject = commands.add("subject", _subject, "how a key, or a filter, is written on the wire")
    for filtering in (fetch, work, subject):
        filtering.add_argument("--group", default=None, help="a group gets every message, one worker in it each")
        filtering.add_argument("type", choices=tuple(KINDS))
        filtering.add_argument("dimensions", nargs="*", default=(), metavar="DIMENSION=VALUE", help=KEY_HELP)
    commands.add("ack", TimelineBus.ack, "what fetch gave is done").add_argument("delivery")
    commands.add("nak", TimelineBus.nak, "what fetch gave is given back").add_argument("delivery")
    commands.add("key", TimelineBus.key_of, "the key of a subject", shows="key").add_argument("subject")


def _with_key(bus: TimelineBus, method: Callable[..., Any], subject: str, arguments: Any) -> Any:
    return method(bus, bus.key_of(subject)["key"], **taken(method, arguments))


def _filter(arguments: Any) -> dict[str, Any]:
    wanted: dict[str, Any] = {"type": arguments.type}
    for word in arguments.dimensions:
        name, is_pair, value = word.partition("=")
        if not is_pair or name not in DIMENSIONS[KINDS[arguments.type]]:
            known = ", ".join(DIMENSIONS[KINDS[arguments.type]])
            raise InvalidArgument(f"{word!a:.80} is no DIMENSION=VALUE; those of {arguments.type} are {known}")
        wanted[name] = int(value) if name == "sequence" and value.isdecimal() else value
    return wanted


def _fetch(bus: TimelineBus, group: str | None, wait_ms: int, arguments: Any) -> Any:
    return bus.fetch(_filter(arguments), group, wait_ms)["message"]


def _work(bus: TimelineBus, command: list[str], group: str | None, arguments: Any, once: bool = False) -> Any:
    if shutil.which(command[0]) is None:
        raise InvalidArgument(f"there is no command {command[0]!a:.300}")

    def answer(message: Fetched) -> tuple[Any, Any]:
        with tempfile.NamedTemporaryFile(prefix="refbus-") as made:
            environment = os.environ | _worked_on(message) | {f"{WORKED_ON}MADE": made.name}
            with subprocess.Popen(
                command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
            ) as running:
                output = _output(running, message, bus)
        if running.returncode:
            bus.store.queue.extend(message["delivery"])  # others have their turn, however long this one took
            raise Internal(
                f"{command[0]!a:.80} ended with {running.returncode}; its message comes again after the ack wait"
            )
        return a_json(output), None

    worker = Worker(bus, _filter(arguments), answer, group)
    if once:
        return {"worked": worker.step(24 * 60 * 60 * 1000)}
    return Stop().repeat(lambda: worker.step(WAIT_MS), tell, Exception)


def _output(running: subprocess.Popen[str], message: Fetched, bus: TimelineBus) -> str:
    """The output of a command. The message stays in its hands while the command runs."""
    payload: str | None = jsontext.encode(message["payload"])
    try:
        while True:
            try:
                return running.communicate(payload, timeout=bus.store.ack_wait_ms / 1000 / LOOKS)[0]
            except subprocess.TimeoutExpired:
                payload = None  # it is on its way
                try:
                    bus.store.queue.extend(message["delivery"])
                except BusError as error:  # the next look comes while there is time
                    tell(error)
    except BaseException:
        running.kill()
        raise


def _worked_on(message: Message) -> dict[str, str]:
    """The environment of a command: where its own calls belong, so that they are recorded and replayed with it."""
    key = message["key"] or {}
    worked_on = {"TIMELINE": key["timeline"], "SUBMISSION": key["submission"]}
    if key["type"] in ("invoke", "delegate"):
        worked_on |= {"AGENT": key.get("agent") or key["target"], "CALLS": str(calls_before(message))}
    if message["nonce"] is not None:
        worked_on["NONCE"] = message["nonce"]
    return {f"{WORKED_ON}{name}": value for name, value in worked_on.items()}


def _subject(bus: TimelineBus, group: str | None, arguments: Any) -> Any:
    return bus.filter_subject(_filter(arguments), group)


# -- the record


def _add_record(commands: Commands) -> None:
    log = commands.add("log", _log, "what a timeline sees, or all of them", shows="messages", views=True)
    log.add_argument("--graph", action="store_true", help="draw the DAG of all timelines")
    log.add_argument("--submission", help="only this one's")
    log.add_argument("--after", type=int, metavar="N", help="from behind this number")
    log.add_argument("--limit", type=int)
    log.add_argument("timeline", nargs="?", default="main", help="default: main")
    commands.add(
        "timelines", TimelineBus.timelines, "each with its parent and fork point", shows="timelines", views=True
    )
    state = commands.add("state", TimelineBus.state, "the hash of an agent's state on a timeline", views=True)
    state.add_argument("timeline")
    state.add_argument("agent")
    verify = commands.add("verify", TimelineBus.verify, "is the record what was recorded?", views=True)
    verify.add_argument("--head", metavar="HASH", help="what the timeline's last hash is believed to be")
    verify.add_argument("timeline", nargs="?", help="default: all")
    replay = commands.add("replay", TimelineBus.replay, "a submission as it happened", shows="messages", views=True)
    replay.add_argument("timeline")
    replay.add_argument("submission")
    fork = commands.add("fork", TimelineBus.fork, "begin a timeline behind message N of another")
    fork.add_argument("--submission", default="fork", help="default: fork")
    fork.add_argument("--agent", default="cli", dest="agent_name", metavar="AGENT", help="default: cli")
    fork.add_argument("timeline", help="the new one")
    fork.add_argument("parent")
    fork.add_argument("at", type=int, metavar="N")
    commands.add("dump", TimelineBus.dump, "every message, every timeline, and an integrity check", views=True)


def _log(bus: TimelineBus, arguments: Any, graph: bool = False) -> Any:
    if not graph:
        return bus.log(**taken(TimelineBus.log, arguments))
    if given := {"submission", "after", "limit"} & vars(arguments).keys():
        raise InvalidArgument(f"--graph draws all timelines: no --{min(given)} with it")
    whole = bus.dump()
    for line in lines(whole["timelines"], whole["messages"]):
        print(line)
    return {"messages": []}
