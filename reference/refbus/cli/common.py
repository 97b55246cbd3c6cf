"""Common parts of the systems' command lines: adding commands, reading JSON, writing a line of it for each result."""

from __future__ import annotations

import argparse
import contextlib
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

EXIT_CODES = (
    "Exit code: 0 done; 1 an error, or a claim, renewal, release, redrive, validation or delivery that was not granted;"
    " 2 words that mean nothing."
)
PAYLOAD_HELP = "JSON, or - for standard input"


class Commands:
    """The commands of one parser."""

    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def add(
        self, name: str, run: Callable[[Any, Any], Any], says: str, *, takes_agent: bool = True, views: bool = False
    ) -> argparse.ArgumentParser:
        """A command that calls `run(bus, arguments)`; `--as` names who acts. One that only `views` makes no store."""
        added = self._commands.add_parser(name, help=says, description=says, epilog=EXIT_CODES)
        added.set_defaults(run=run, views=views)
        if takes_agent:
            added.add_argument("--as", dest="agent", required=True, metavar="AGENT", help="who acts")
        return added

    def add_plain(self, name: str, method: str, says: str) -> None:
        """A command that is a method of the bus without arguments."""
        self.add(name, _plain, says, takes_agent=False, views=True).set_defaults(method=method)

    def group(self, name: str, says: str) -> Commands:
        """A command with commands of its own."""
        return Commands(self._commands.add_parser(name, help=says, description=says))


def a_path(text: str) -> Path:
    """The path of a bus. An empty text, as of a variable that is not set, does not mean the current folder."""
    if not text:
        raise argparse.ArgumentTypeError("the path is empty")
    return Path(text)


def read_json(what: str, text: str) -> Any:
    """The value of an argument; `-` stands for standard input."""
    if text == "-":
        text = sys.stdin.read()
    try:
        return jsontext.decode(text)
    except ValueError as error:
        raise InvalidArgument(f"the {what} is no JSON: {error}") from error


def made(folder: Path, database: Path, arguments: Any) -> Path:
    """The folder, which is made if missing. A look at a database that is not there raises NOT_FOUND."""
    refuse_missing(database, arguments)
    folder = folder.resolve()
    make_path(folder)
    return folder


def refuse_missing(database: Path, arguments: Any) -> None:
    """A mistyped path must not look like an empty bus."""
    if arguments.views and not database.exists():
        raise NotFound(f"there is no {str(database)!a:.300}")


def given(**values: Any) -> dict[str, Any]:
    """The options that were given; the bus knows its own defaults."""
    return {name: value for name, value in values.items() if value is not None}


def print_one(reply: Any) -> Any:
    """One result, one line. A command that returns it exits 1 if it is a verdict that says no."""
    print(json.dumps(reply, default=repr), flush=True)
    return reply


def print_all(rows: list[Any]) -> None:
    """A line for each."""
    for row in rows:
        print_one(row)


def add_beats(beat: argparse.ArgumentParser) -> None:
    """Options of a heartbeat that goes on."""
    beat.add_argument("--every", type=float, metavar="SECONDS", help="and again, until --while ends")
    beat.add_argument("--while", type=int, dest="pid", metavar="PID", help="beat while this process lives")


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


def _plain(bus: Any, arguments: Any) -> None:
    print_one(getattr(bus, arguments.method)())
