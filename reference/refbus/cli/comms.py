"""`refbus comms COMMAND`: the broker, votes and artifacts of seed 001 from the shell."""

from __future__ import annotations

import argparse
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
    seconds,
)
from refbus.comms.bus import CommsBus
from refbus.comms.heartbeat import Heartbeat
from refbus.comms.log import Sent
from refbus.comms.presence import NEVER, STATUSES, AgentHealth
from refbus.comms.store import DB_NAME
from refbus.kernel.rules import delivery

HELP = "the message broker with artifacts and votes (seed 001)"
EPILOG = """\
The store is .claude/communications in the project's folder (default: the current folder); it is made if missing.

  refbus comms send --as alice --to bob context.query '{"query": "which branch?"}'
  message=$(refbus comms receive --as bob --limit 1 --wait 60)
  refbus comms claim --as bob ID
  refbus comms respond "$message" '{"context": {"branch": "main"}}'
  refbus comms complete ID
"""
MESSAGE_HELP = "a message as receive printed it, or - for standard input"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the project is, and how long a claim lasts."""
    parser.add_argument(
        "--project", type=a_path, default=Path(), dest="store", metavar="DIR", help="the folder that holds .claude"
    )
    parser.add_argument(
        "--visibility-ms",
        type=int,
        default=delivery.VISIBILITY_MS,
        metavar="MS",
        help="a claim that is not completed ends after so long",
    )


def open_bus(arguments: Any) -> CommsBus:
    """The bus in the folder that is meant."""
    database = arguments.store / ".claude" / "communications" / DB_NAME
    folder = made(arguments.store, database, arguments)
    return CommsBus(folder, visibility_ms=arguments.visibility_ms, synchronous=arguments.synchronous)


def add_commands(commands: Commands) -> None:
    """One command for each thing that one does with the bus."""
    _add_sending(commands)
    _add_receiving(commands)
    _add_presence(commands)
    _add_votes(commands.group("vote", "open a vote, cast one, count"))
    _add_artifacts(commands.group("artifact", "large results in files of their own"))
    commands.add("dead-letters", _dead_letters, "messages that failed three times", takes_agent=False, views=True)
    redrive = commands.add("redrive", _redrive, "put a dead letter back in front of its agent", takes_agent=False)
    redrive.add_argument("id", help="the letter's id")
    commands.add_plain("cleanup", "cleanup_expired_messages", "remove messages past their time to live")
    commands.add_plain("audit", "export_audit_trail", "bring .claude/audit-trail.jsonl up to date")
    breaker = commands.add("breaker", _breaker, "what a fresh circuit breaker says to each event", takes_agent=False)
    breaker.add_argument("events", help='JSON, [{"at_ms": 0, "event": "call"}, …]: call, success or failure')
    commands.add_plain("dump", "dump", "every table, and an integrity check")


# -- sending


def _add_sending(commands: Commands) -> None:
    send = commands.add("send", _send, "send a message")
    send.add_argument("--to", metavar="AGENT", help="one recipient; without it a broadcast")
    _add_envelope(send)
    send.add_argument("--id", help="a UUID chosen by you, for idempotent retries")
    send.add_argument("--correlation-id")
    send.add_argument("--ttl", type=_ttl, metavar="SECONDS", help="time to live; none: for ever (default: 1 h)")
    send.add_argument("--attempts", type=int, default=1, help="try again after a failure, later and later")
    request = commands.add("request", _request, "send a message and wait for its answer")
    request.add_argument("--to", required=True, metavar="AGENT", help="who is asked")
    _add_envelope(request)
    request.add_argument("--wait", type=seconds, metavar="SECONDS", help="TIMEOUT after so long (default: 30)")
    respond = commands.add("respond", _respond, "answer a message", takes_agent=False)
    respond.add_argument("--as", dest="agent", metavar="AGENT", help="who answers a broadcast")
    respond.add_argument("--artifact", metavar="PATH", help="a large result, as artifact put returned it")
    respond.add_argument("--id", help="a UUID chosen by you, for idempotent retries")
    respond.add_argument("message", help=MESSAGE_HELP)
    respond.add_argument("payload", help=PAYLOAD_HELP)
    validate = commands.add("validate", _validate, "all that is wrong with an envelope", takes_agent=False)
    validate.add_argument("message", help=MESSAGE_HELP)


def _add_envelope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--channel", help="default: general")
    parser.add_argument("--priority", type=int, help="1 to 10, 10 is the highest (default: 5)")
    parser.add_argument("type")
    parser.add_argument("payload", nargs="?", default="{}", help=PAYLOAD_HELP)


def _ttl(text: str) -> int | str:
    return text if text == "none" else int(text)


def _envelope(arguments: Any) -> dict[str, Any]:
    return {
        "from_agent": arguments.agent,
        "to_agent": arguments.to,
        "message_type": arguments.type,
        "payload": read_json("payload", arguments.payload),
        **given(channel=arguments.channel, priority=arguments.priority),
    }


def _send(bus: CommsBus, arguments: Any) -> None:
    message = _envelope(arguments) | given(message_id=arguments.id, correlation_id=arguments.correlation_id)
    if arguments.ttl is not None:
        message["ttl_seconds"] = None if arguments.ttl == "none" else arguments.ttl
    print_one(bus.send_with_retry(arguments.attempts, **message))


def _request(bus: CommsBus, arguments: Any) -> None:
    print_one(bus.request(**_envelope(arguments), **given(timeout_seconds=arguments.wait))["response"])


def _respond(bus: CommsBus, arguments: Any) -> None:
    original = read_json("message", arguments.message)
    payload = read_json("payload", arguments.payload)
    print_one(bus.send_response(original, payload, arguments.artifact, arguments.agent, arguments.id))


def _validate(bus: CommsBus, arguments: Any) -> Any:
    return print_one(bus.validate_message(read_json("message", arguments.message)))


# -- receiving


def _add_receiving(commands: Commands) -> None:
    receive = commands.add("receive", _receive, "messages that could be claimed; nothing is claimed by it")
    receive.add_argument(
        "--channel", action="append", dest="channels", help="again for more (default: the agent's subscriptions)"
    )
    receive.add_argument("--limit", type=int, default=10)
    receive.add_argument("--wait", type=seconds, metavar="SECONDS", help="wait for a first message")
    for name, method, says in (
        ("subscribe", "subscribe_to_channel", "want a channel"),
        ("unsubscribe", "unsubscribe_from_channel", "want it no more"),
    ):
        subscribe = commands.add(name, _subscribe, says)
        subscribe.set_defaults(method=method)
        subscribe.add_argument("channel")
    commands.add("subscriptions", _subscriptions, "the agent's channels")
    commands.add("claim", _claim, "take a message for processing").add_argument("id")
    complete = commands.add("complete", _complete, "a claimed message is done, or has failed", takes_agent=False)
    complete.add_argument("--as", dest="agent", metavar="AGENT", help="who completes a broadcast")
    complete.add_argument("--error", metavar="TEXT", help="it failed: due again later, the third time a dead letter")
    complete.add_argument("--delivery-count", type=int, metavar="N", help="the fencing token of your claim")
    complete.add_argument("id")


def _receive(bus: CommsBus, arguments: Any) -> None:
    channels = arguments.channels
    if channels is None:
        # An agent that subscribed to nothing reads the default channel.
        channels = bus.get_subscribed_channels(arguments.agent)["channels"] or ["general"]
    print_all(bus.receive_messages(arguments.agent, channels, arguments.limit, arguments.wait)["messages"])


def _subscribe(bus: CommsBus, arguments: Any) -> None:
    print_one(getattr(bus, arguments.method)(arguments.agent, arguments.channel))


def _subscriptions(bus: CommsBus, arguments: Any) -> None:
    print_one(bus.get_subscribed_channels(arguments.agent))


def _claim(bus: CommsBus, arguments: Any) -> Any:
    return print_one(bus.claim_message(arguments.agent, arguments.id))


def _complete(bus: CommsBus, arguments: Any) -> None:
    print_one(bus.complete_message(arguments.id, arguments.error, arguments.agent, arguments.delivery_count))


def _dead_letters(bus: CommsBus, arguments: Any) -> None:
    print_all(bus.dead_letters()["dead_letters"])


def _redrive(bus: CommsBus, arguments: Any) -> Any:
    return print_one(bus.redrive(arguments.id))


# -- presence


def _add_presence(commands: Commands) -> None:
    beat = commands.add("heartbeat", _heartbeat, "say that an agent lives, once or for as long as it does, tidying up")
    beat.add_argument("status", choices=STATUSES)
    beat.add_argument("--task")
    add_beats(beat)
    health = commands.add("health", _health, "how an agent is, and its counters", takes_agent=False)
    health.add_argument("agent")
    commands.add("agents", _agents, "the health of everybody who was ever seen", takes_agent=False)


def _heartbeat(bus: CommsBus, arguments: Any) -> None:
    if not goes_on(arguments):
        print_one(bus.send_heartbeat(arguments.agent, arguments.status, arguments.task))
        return
    heart = Heartbeat(bus, arguments.agent, interval_s=arguments.every)
    heart.update(arguments.status, arguments.task)
    beat_while(heart, arguments)


def _health(bus: CommsBus, arguments: Any) -> None:
    print_one(_shown(bus.get_agent_health(arguments.agent)))


def _agents(bus: CommsBus, arguments: Any) -> None:
    # One by one: asking for an agent's health brings its counters up to date.
    print_all([_shown(bus.get_agent_health(row["agent_id"])) for row in bus.dump()["agent_status"]])


def _shown(health: AgentHealth) -> dict[str, Any]:
    """The table has a time for an agent that never beat, and the agent has none."""
    return {**health, "last_heartbeat": None if health["last_heartbeat"] == NEVER else health["last_heartbeat"]}


# -- votes, artifacts, breaker


def _add_votes(commands: Commands) -> None:
    initiate = commands.add("initiate", _vote_initiate, "open a vote; the message's id is the vote's")
    initiate.add_argument("--option", action="append", dest="options", required=True, help="again for each")
    initiate.add_argument("--deadline", required=True, metavar="TIME", help="ISO 8601 with its zone")
    initiate.add_argument("--channel", help="default: general")
    initiate.add_argument("topic")
    cast = commands.add("cast", _vote_cast, "vote; the last before the deadline counts")
    cast.add_argument("--reasoning")
    cast.add_argument("--channel", help="default: general")
    cast.add_argument("id", help="the vote's id")
    cast.add_argument("option")
    commands.add("tally", _vote_tally, "how the vote stands", takes_agent=False).add_argument("id")


def _vote_initiate(bus: CommsBus, arguments: Any) -> None:
    payload = {"topic": arguments.topic, "options": arguments.options, "deadline": arguments.deadline}
    print_one(_announce(bus, arguments, "vote.initiate", payload))


def _vote_cast(bus: CommsBus, arguments: Any) -> None:
    payload = {"vote_id": arguments.id, "option": arguments.option, **given(reasoning=arguments.reasoning)}
    print_one(_announce(bus, arguments, "vote.cast", payload))


def _announce(bus: CommsBus, arguments: Any, message_type: str, payload: dict[str, Any]) -> Sent:
    return bus.send_message(arguments.agent, None, message_type, payload, **given(channel=arguments.channel))


def _vote_tally(bus: CommsBus, arguments: Any) -> None:
    print_one(bus.tally(arguments.id))


def _add_artifacts(commands: Commands) -> None:
    put = commands.add("put", _artifact_put, "store JSON; prints the path to send")
    put.add_argument("--name", help="default: result.json")
    put.add_argument("task")
    put.add_argument("content", help=PAYLOAD_HELP)
    commands.add("get", _artifact_get, "read it back", takes_agent=False).add_argument("path")


def _artifact_put(bus: CommsBus, arguments: Any) -> None:
    content = read_json("content", arguments.content)
    print_one(bus.write_artifact(arguments.agent, arguments.task, content, **given(name=arguments.name)))


def _artifact_get(bus: CommsBus, arguments: Any) -> None:
    print_one(bus.read_artifact(arguments.path)["content"])


def _breaker(bus: CommsBus, arguments: Any) -> None:
    print_all(bus.circuit_breaker(read_json("list of events", arguments.events))["answers"])
