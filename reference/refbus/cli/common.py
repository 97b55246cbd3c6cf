"""Common parts of the systems' command lines: adding commands, running one, and what arguments may be."""

from __future__ import annotations

import argparse
import contextlib
import inspect
import json
import math
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from refbus.kernel import jsontext, process
from refbus.kernel.beats import Beats
from refbus.kernel.errors import InvalidArgument, NotFound
from refbus.kernel.files import make_path
from refbus.kernel.verdict import Verdict

EXIT_CODES = (
    "Exit code: 0 done; 1 an error, or a claim, renewal, release, redrive, validation or delivery that was not granted;"
    " 2 words that mean nothing."
)
PAYLOAD_HELP = "JSON, or - for standard input"
AGENT = "agent_id"  # the parameter that most methods have for who acts


class Parser(argparse.ArgumentParser):
    """A parser that knows only the arguments that were given: the bus knows its own defaults.

    One that `runs_command` leaves the words behind `--` to it.
    """

    runs_command = False

    def __init__(self, **settings: Any) -> None:
        super().__init__(argument_default=argparse.SUPPRESS, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """The arguments, and words that are none; `command` has those behind `--`."""
        if not self.runs_command:
            return super().parse_known_args(args, namespace)
        words = list(args)
        end = words.index("--") if "--" in words else len(words)
        known, others = super().parse_known_args(words[:end], namespace)
        known.command = words[end + 1 :]
        if not known.command:
            raise InvalidArgument(f"{self.prog} needs a command: … -- COMMAND")
        return known, others


class Formatter(argparse.HelpFormatter):
    """Usage lines without hidden options: argparse fails where it breaks a line that has a hidden group."""

    def add_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any = None) -> None:
        """Add the usage of the actions that are shown."""
        shown = [action for action in actions if action.help is not argparse.SUPPRESS]
        super().add_usage(usage, shown, groups if shown == list(actions) else (), prefix)


class Commands:
    """The commands of one parser; `options` are those that each of them has."""

    def __init__(self, parser: argparse.ArgumentParser, options: Parser) -> None:
        self._options = options
        self._commands: Any = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(
        self,
        name: str,
        run: Callable[..., Any],
        says: str,
        *,
        who: str | None = None,
        shows: str | None = None,
        views: bool = False,
        runs_command: bool = False,
    ) -> Parser:
        """A command that calls `run(bus, …)`, with the arguments for which it has a parameter, and prints its reply.

        `who`: the parameter that `--as` is for; `shows`: the only member of the reply that is printed. One that only
        `views` makes no store.
        """
        added: Parser = self._commands.add_parser(
            name, help=says, description=says, epilog=EXIT_CODES, parents=[self._options], formatter_class=Formatter
        )
        added.set_defaults(run=run, shows=shows, views=views, parser=added)
        added.runs_command = runs_command
        if who is not None:
            added.add_argument("--as", dest=who, required=True, metavar="AGENT", help="who acts")
        return added

    def group(self, name: str, says: str) -> Commands:
        """A command with commands of its own."""
        return Commands(self._commands.add_parser(name, help=says, description=says), self._options)


def run(bus: Any, arguments: argparse.Namespace) -> int:
    """Run the command: a line of JSON for each result. 1 for a verdict that says no; else what the command says."""
    reply = arguments.run(bus, **taken(arguments.run, arguments))
    if type(reply) is int:
        return reply
    shown = reply if arguments.shows is None else reply[arguments.shows]
    for line in shown if isinstance(shown, list) else [] if shown is None else [shown]:
        print_one(line)
    return int(isinstance(reply, Verdict) and not reply)


def taken(function: Callable[..., Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """The arguments that a function has parameters for; itself all of them, if it asks."""
    known = inspect.signature(function).parameters
    return {name: value for name, value in {**vars(arguments), "arguments": arguments}.items() if name in known}


def print_one(result: Any) -> None:
    """One result, one line."""
    print(json.dumps(result, default=repr), flush=True)


def a_path(text: str) -> Path:
    """The path of a bus. An empty text, as of a variable that is not set, does not mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def a_json(text: str) -> Any:
    """The value of an argument; `-` stands for standard input."""
    if text is argparse.SUPPRESS:  # the default, which argparse of Python 3.11 converts, too
        return text
    try:
        return jsontext.decode(sys.stdin.read() if text == "-" else text)
    except ValueError as error:
        raise InvalidArgument(f"this is no JSON: {error}") from error


def made(folder: Path, database: Path, arguments: Any, *, says_so: bool = True) -> Path:
    """The folder, which is made if missing, and told. A look at a database that is not there raises NOT_FOUND."""
    refuse_missing(database, arguments)
    folder, is_new = folder.resolve(), not database.exists()
    make_path(folder)
    if says_so and is_new:
        print(f"refbus: made a new store in {str(folder)!a:.300}", file=sys.stderr)
    return folder


def refuse_missing(database: Path, arguments: Any) -> None:
    """A mistyped path must not look like an empty bus."""
    if arguments.views and not database.exists():
        raise NotFound(f"there is no {str(database)!a:.300}")


def port(text: str) -> int:
    """A number that argparse takes for a port."""
    if not (text.isascii() and text.isdigit() and int(text[:6]) < 65536):
        raise argparse.ArgumentTypeError(f"{text!a:.20} is no port: 0 to 65535")
    return int(text)


def count(text: str) -> int:
    """A whole number above 0."""
    if not (text.isascii() and text.isdigit() and len(text) < 19 and int(text)):
        raise argparse.ArgumentTypeError(f"{text!a:.20} is no whole number above 0")
    return int(text)


def seconds(text: str) -> float:
    """A length of time that can be waited."""
    with contextlib.suppress(ValueError):
        if 0 <= float(text) <= threading.TIMEOUT_MAX:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!a:.20} is no number of seconds from 0 on")


def in_ms(text: str) -> int:
    """The same in whole milliseconds."""
    return round(1000 * seconds(text))


def add_beats(beat: argparse.ArgumentParser) -> None:
    """Options of a heartbeat that goes on."""
    beat.add_argument("--every", type=float, default=None, metavar="SECONDS", help="and again, until --while ends")
    beat.add_argument("--while", type=int, default=None, dest="pid", metavar="PID", help="while this process lives")


def goes_on(arguments: Any) -> bool:
    """Is more than one beat wanted? Raises INVALID_ARGUMENT for options that mean nothing."""
    if arguments.every is None:
        if arguments.pid is not None:
            raise InvalidArgument("--while needs --every")
        return False
    if not 0 < arguments.every < math.inf:
        raise InvalidArgument("--every must be a number of seconds above 0")
    return True


def beat_while(heart: Beats, arguments: Any) -> None:
    """Beat until the process of --while has ended, or for ever."""
    watched = None if arguments.pid is None else process.find(arguments.pid)
    with heart:
        while arguments.pid is None or (watched is not None and process.find(arguments.pid) == watched):
            time.sleep(min(1.0, arguments.every))


def tell(error: Exception) -> None:
    """One line on standard error."""
    print(f"refbus: {getattr(error, 'code', type(error).__name__)}: {error}", file=sys.stderr)
