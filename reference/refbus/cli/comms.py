"""`refbus comms COMMAND`: the broker, votes and artifacts of seed 001 from the shell."""

from __future__ import annotations

import argparse
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
    seconds,
    taken,
)
from refbus.comms.bus import CommsBus
from refbus.comms.heartbeat import Heartbeat
from refbus.comms.log import Log
from refbus.comms.presence import NEVER, STATUSES
from refbus.comms.store import DB_NAME, Store

HELP = "the message broker with artifacts and votes (seed 001)"
EPILOG = """\
The store is .claude/communications in the project's folder (default: the current folder); it is made if missing.

  refbus comms send --as alice --to bob context.query '{"query": "which branch?"}'
  message=$(refbus comms receive --as bob --limit 1 --wait 60)
  refbus comms claim --as bob ID
  refbus comms respond "$message" '{"context": {"branch": "main"}}'
  refbus comms complete ID
"""
SENDER = "from_agent"
MESSAGE_HELP = "a message as receive printed it, or - for standard input"


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the project is, and how long a claim lasts."""
    parser.add_argument(
        "--project", type=a_path, default=Path(), dest="place", metavar="DIR", help="the folder that holds .claude"
    )
    parser.add_argument(
        "--visibility-ms", type=int, metavar="MS", help="a claim that is not completed ends after so long"
    )


def open_bus(arguments: Any) -> CommsBus:
    """The bus in the folder that is meant."""
    database = arguments.place / ".claude" / "communications" / DB_NAME
    return CommsBus(made(arguments.place, database, arguments), **taken(Store, arguments))


def add_commands(commands: Commands) -> None:
    """One command for each thing that one does with the bus."""
    _add_sending(commands)
    _add_receiving(commands)
    _add_presence(commands)
    _add_votes(commands.group("vote", "open a vote, cast one, count"))
    _add_artifacts(commands.group("artifact", "large results in files of their own"))
    commands.add(
        "dead-letters", CommsBus.dead_letters, "messages that failed three times", shows="dead_letters", views=True
    )
    redrive = commands.add("redrive", CommsBus.redrive, "put a dead letter back in front of its agent")
    redrive.add_argument("id", help="the letter's id")
    commands.add("cleanup", CommsBus.cleanup_expired_messages, "remove messages past their time to live", views=True)
    commands.add("audit", CommsBus.export_audit_trail, "bring .claude/audit-trail.jsonl up to date", views=True)
    commands.add("dump", CommsBus.dump, "every table, and an integrity check", views=True)


# -- sending


def _add_sending(commands: Commands) -> None:
    send = commands.add("send", _send, "send a message", who=SENDER)
    send.add_argument("--to", dest="to_agent", metavar="AGENT", help="one recipient; without it a broadcast")
    _add_envelope(send)
    send.add_argument("--id", dest="message_id", help="a UUID chosen by you, for idempotent retries")
    send.add_argument("--correlation-id")
    send.add_argument(
        "--ttl", type=_ttl, dest="ttl_seconds", metavar="SECONDS", help="time to live; none: for ever (default: 1 h)"
    )
    send.add_argument("--attempts", type=int, default=1, help="try again after a failure, later and later")
    request = commands.add(
        "request", CommsBus.request, "send a message and wait for its answer", who=SENDER, shows="response"
    )
    request.add_argument("--to", dest="to_agent", required=True, metavar="AGENT", help="who is asked")
    _add_envelope(request)
    request.add_argument(
        "--wait", type=seconds, dest="timeout_seconds", metavar="SECONDS", help="TIMEOUT after so long (default: 30)"
    )
    respond = commands.add("respond", CommsBus.send_response, "answer a message")
    respond.add_argument("--as", dest=AGENT, metavar="AGENT", help="who answers a broadcast")
    respond.add_argument(
        "--artifact", dest="artifact_path", metavar="PATH", help="a large result, as artifact put returned it"
    )
    respond.add_argument("--id", dest="message_id", help="a UUID chosen by you, for idempotent retries")
    respond.add_argument("original_message", metavar="message", type=a_json, help=MESSAGE_HELP)
    respond.add_argument("response_payload", metavar="payload", type=a_json, help=PAYLOAD_HELP)
    validate = commands.add("validate", CommsBus.validate_message, "all that is wrong with an envelope")
    validate.add_argument("message", type=a_json, help=MESSAGE_HELP)


def _add_envelope(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--channel", help="default: general")
    parser.add_argument("--priority", type=int, help="1 to 10, 10 is the highest (default: 5)")
    parser.add_argument("message_type", metavar="type")
    parser.add_argument("payload", nargs="?", type=a_json, default={}, help=PAYLOAD_HELP)


def _ttl(text: str) -> int | None:
    return None if text == "none" else int(text)


def _send(bus: CommsBus, attempts: int, arguments: Any) -> Any:
    return bus.send_with_retry(attempts, **taken(Log.send_message, arguments))


# -- receiving


def _add_receiving(commands: Commands) -> None:
    receive = commands.add(
        "receive", _receive, "messages that could be claimed; nothing is claimed by it", who=AGENT, shows="messages"
    )
    receive.add_argument(
        "--channel",
        action="append",
        dest="channels",
        help="again for more (default: the agent's subscriptions, or general)",
    )
    receive.add_argument("--limit", type=int)
    receive.add_argument(
        "--wait", type=seconds, dest="timeout_seconds", metavar="SECONDS", help="wait for a first message"
    )
    for name, method, says in (
        (
            "subscribe",
            CommsBus.subscribe_to_channel,
            "want a channel: from then on `receive` shows messages of wanted channels alone",
        ),
        ("unsubscribe", CommsBus.unsubscribe_from_channel, "want it no more"),
    ):
        commands.add(name, method, says, who=AGENT).add_argument("channel_name", metavar="channel")
    commands.add("subscriptions", CommsBus.get_subscribed_channels, "the agent's channels", who=AGENT)
    claim = commands.add("claim", CommsBus.claim_message, "take a message for processing", who=AGENT)
    complete = commands.add("complete", CommsBus.complete_message, "a claimed message is done, or has failed")
    complete.add_argument("--as", dest=AGENT, metavar="AGENT", help="who completes a broadcast")
    complete.add_argument("--error", metavar="TEXT", help="it failed: due again later, the third time a dead letter")
    complete.add_argument("--delivery-count", type=int, metavar="N", help="the fencing token of your claim")
    for command in (claim, complete):
        command.add_argument("message_id", metavar="id")


def _receive(bus: CommsBus, agent_id: str, arguments: Any) -> Any:
    values = taken(CommsBus.receive_messages, arguments)
    # An agent that subscribed to nothing reads the default channel.
    wanted = values.setdefault("channels", bus.get_subscribed_channels(agent_id)["channels"])
    return bus.receive_messages(**values | {"channels": wanted or ["general"]})


# -- presence


def _add_presence(commands: Commands) -> None:
    beat = commands.add(
        "heartbeat", _heartbeat, "say that an agent lives, once or for as long as it does, tidying up", who=AGENT
    )
    beat.add_argument("status", choices=STATUSES)
    beat.add_argument("--task", dest="current_task", metavar="TASK")
    add_beats(beat)
    health = commands.add("health", _health, "how an agent is, and its counters")
    health.add_argument("agent_id", metavar="agent")
    commands.add("agents", _agents, "the health of everybody who was ever seen")


def _heartbeat(bus: CommsBus, agent_id: str, arguments: Any) -> Any:
    if not goes_on(arguments):
        return bus.send_heartbeat(**taken(CommsBus.send_heartbeat, arguments))
    heart = Heartbeat(bus, agent_id, interval_s=arguments.every)
    heart.update(**taken(Heartbeat.update, arguments))
    return beat_while(heart, arguments)


def _health(bus: CommsBus, agent_id: str) -> Any:
    health = bus.get_agent_health(agent_id)
    # The table has a time for an agent that never beat, and the agent has none.
    return {**health, "last_heartbeat": None if health["last_heartbeat"] == NEVER else health["last_heartbeat"]}


def _agents(bus: CommsBus) -> Any:
    # One by one: asking for an agent's health brings its counters up to date.
    return [_health(bus, row["agent_id"]) for row in bus.dump()["agent_status"]]


# -- votes, artifacts


def _add_votes(commands: Commands) -> None:
    initiate = commands.add("initiate", _announce, "open a vote; the message's id is the vote's", who=SENDER)
    initiate.add_argument("--option", action="append", dest="options", required=True, help="again for each")
    initiate.add_argument("--deadline", required=True, metavar="TIME", help="ISO 8601 with its zone")
    initiate.add_argument("topic")
    cast = commands.add("cast", _announce, "vote; the last before the deadline counts", who=SENDER)
    cast.add_argument("--reasoning")
    cast.add_argument("vote_id", metavar="id", help="the vote's id")
    cast.add_argument("option")
    for command, fields in ((initiate, ("topic", "options", "deadline")), (cast, ("vote_id", "option", "reasoning"))):
        command.set_defaults(message_type="vote.initiate" if command is initiate else "vote.cast", fields=fields)
        command.add_argument("--channel", help="default: general")
    commands.add("tally", CommsBus.tally, "how the vote stands").add_argument("vote_id", metavar="id")


def _announce(bus: CommsBus, fields: tuple[str, ...], arguments: Any) -> Any:
    payload = {name: value for name, value in vars(arguments).items() if name in fields}
    return bus.send_message(payload=payload, **taken(Log.send_message, arguments))


def _add_artifacts(commands: Commands) -> None:
    put = commands.add("put", CommsBus.write_artifact, "store JSON; prints the path to send", who=AGENT)
    put.add_argument("--name", help="default: result.json")
    put.add_argument("task_id", metavar="task")
    put.add_argument("content", type=a_json, help=PAYLOAD_HELP)
    get = commands.add("get", _artifact, "read it back")
    get.add_argument("artifact_path", metavar="path")


def _artifact(bus: CommsBus, artifact_path: str) -> None:
    print_one(bus.read_artifact(artifact_path)["content"])
