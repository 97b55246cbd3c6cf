"""The server under a bus, killed while its clients work: `nats:` alone has one.

Its disk holds all that it had written: a process that dies takes no page cache with it. A message that it never had is
lost with the client that said it was there.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from buschaos.plan import ServerDeath
from busproof.bus.nats import NatsServer
from busproof.contract.history import Recorder

SCHEME = "nats:"
KILL, START = "kill_server", "start_server"  # nemesis events: a moment before it dies, and when it is there again
NOBODY = -1  # the process of an event that is no session's


def is_on_a_server(specs: Iterable[str]) -> bool:
    """Is this fleet's store outside of its folder, on a server?"""
    return any(spec.startswith(SCHEME) for spec in specs)


@dataclass
class ServerKills:
    """A server for one store, and how often it died. Each death is in the history."""

    server: NatsServer
    recorder: Recorder
    count: int = 0

    def strike(self, deaths: tuple[ServerDeath, ...]) -> None:
        """Kill it as planned, while others call it. It is there again when this returns."""
        for death in deaths:
            time.sleep(death.after_ms / 1000)
            self.recorder.record("nemesis", process=NOBODY, op=KILL, agent="nats-server", value=asdict(death))
            self.server.restart(death.down_ms / 1000)
            self.recorder.record("nemesis", process=NOBODY, op=START, agent="nats-server")
            self.count += 1

    def told(self) -> Path:
        """The part of the history with its deaths, now that there will be no more."""
        self.recorder.close()
        return self.recorder.path


@contextlib.contextmanager
def under(store: Path, part: Path, *, run: str) -> Iterator[ServerKills]:
    """Keep the store on a server that can be killed; its deaths go to a part of the history."""
    with contextlib.closing(NatsServer()) as server:
        server.put_under(store)
        yield ServerKills(server, Recorder(part, run=run, system="timeline"))
