"""`refbus topics COMMAND`: the bus from the shell. Errors go to stderr, exit 1."""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from refbus.kernel.errors import BusError, InvalidArgument
from refbus.topics.bus import TopicsBus
from refbus.topics.topic import no_topic

DB_DEFAULT = "~/.agent_bus/agent_bus.sqlite"
EPILOG = """\
The database is --db, or the environment's AGENT_BUS_DB, or ~/.agent_bus/agent_bus.sqlite.
AGENT_BUS_EMBEDDING_MODEL, the folder of a model2vec model, lets messages be searched by meaning.
A TOPIC is an id, or a name that only one topic has.

  claude mcp add agent-bus -- refbus topics serve
  refbus topics list --status all
  refbus topics export parser > parser.md
"""


def main(argv: Sequence[str] | None = None, bus_class: type[TopicsBus] = TopicsBus) -> int:
    """Run one command, on a bus of this class."""
    arguments = _parser().parse_args(argv)
    try:
        with bus_class(arguments.db, embedding_model=os.environ.get("AGENT_BUS_EMBEDDING_MODEL") or None) as bus:
            arguments.run(bus, arguments)
    except BusError as error:
        print(f"refbus: {error.code}: {error}", file=sys.stderr)
        return 1
    except ImportError as error:
        print(f"refbus: {error.name} is missing: pip install 'busproof[mcp,web]'", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"refbus: {error!r}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("refbus: interrupted", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="refbus topics",
        description="The MCP agent bus (seed 004).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    default = os.environ.get("AGENT_BUS_DB") or DB_DEFAULT
    parser.add_argument("--db", type=Path, default=Path(default), metavar="FILE", help="the agents' database")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[TopicsBus, Any], None], says: str, topic: bool = True) -> Any:
        added = commands.add_parser(name, help=says, description=says)
        added.set_defaults(run=run)
        if topic:
            added.add_argument("topic", metavar="TOPIC", help="its id, or its name")
        return added

    command("serve", _serve, "serve MCP on stdin and stdout, for one agent", topic=False)
    web = command("web", _web, "show topics live on a web page of this machine, read only", topic=False)
    web.add_argument("--port", type=int, default=8765, help="0 takes a free one")
    listing = command("list", _list, "one line of JSON for each topic, the newest first", topic=False)
    listing.add_argument("--status", choices=("open", "closed", "all"), default="open")
    export = command("export", _export, "print a topic's messages")
    export.add_argument("--format", choices=("markdown", "jsonl"), default="markdown")
    command("rename", _rename, "give a topic another name").add_argument("name", metavar="NAME")
    for name, run, says, topic in (
        ("delete", _delete, "remove a topic with all its messages", True),
        ("wipe", _wipe, "remove everything, whatever version the database has", False),
    ):
        command(name, run, says, topic=topic).add_argument("--yes", action="store_true", help="do not ask")
    return parser


def _serve(bus: TopicsBus, _arguments: Any) -> None:
    import anyio

    from refbus.topics.server import serve

    # The thread that reads stdin cannot be interrupted. A server may be killed at any point, so Ctrl-C does that.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(serve, bus)


def _web(bus: TopicsBus, arguments: Any) -> None:
    from refbus.topics.web import serve

    serve(bus, arguments.port, lambda url: print(url, flush=True))


def _list(bus: TopicsBus, arguments: Any) -> None:
    for topic in bus.topic_list(arguments.status)["topics"]:
        print(json.dumps(topic))


def _export(bus: TopicsBus, arguments: Any) -> None:
    export = bus.export_markdown if arguments.format == "markdown" else bus.export_jsonl
    sys.stdout.writelines(export(_topic_id(bus, arguments.topic)))


def _rename(bus: TopicsBus, arguments: Any) -> None:
    print(json.dumps(bus.topic_rename(_topic_id(bus, arguments.topic), arguments.name)))


def _delete(bus: TopicsBus, arguments: Any) -> None:
    topic_id = _topic_id(bus, arguments.topic)
    _confirm(arguments, f"Delete topic {arguments.topic!r} ({topic_id}) with all its messages")
    print(json.dumps(bus.topic_delete(topic_id)))


def _wipe(bus: TopicsBus, arguments: Any) -> None:
    _confirm(arguments, f"Delete everything in {bus.path}")
    print(json.dumps(bus.wipe()))


def _topic_id(bus: TopicsBus, said: str) -> str:
    topics = bus.topic_list("all")["topics"]
    found = [topic["topic_id"] for topic in topics if topic["topic_id"] == said] or [
        topic["topic_id"] for topic in topics if topic["name"] == said
    ]
    if not found:
        raise no_topic(said)
    if len(found) > 1:
        raise InvalidArgument(f"{len(found)} topics are named {said!r}; give an id: {', '.join(found)}")
    return str(found[0])


def _confirm(arguments: Any, question: str) -> None:
    if arguments.yes:
        return
    if not sys.stdin.isatty():
        raise InvalidArgument(f"{question}? Nobody is here to ask: say --yes")
    if input(f"{question}? [y/N] ").strip().lower() not in ("y", "yes"):
        raise InvalidArgument("nothing was done")


if __name__ == "__main__":
    sys.exit(main())
