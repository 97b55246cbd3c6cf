"""Which buses can be killed, and what ends a run without a verdict."""

from __future__ import annotations

import os
import shlex


class RunFailed(RuntimeError):
    """The run, not the bus, came to grief: it says nothing."""


class NotAProcess(RunFailed):
    """The bus does not run in a process of its own."""


def argv_of(spec: str) -> list[str]:
    """The command of an `exec:CMD…` or `mcp:CMD…`; no other bus can be killed."""
    scheme, _, rest = spec.partition(":")
    command = shlex.split(rest)
    if scheme not in ("exec", "mcp") or not command:
        raise NotAProcess(f"{spec!r}: only a process of its own can be killed, so --bus is exec:CMD… or mcp:CMD… here")
    return [os.path.expanduser(command[0]), *command[1:]]
