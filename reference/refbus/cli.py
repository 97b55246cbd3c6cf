"""`refbus SYSTEM COMMAND`: a bus from the shell. One line of JSON for each result; errors go to stderr, exit 1."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from refbus import __version__
from refbus.kernel import jsontext
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.topics.admin import main as topics
from refbus.worker.bus import WorkerBus
from refbus.worker.tail import Tail

EPILOG = """\
The store is the folder that the agents share (default: .worker-state in the current folder); it is made if missing.

  refbus worker publish --as alice --to bob task_assign '{"task": "skills-abc"}'
  refbus worker poll --as bob --wait-ms 60000
  refbus worker ack --as bob 1
  refbus worker tail
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["topics"]:  # it serves MCP as well, and so has a parser of its own
        return topics(argv[1:])
    arguments = _parser().parse_args(argv)
    try:
        arguments.store.mkdir(parents=True, exist_ok=True)
        with WorkerBus(arguments.store.resolve(), **_options(arguments)) as bus:
            arguments.run(bus, arguments)
    except BusError as error:
        print(f"refbus: {error.code}: {error}", file=sys.stderr)
        return 1
    except (OSError, KeyboardInterrupt) as error:
        print(f"refbus: {error!r}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="refbus", description="The reference buses of busproof.")
    parser.add_argument("--version", action="version", version=f"refbus {__version__}")
    systems = parser.add_subparsers(metavar="SYSTEM", required=True)
    worker = systems.add_parser(
        "worker", help="the SQLite message bus (seed 000)", epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )  # fmt: skip
    worker.add_argument(
        "--store", type=Path, default=Path(".worker-state"), metavar="DIR", help="the agents' folder"
    )
    worker.add_argument("--signing-key", metavar="HEX", help="sign and verify messages")
    worker.add_argument(
        "--synchronous", choices=("NORMAL", "FULL"), default="NORMAL", help="FULL survives power loss"
    )
    _add_commands(worker.add_subparsers(metavar="COMMAND", required=True))
    systems.add_parser("topics", help="the MCP agent bus (seed 004)")
    return parser


def _add_commands(commands: Any) -> None:
    def command(
        name: str, run: Callable[[WorkerBus, Any], None], says: str, *, takes_agent: bool = True
    ) -> Any:
        added = commands.add_parser(name, help=says, description=says)
        added.set_defaults(run=run)
        if takes_agent:
            added.add_argument("--as", dest="agent", required=True, metavar="AGENT", help="who acts")
        return added

    publish = command("publish", _publish, "append a message")
    publish.add_argument("--to", metavar="AGENT", help="one recipient; without it a broadcast")
    publish.add_argument("--id", help="chosen by you, for idempotent retries")
    publish.add_argument("--correlation-id")
    publish.add_argument("--in-reply-to", metavar="ID")
    publish.add_argument("type")
    publish.add_argument("payload", nargs="?", help="JSON, or - for standard input")
    poll = command("poll", _poll, "unacknowledged messages, oldest first")
    poll.add_argument("--limit", type=int, default=100)
    poll.add_argument("--wait-ms", type=int, default=0, help="wait for a first message")
    command("ack", _ack, "everything up to SEQ is processed").add_argument("seq", type=int)
    for name, method, says in (
        ("claim", "try_claim_task", "take a task's lease"),
        ("renew", "renew_claim", "extend the lease"),
        ("release", "release_claim", "give the task back"),
    ):
        claim = command(name, _claim, says)
        claim.set_defaults(method=method)
        claim.add_argument("task")
        if name != "claim":
            claim.add_argument("--token", type=int, help="the fencing token of your grant")
    beat = command("heartbeat", _heartbeat, "say once that an agent lives")
    beat.add_argument("status", choices=("idle", "working", "blocked"))
    beat.add_argument("--task")
    beat.add_argument("--progress", type=float)
    search = command("search", _search, "messages that hold all the words", takes_agent=False)
    search.add_argument("words", nargs="+")
    search.add_argument("--limit", type=int, default=100)
    status = command("status", _status, "newest state changes and heartbeat messages", takes_agent=False)
    status.add_argument("--limit", type=int, default=100)
    tail = command("tail", _tail, "follow the log", takes_agent=False)
    tail.add_argument("-n", type=int, default=10, dest="lines", help="start so many messages back")
    tail.add_argument("--no-follow", action="store_true", help="stop at the end")
    command("redrive", _redrive, "put a dead letter back in front of its agent").add_argument("seq", type=int)
    command("dead-letters", _dead_letters, "messages that were given up")
    transition = command("transition", _transition, "move a worker's state", takes_agent=False)
    transition.add_argument("worker")
    transition.add_argument("from_state", help="the state you believe; - for a new worker")
    transition.add_argument("to_state")
    command("state", _state, "a worker's state", takes_agent=False).add_argument("worker")
    for name, method, says in (
        ("liveness", "liveness", "who is alive, stale, dead"),
        ("export", "export_to_jsonl", "bring bus.jsonl up to date"),
        ("archive", "archive", "move out what everybody has processed, and vacuum"),
        ("dump", "dump", "every table, and an integrity check"),
    ):
        command(name, _plain, says, takes_agent=False).set_defaults(method=method)


def _options(arguments: Any) -> dict[str, Any]:
    return {"signing_key": arguments.signing_key, "synchronous": arguments.synchronous}


def _publish(bus: WorkerBus, arguments: Any) -> None:
    said = {
        "id": arguments.id, "to": arguments.to, "type": arguments.type,
        "correlation_id": arguments.correlation_id, "in_reply_to": arguments.in_reply_to,
    }  # fmt: skip
    message: dict[str, Any] = {field: value for field, value in said.items() if value is not None}
    if arguments.payload is not None:
        text = sys.stdin.read() if arguments.payload == "-" else arguments.payload
        try:
            message["payload"] = jsontext.decode(text)
        except ValueError as error:
            raise InvalidArgument(f"the payload is no JSON: {error}") from error
    _print(bus.publish(arguments.agent, message))


def _poll(bus: WorkerBus, arguments: Any) -> None:
    _print_all(bus.poll(arguments.agent, arguments.limit, arguments.wait_ms)["messages"])


def _ack(bus: WorkerBus, arguments: Any) -> None:
    _print(bus.ack(arguments.agent, arguments.seq))


def _claim(bus: WorkerBus, arguments: Any) -> None:
    token = {} if arguments.method == "try_claim_task" else {"token": arguments.token}
    _print(getattr(bus, arguments.method)(arguments.task, arguments.agent, **token))


def _heartbeat(bus: WorkerBus, arguments: Any) -> None:
    _print(bus.heartbeat(arguments.agent, arguments.status, arguments.task, arguments.progress))


def _search(bus: WorkerBus, arguments: Any) -> None:
    _print_all(bus.search(" ".join(arguments.words), arguments.limit)["messages"])


def _status(bus: WorkerBus, arguments: Any) -> None:
    _print_all(bus.status(arguments.limit)["rows"])


def _tail(bus: WorkerBus, arguments: Any) -> None:
    for message in Tail(bus, back=arguments.lines).messages(follow=not arguments.no_follow):
        _print(message)


def _redrive(bus: WorkerBus, arguments: Any) -> None:
    _print(bus.redrive(arguments.agent, arguments.seq))


def _dead_letters(bus: WorkerBus, arguments: Any) -> None:
    _print_all(bus.dead_letters(arguments.agent)["messages"])


def _transition(bus: WorkerBus, arguments: Any) -> None:
    from_state = None if arguments.from_state == "-" else arguments.from_state
    _print(bus.transition(arguments.worker, arguments.to_state, from_state))


def _state(bus: WorkerBus, arguments: Any) -> None:
    _print(bus.worker_state(arguments.worker))


def _plain(bus: WorkerBus, arguments: Any) -> None:
    _print(getattr(bus, arguments.method)())


def _print_all(rows: list[dict[str, Any]]) -> None:
    for row in rows:
        _print(row)


def _print(reply: dict[str, Any]) -> None:
    print(json.dumps(reply, default=repr), flush=True)


if __name__ == "__main__":
    sys.exit(main())
