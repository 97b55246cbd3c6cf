"""The buses that can be killed, and the errors that end a run without a verdict."""

from __future__ import annotations

from busproof.bus.doors import SCHEMES, command_of


class RunFailed(RuntimeError):
    """The run itself failed, not the bus: it decides nothing."""


class NotAProcess(RunFailed):
    """The bus does not run in a process of its own."""


def must_be_a_process(spec: str) -> None:
    """Only a process of its own can be killed. Raises NotAProcess for any other bus."""
    # The same process, under another clock or on a server.
    if not command_of(spec.removeprefix("nats:").removeprefix("faketime:")):
        known = " or ".join(f"{name}:{scheme.takes}" for name, scheme in SCHEMES.items() if scheme.is_process)
        raise NotAProcess(f"{spec!r}: only a process of its own can be killed, so --bus is {known} here")
