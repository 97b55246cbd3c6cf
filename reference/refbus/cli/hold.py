"""`refbus worker hold TASK -- COMMAND`: an agent's program runs while its task is claimed and its heart beats.

The lease is renewed three times in its length. Whoever lost it has lost the task: the command is asked to end.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from typing import Any

from refbus.cli.common import tell
from refbus.kernel.errors import BusError
from refbus.worker.bus import WorkerBus
from refbus.worker.heartbeat import Heartbeat

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def hold(bus: WorkerBus, arguments: Any) -> Any:
    """The command's exit code, 128 and the number of the signal that ended it, or the claim that was not granted."""
    task, agent = arguments.task_id, arguments.agent_id
    claim = bus.try_claim_task(task, agent)
    if not claim:
        return claim
    try:
        with Heartbeat(bus, agent) as heart:
            heart.update("working", current_task=task)
            code = _run(bus, arguments, claim["token"])
    finally:
        try:
            bus.release_claim(task, agent, claim["token"])
            bus.heartbeat(agent, "idle")
        except BusError as error:  # the claim ends by itself, and the command has ended
            tell(error)
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
                    print(f"refbus: the claim of {arguments.task_id} is lost; its command is ended", file=sys.stderr)
                    process.terminate()


def _renewed(bus: WorkerBus, arguments: Any, token: int) -> bool:
    """Is the task still ours? A call that failed is made again, while the lease lasts."""
    try:
        return bool(bus.renew_claim(arguments.task_id, arguments.agent_id, token))
    except BusError as error:
        tell(error)
        return True
