"""`refbus topics COMMAND`: the MCP agent bus of seed 004 from the shell: serve it, look at it, tidy it up."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from refbus.cli.common import Commands, a_path, port, refuse_missing
from refbus.kernel.errors import InvalidArgument, TopicNotFound
from refbus.topics.bus import TopicsBus
from refbus.topics.store import database, database_file, embedding_model

HELP = "the MCP agent bus (seed 004)"
EPILOG = """\
The database is --db, or the environment's AGENT_BUS_DB, or ~/.agent_bus/agent_bus.sqlite.
AGENT_BUS_EMBEDDING_MODEL, the folder of a model2vec model, lets messages be searched by meaning.
`serve` ends with its standard input, and so do its waits: a pipe into it must stay open for as long as a sync waits.
A TOPIC is an id, or a name that only one topic has.

  claude mcp add agent-bus -- refbus topics serve
  refbus topics list --status all
  refbus topics export parser > parser.md
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the database is."""
    parser.add_argument("--db", type=a_path, default=database(), metavar="FILE", help="the agents' database")


def open_bus(arguments: Any) -> TopicsBus:
    """A session on the database. The file is made by the first command that needs it."""
    refuse_missing(database_file(arguments.db), arguments)
    return TopicsBus(arguments.db, synchronous=arguments.synchronous, embedding_model=embedding_model())


def add_commands(commands: Commands) -> None:
    """One command for each thing that a person does with the bus."""
    commands.add("serve", _serve, "serve MCP on stdin and stdout, for one agent")
    web = commands.add("web", _web, "show topics live on a web page of this machine, read only")
    web.add_argument("--port", type=port, metavar="PORT", default=8765, help="0 takes a free one")
    listing = commands.add(
        "list", TopicsBus.topic_list, "one line of JSON for each topic, the newest first", shows="topics", views=True
    )
    listing.add_argument("--status", choices=("open", "closed", "all"))
    export = commands.add("export", _export, "print a topic's messages", views=True)
    rename = commands.add("rename", _rename, "give a topic another name", views=True)
    delete = commands.add("delete", _delete, "remove a topic with all its messages", views=True)
    wipe = commands.add("wipe", _wipe, "remove everything, whatever version the database has")
    for command in (export, rename, delete):
        command.add_argument("topic", metavar="TOPIC", help="its id, or its name")
    export.add_argument("--format", choices=("markdown", "jsonl"), default="markdown")
    rename.add_argument("name", metavar="NAME")
    for command in (delete, wipe):
        command.add_argument("--yes", action="store_true", help="do not ask")


def _serve(bus: TopicsBus) -> None:
    from refbus.topics.mcp.server import run

    run(bus)


def _web(bus: TopicsBus, port: int) -> None:
    from refbus.topics.web.server import serve

    serve(bus, port, lambda url: print(url, flush=True))


def _export(bus: TopicsBus, topic: str, format: str) -> None:
    export = bus.export_markdown if format == "markdown" else bus.export_jsonl
    sys.stdout.writelines(export(_topic_id(bus, topic)))


def _rename(bus: TopicsBus, topic: str, name: str) -> Any:
    return bus.topic_rename(_topic_id(bus, topic), name)


def _delete(bus: TopicsBus, topic: str, yes: bool = False) -> Any:
    topic_id = _topic_id(bus, topic)
    _confirm(yes, f"Delete topic {topic!r} ({topic_id}) with all its messages")
    return bus.topic_delete(topic_id)


def _wipe(bus: TopicsBus, yes: bool = False) -> Any:
    _confirm(yes, f"Delete everything in {bus.store.path}")
    return bus.wipe()


def _topic_id(bus: TopicsBus, id_or_name: str) -> str:
    topics = bus.topic_list("all")["topics"]
    topic_ids = [topic["topic_id"] for topic in topics if topic["topic_id"] == id_or_name] or [
        topic["topic_id"] for topic in topics if topic["name"] == id_or_name
    ]
    if not topic_ids:
        raise TopicNotFound(f"no topic has the id or the name {id_or_name!r:.80}; see: refbus topics list")
    if len(topic_ids) > 1:
        raise InvalidArgument(f"{len(topic_ids)} topics are named {id_or_name!r}; give an id: {', '.join(topic_ids)}")
    return str(topic_ids[0])


def _confirm(yes: bool, question: str) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise InvalidArgument(f"{question}? Nobody is here to ask: say --yes")
    if input(f"{question}? [y/N] ").strip().lower() not in ("y", "yes"):
        raise InvalidArgument("nothing was done")
