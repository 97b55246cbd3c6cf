"""`refbus worker hold TASK -- COMMAND`: an agent's program runs while its task is claimed and its heart beats.

The lease is renewed three times in its length. Whoever lost it has lost the task: the command is asked to end.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

from refbus.cli.common import print_one
from refbus.kernel.errors import BusError, InvalidArgument
from refbus.worker.bus import WorkerBus
from refbus.worker.heartbeat import Heartbeat

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def hold(bus: WorkerBus, arguments: Any) -> Any:
    """The command's exit code, 128 and the number of the signal that ended it, or the claim that was not granted."""
    if not arguments.command:
        raise InvalidArgument("hold needs a command: … -- COMMAND")
    task, agent = arguments.task, arguments.agent
    claim = bus.try_claim_task(task, agent)
    if not claim:
        return print_one(claim)
    try:
        with Heartbeat(bus, agent) as heart:
            heart.update("working", current_task=task)
            code = _run(bus, arguments, claim["token"])
    finally:
        bus.release_claim(task, agent, claim["token"])
    bus.heartbeat(agent, "idle")
    return code if code >= 0 else 128 - code


def _run(bus: WorkerBus, arguments: Any, token: int) -> int:
    """Start the command and wait for its end, renewing meanwhile. A signal to us is the command's."""
    received: list[int] = []
    for number in SIGNALS:
        signal.signal(number, lambda number, _: received.append(number))
    with subprocess.Popen(arguments.command) as process:
        for number in SIGNALS:
            signal.signal(number, lambda number, _: process.send_signal(number))
        for earlier in received:  # before there was a process to send it to
            process.send_signal(earlier)
        while True:
            try:
                return process.wait(bus.store.lease_ms / 3000)
            except subprocess.TimeoutExpired:
                if not _renewed(bus, arguments, token):
                    print(f"refbus: the claim of {arguments.task} is lost; its command is ended", file=sys.stderr)
                    process.terminate()


def _renewed(bus: WorkerBus, arguments: Any, token: int) -> bool:
    """Is the task still ours? A call that failed is made again, while the lease lasts."""
    try:
        return bool(bus.renew_claim(arguments.task, arguments.agent, token))
    except BusError as error:
        print(f"refbus: not renewed: {error.code}: {error}", file=sys.stderr)
        return True
