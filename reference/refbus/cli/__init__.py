"""`refbus SYSTEM COMMAND`: a bus from the shell. One line of JSON for each result; errors go to stderr.

A system is a module here: HELP, EPILOG, its own options (`add_options`), its commands (`add_commands`,
`common.Commands`) and its bus (`open_bus`). All that they share stands in this file and in `common`.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Sequence
from types import ModuleType

from refbus import __version__
from refbus.cli import comms, relay, timeline, topics, worker
from refbus.cli.common import EXIT_CODES, Commands, Parser, run, tell
from refbus.kernel.errors import BusError

SYSTEMS = {"worker": worker, "comms": comms, "relay": relay, "timeline": timeline, "topics": topics}
EXTRAS = {"nats": "nats", "prometheus_client": "relay", "watchfiles": "relay"}  # the extra of each module; others: web


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command."""
    if argv is None and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        # Ctrl-C ends the program as SIGTERM does. An exception at any place may come in the middle of a lock.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    _replace_closed()
    try:
        arguments, others = parser().parse_known_args(argv)
        if others:
            arguments.parser.error(f"unrecognized arguments: {' '.join(others)}")
        with SYSTEMS[arguments.system].open_bus(arguments) as bus:
            code = run(bus, arguments)
            sys.stdout.flush()
    except BusError as error:
        tell(error)
        return 1
    except ImportError as error:
        how = f"pip install './reference[{EXTRAS.get(error.name or '', 'web')}]' in busproof's folder"
        print(f"refbus: {error.name} is missing: {how}", file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader has seen enough, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for the output that is flushed at the end
        return 128 + signal.SIGPIPE
    except OSError as error:
        print(f"refbus: IO_ERROR: {error}", file=sys.stderr)
        return 1
    return code


def _replace_closed() -> None:
    """Whoever started this may have closed a standard file: the next file, a database perhaps, would get its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115


def parser() -> argparse.ArgumentParser:
    """Of all systems and their commands."""
    top = Parser(prog="refbus", description="The reference buses of busproof.", epilog=EXIT_CODES)
    top.add_argument("--version", action="version", version=f"refbus {__version__}")
    systems = top.add_subparsers(metavar="SYSTEM", dest="system", required=True)
    for name, system in SYSTEMS.items():
        added = systems.add_parser(
            name, help=system.HELP, epilog=system.EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
        )
        system.add_commands(Commands(added, _options_of(system, added)))
    return top


def _options_of(system: ModuleType, parser: argparse.ArgumentParser) -> Parser:
    """Add a system's own options to its parser, and return them for its commands: they may stand behind those, too."""
    again = Parser(add_help=False)
    for each in (parser, again):
        system.add_options(each)
        each.add_argument(
            "--synchronous", choices=("NORMAL", "FULL"), default="NORMAL", help="FULL survives power loss"
        )
    for action in again._actions:
        action.default = argparse.SUPPRESS  # else it would undo what stands before the command
        action.help = argparse.SUPPRESS  # the system's help has it
    return again
