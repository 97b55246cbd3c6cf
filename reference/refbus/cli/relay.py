"""`refbus relay COMMAND`: the folder of seed 002 from the shell: run its orchestrator, look at it, write and read."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refbus.cli.common import Commands, a_path, count, made, port, print_one, seconds, taken
from refbus.kernel.msgfile import KINDS, Message
from refbus.relay import config, tree
from refbus.relay.bus import RelayBus
from refbus.relay.mailbox import Mailbox
from refbus.relay.view import View

HELP = "the file relay with its orchestrator (seed 002)"
EPILOG = """\
The folder is --root, or the environment's AGENT_RELAY_DIR, or ~/.agent-relay. Settings are in its config.json, which
an orchestrator reads when it starts. Only CLIs that the setting `clis` names are spawned.

  refbus relay init --lead boss
  refbus relay run --port 9100 &
  refbus relay receive --as bob                         # makes bob's folder: without one nobody can send to bob
  refbus relay send --as alice --to bob --wait 5 'done with the parser'
  refbus relay receive --as bob --take
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Where the folder is."""
    default = Path(os.environ.get("AGENT_RELAY_DIR") or "~/.agent-relay")
    parser.add_argument("--root", type=a_path, default=default, metavar="DIR", help="the folder of the relay")


def open_bus(arguments: Any) -> contextlib.AbstractContextManager[Any]:
    """The object that the command works with: the orchestrator itself, an agent's mailbox, or a look."""
    return arguments.opens(arguments)  # type: ignore[no-any-return]


def _orchestrator(arguments: Any) -> RelayBus:
    return RelayBus(_folder(arguments), synchronous=arguments.synchronous)


def _mailbox(arguments: Any) -> contextlib.nullcontext[Mailbox]:
    return contextlib.nullcontext(Mailbox(_folder(arguments), arguments.agent))


def _settings(arguments: Any) -> contextlib.nullcontext[Path]:
    return contextlib.nullcontext(_folder(arguments) / tree.CONFIG)


def _view(arguments: Any) -> View:
    return View(arguments.root.expanduser().resolve())


def _folder(arguments: Any) -> Path:
    folder: Path = arguments.root.expanduser()
    return made(folder, folder / tree.LEDGER, arguments, says_so=False)  # agents may come before the orchestrator


def add_commands(commands: Commands) -> None:
    """One command for each thing that an operator or an agent does."""

    def add(name: str, opens: Callable[[Any], Any], run: Callable[..., Any], says: str) -> Any:
        added = commands.add(name, run, says, who="agent" if opens is _mailbox else None)
        added.set_defaults(opens=opens)
        return added

    running = add("run", _orchestrator, _run, "run the orchestrator until SIGTERM")
    running.add_argument(
        "--port", type=port, metavar="PORT", help="/metrics and /health on 127.0.0.1; 0 takes a free one"
    )
    running.add_argument(
        "--no-watch", action="store_true", help="look every quarter of a second, and do not wait for events"
    )
    running.add_argument(
        "--log", type=Path, default=None, metavar="FILE", help="a file that rotates (default: standard error)"
    )
    running.add_argument("--log-bytes", type=count, default=10_000_000, metavar="N", help="when it rotates")
    running.add_argument("--log-keep", type=count, default=5, metavar="N", help="how many old ones are kept")
    running.add_argument("--log-level", choices=("info", "warning", "error"), default="info")
    add("scan", _orchestrator, RelayBus.scan, "make one pass, where no orchestrator runs")
    add("status", _view, lambda view: view.status(), "messages by status, and the agents")
    audit = add(
        "audit",
        _view,
        lambda view, changes=False: view.trail(changes=changes),
        "what failed, was refused, denied or removed, or is odd",
    )
    audit.add_argument("--changes", action="store_true", help="and every change of the ledger")
    init = add("init", _settings, _init, "make the folder and its config.json, or change a setting in it")
    init.add_argument("--lead", metavar="AGENT", help="the agent behind the address Lead")
    add("dump", _view, lambda view: view.dump(), "all tables of the ledger")
    backup = add("backup", _view, lambda view, path: view.backup(path), "copy the ledger into a file while it is used")
    restore = add(
        "restore", _orchestrator, RelayBus.restore, "put a copy in the ledger's place, where no orchestrator runs"
    )
    for command in (backup, restore):
        command.add_argument("path", metavar="file", type=os.path.abspath)
    send = add("send", _mailbox, _send, "put a message into the agent's outbox")
    send.add_argument("--to", required=True, metavar="ADDRESS", help="an agent, *, #channel, Lead or __orchestrator__")
    send.add_argument("--kind", choices=KINDS, default="message")
    send.add_argument("--thread")
    send.add_argument("--priority", type=int, help="0 to 9, 0 is the highest")
    send.add_argument("--attach", type=Path, metavar="FILE", help="its content goes with the message")
    send.add_argument(
        "--wait", type=seconds, metavar="SECONDS", help="for its processing; exit 1 if it failed or is not yet"
    )
    send.add_argument("body", nargs="?", default="", help="text, or - for standard input")
    receive = add("receive", _mailbox, Mailbox.receive, "what lies in the agent's inbox")
    receive.add_argument("--take", action="store_true", help="and remove it")


def _run(bus: RelayBus, arguments: Any, port: int | None = None, no_watch: bool = False) -> None:
    from refbus.relay.monitor import serving
    from refbus.relay.service import Service, until_signal, write_log_to

    write_log_to(arguments.log, bytes_max=arguments.log_bytes, keep=arguments.log_keep, level=arguments.log_level)
    service = Service(bus, watch=not no_watch)
    with contextlib.ExitStack() as stack:
        if port is not None:
            port = stack.enter_context(serving(bus, service, port))
            print_one({"metrics": f"http://127.0.0.1:{port}/metrics", "health": f"http://127.0.0.1:{port}/health"})
        until_signal(service, signal.signal, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def _init(path: Path, lead: str | None = None) -> Any:
    return config.change(path, **({} if lead is None else {"lead": lead}))


def _send(mailbox: Mailbox, body: str, arguments: Any, attach: Path | None = None, wait: float | None = None) -> Any:
    attachment = None if attach is None else mailbox.attach(attach.read_bytes())
    text = sys.stdin.read() if body == "-" else body
    sent = mailbox.send(Message(**taken(Message, arguments) | {"body": text, "attachment": attachment}))
    return sent if wait is None else mailbox.outcome(sent["message_id"], wait)
