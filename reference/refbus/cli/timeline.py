"""`refbus timeline COMMAND`: typed messages, the record and its forks (seed 003) from the shell."""

from __future__ import annotations

import argparse
import os
import subprocess
import uuid
from pathlib import Path
from typing import Any

from refbus.cli.common import PAYLOAD_HELP, Commands, a_path, given, made, print_all, print_one, read_json, seconds
from refbus.kernel import jsontext
from refbus.kernel.errors import InvalidArgument
from refbus.timeline import config, graph
from refbus.timeline.bus import TimelineBus
from refbus.timeline.keys import DIMENSIONS, KINDS
from refbus.timeline.message import Message
from refbus.timeline.run import calls_before
from refbus.timeline.sqlite import DB_NAME
from refbus.timeline.worker import Worker

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
of its own calls), REFBUS_NONCE of a delegation. `call` and `delegate` take them from there.
"""
WORKED_ON = "REFBUS_"  # begins the names of the variables that tell a command of `work` its TIMELINE, AGENT, …
KEY_HELP = "DIMENSION=VALUE, one for each that must match"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the store is, and its queue where config.toml should not decide."""
    parser.add_argument("--store", type=a_path, default=Path(".timeline"), metavar="DIR", help="the shared folder")
    parser.add_argument("--backend", choices=config.BACKENDS, help="instead of what config.toml says")
    parser.add_argument("--nats-url", metavar="URL", help="instead of what config.toml says")
    parser.add_argument("--nats-creds", metavar="FILE", help="instead of what config.toml says")
    parser.add_argument("--ack-wait-ms", type=int, metavar="MS", help="unacknowledged work comes again (default: 30 s)")


def open_bus(arguments: Any) -> TimelineBus:
    """The bus in the folder that is meant."""
    queue = given(backend=arguments.backend, nats_url=arguments.nats_url, nats_creds=arguments.nats_creds)
    is_file = config.load(arguments.store, **queue).backend == "sqlite"
    folder = made(arguments.store, arguments.store / DB_NAME if is_file else arguments.store, arguments)
    return TimelineBus(folder, synchronous=arguments.synchronous, **queue, **given(ack_wait_ms=arguments.ack_wait_ms))


def add_commands(commands: Commands) -> None:
    """One command for each thing that one does with the bus."""
    _add_calls(commands)
    _add_queue(commands)
    _add_record(commands)


# -- calls


def _add_calls(commands: Commands) -> None:
    submit = commands.add("submit", _submit, "submit to an agent, and wait for its result", takes_agent=False)
    submit.add_argument("--harness", default="cli", help="default: cli")
    submit.add_argument("runtime")
    submit.add_argument("agent")
    call = commands.add("call", _call, "call a service as an agent, and wait for its response", takes_agent=False)
    _add_agent(call, "--agent", "who calls")
    call.add_argument("--sequence", type=int, default=1, help="which of the agent's calls in the submission")
    call.add_argument("service")
    call.add_argument("backend_of", metavar="BACKEND")
    call.add_argument("operation")
    delegate = commands.add("delegate", _delegate, "hand a sub-task to an agent, and wait", takes_agent=False)
    _add_agent(delegate, "--caller", "who delegates")
    delegate.add_argument("--nonce", help="tells delegations to one target apart (default: a fresh one)")
    delegate.add_argument("target")
    for command in (submit, call, delegate):
        _add_place(command)
        command.add_argument("--wait", type=seconds, default=30.0, metavar="SECONDS", help="TIMEOUT after so long (30)")
        command.add_argument("payload", nargs="?", default="null", help=PAYLOAD_HELP)


def _add_agent(parser: argparse.ArgumentParser, option: str, says: str) -> None:
    agent = os.environ.get(f"{WORKED_ON}AGENT")
    parser.add_argument(option, required=agent is None, default=agent, help=f"{says} (default: whom `work` runs)")


def _add_place(parser: argparse.ArgumentParser) -> None:
    timeline, submission = (os.environ.get(f"{WORKED_ON}{name}") for name in ("TIMELINE", "SUBMISSION"))
    parser.add_argument("--timeline", default=timeline or "main", help="default: that of `work`, or main")
    parser.add_argument("--submission", default=submission, help="default: that of `work`, or a fresh one")


def _place(arguments: Any) -> dict[str, Any]:
    return {
        "timeline": arguments.timeline,
        "submission": arguments.submission or uuid.uuid4().hex,
        "payload": read_json("payload", arguments.payload),
        "timeout_ms": round(arguments.wait * 1000),
    }


def _submit(bus: TimelineBus, arguments: Any) -> None:
    place = _place(arguments)
    answer = bus.run_agent(harness=arguments.harness, runtime=arguments.runtime, agent=arguments.agent, **place)
    print_one({"submission": place["submission"], **answer})


def _call(bus: TimelineBus, arguments: Any) -> None:
    place = _place(arguments)
    answer = bus.call_service(
        agent=arguments.agent,
        service=arguments.service,
        backend=arguments.backend_of,
        operation=arguments.operation,
        sequence=int(os.environ.get(f"{WORKED_ON}CALLS", 0)) + arguments.sequence,
        **place,
    )
    print_one({"submission": place["submission"], **answer})


def _delegate(bus: TimelineBus, arguments: Any) -> None:
    place = _place(arguments)
    nonce = arguments.nonce or uuid.uuid4().hex
    print_one(
        {
            "submission": place["submission"],
            **bus.delegate(caller=arguments.caller, target=arguments.target, nonce=nonce, **place),
        }
    )


# -- the queue


def _add_queue(commands: Commands) -> None:
    for name, run, says in (
        ("send", _send, "send a message to a subject of an invoke, a request or a delegate"),
        ("reply", _reply, "answer the message with this subject"),
    ):
        sends = commands.add(name, run, says, takes_agent=False)
        sends.add_argument("--nonce", help="of a delegation")
        sends.add_argument("subject")
        sends.add_argument("payload", nargs="?", default="null", help=PAYLOAD_HELP)
    sends.add_argument("--state", default="null", help="of the agent, JSON: its hash goes with a result")
    for name, run, says in (
        ("fetch", _fetch, "take the oldest message of a filter"),
        ("work", _work, "answer the messages of a filter by a command: payload on its stdin, answer on its stdout"),
        ("subject", _subject, "how a key, or a filter, is written on the wire"),
    ):
        filtering = commands.add(name, run, says, takes_agent=False)
        filtering.add_argument("--group", help="a group gets every message, one worker in it each")
        filtering.add_argument("type", choices=tuple(KINDS))
        filtering.add_argument("dimensions", nargs="*", metavar="DIMENSION=VALUE", help=KEY_HELP)
        if name == "fetch":
            filtering.add_argument("--wait", type=seconds, default=0, metavar="SECONDS", help="wait for one")
        if name == "work":
            filtering.add_argument("--once", action="store_true", help="one message, then end")
    for name, run, says in (
        ("ack", _settle, "what fetch gave is done"),
        ("nak", _settle, "what fetch gave is given back"),
    ):
        settles = commands.add(name, run, says, takes_agent=False)
        settles.set_defaults(method=name)
        settles.add_argument("delivery")
    commands.add("key", _key, "the key of a subject", takes_agent=False).add_argument("subject")


def _send(bus: TimelineBus, arguments: Any) -> None:
    key = bus.key_of(arguments.subject)["key"]
    print_one(bus.send(key, read_json("payload", arguments.payload), arguments.nonce))


def _reply(bus: TimelineBus, arguments: Any) -> None:
    key = bus.key_of(arguments.subject)["key"]
    payload, state = read_json("payload", arguments.payload), read_json("state", arguments.state)
    print_one(bus.reply(key, payload, arguments.nonce, state))


def _filter(arguments: Any) -> tuple[dict[str, Any], list[str]]:
    """The filter, and the command behind it."""
    wanted: dict[str, Any] = {"type": arguments.type}
    words = list(arguments.dimensions)
    while words and words[0].partition("=")[0] in DIMENSIONS[KINDS[arguments.type]]:
        name, _, value = words.pop(0).partition("=")
        wanted[name] = int(value) if name == "sequence" and value.isdecimal() else value
    return wanted, words


def _no_more(words: list[str]) -> None:
    if words:
        raise InvalidArgument(f"no DIMENSION=VALUE: {words[0]!a:.80}")


def _fetch(bus: TimelineBus, arguments: Any) -> None:
    wanted, words = _filter(arguments)
    _no_more(words)
    message = bus.fetch(wanted, arguments.group, round(arguments.wait * 1000))["message"]
    print_all([] if message is None else [message])


def _work(bus: TimelineBus, arguments: Any) -> None:
    wanted, command = _filter(arguments)
    if not command:
        raise InvalidArgument("work needs a command: … -- COMMAND")

    def answer(message: Message) -> tuple[Any, Any]:
        done = subprocess.run(
            command,
            input=jsontext.encode(message["payload"]),
            env=os.environ | _worked_on(message),
            text=True,
            stdout=subprocess.PIPE,
            check=True,
        )
        return read_json("answer", done.stdout), None

    worker = Worker(bus, wanted, answer, arguments.group)
    if arguments.once:
        print_one({"worked": worker.step(24 * 60 * 60 * 1000)})
    else:
        worker.run(lambda: False)


def _worked_on(message: Message) -> dict[str, str]:
    """The environment of a command: where its own calls belong, so that they are recorded and replayed with it."""
    key = message["key"] or {}
    worked_on = {"TIMELINE": key["timeline"], "SUBMISSION": key["submission"]}
    if key["type"] in ("invoke", "delegate"):
        worked_on |= {"AGENT": key.get("agent") or key["target"], "CALLS": str(calls_before(message))}
    if message["nonce"] is not None:
        worked_on["NONCE"] = message["nonce"]
    return {f"{WORKED_ON}{name}": value for name, value in worked_on.items()}


def _subject(bus: TimelineBus, arguments: Any) -> None:
    wanted, words = _filter(arguments)
    _no_more(words)
    print_one(bus.filter_subject(wanted, arguments.group))


def _settle(bus: TimelineBus, arguments: Any) -> None:
    print_one(getattr(bus, arguments.method)(arguments.delivery))


def _key(bus: TimelineBus, arguments: Any) -> None:
    print_one(bus.key_of(arguments.subject)["key"])


# -- the record


def _add_record(commands: Commands) -> None:
    log = commands.add("log", _log, "what a timeline sees, or all of them", takes_agent=False, views=True)
    log.add_argument("--graph", action="store_true", help="draw the DAG of all timelines")
    log.add_argument("--submission", help="only this one's")
    log.add_argument("--after", type=int, default=0, metavar="N", help="from behind this number")
    log.add_argument("--limit", type=int)
    log.add_argument("timeline", nargs="?", default="main", help="default: main")
    commands.add("timelines", _timelines, "each with its parent and fork point", takes_agent=False, views=True)
    state = commands.add("state", _state, "the hash of an agent's state on a timeline", takes_agent=False, views=True)
    state.add_argument("timeline")
    state.add_argument("agent")
    verify = commands.add("verify", _verify, "is the record what was recorded?", takes_agent=False, views=True)
    verify.add_argument("--head", metavar="HASH", help="what the timeline's last hash is believed to be")
    verify.add_argument("timeline", nargs="?", help="default: all")
    replay = commands.add("replay", _replay, "a submission as it happened", takes_agent=False, views=True)
    replay.add_argument("timeline")
    replay.add_argument("submission")
    fork = commands.add("fork", _fork, "begin a timeline behind message N of another", takes_agent=False)
    fork.add_argument("--submission", default="fork", help="default: fork")
    fork.add_argument("--agent", default="cli", help="default: cli")
    fork.add_argument("timeline", help="the new one")
    fork.add_argument("parent")
    fork.add_argument("at", type=int, metavar="N")
    commands.add_plain("dump", "dump", "every message, every timeline, and an integrity check")


def _log(bus: TimelineBus, arguments: Any) -> None:
    if arguments.graph:
        whole = bus.dump()
        for line in graph.lines(whole["timelines"], whole["messages"]):
            print(line)
        return
    limit = given(limit=arguments.limit)
    print_all(list(bus.log(arguments.timeline, arguments.submission, arguments.after, **limit)["messages"]))


def _timelines(bus: TimelineBus, arguments: Any) -> None:
    print_all(list(bus.timelines()["timelines"]))


def _state(bus: TimelineBus, arguments: Any) -> None:
    print_one(bus.state(arguments.timeline, arguments.agent))


def _verify(bus: TimelineBus, arguments: Any) -> int:
    return int(not print_one(bus.verify(arguments.timeline, arguments.head))["ok"])


def _replay(bus: TimelineBus, arguments: Any) -> None:
    print_all(list(bus.replay(arguments.timeline, arguments.submission)["messages"]))


def _fork(bus: TimelineBus, arguments: Any) -> None:
    print_one(bus.fork(arguments.timeline, arguments.submission, arguments.agent, arguments.parent, arguments.at))
