"""No fault: the reference's `worker` with a named pipe, by which it wakes others, and a socket in its store."""

import contextlib
import os
import socket
from typing import Any

from refbus.driver import serve
from refbus.worker.bus import WorkerBus


class OddStore(WorkerBus):
    """What a wake-up needs lies beside the database."""

    def __init__(self, store: str, **options: Any) -> None:
        super().__init__(store, **options)
        wake, path = os.path.join(store, "wake"), os.path.join(store, "socket")
        with contextlib.suppress(FileExistsError):
            os.mkfifo(wake)
        self._wake = os.open(wake, os.O_RDWR | os.O_NONBLOCK)
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as server:
            server.bind(path)

    def publish(self, agent_id: str, message: Any) -> Any:
        reply = super().publish(agent_id, message)
        with contextlib.suppress(BlockingIOError):
            os.write(self._wake, b"!")
        return reply

    def close(self) -> None:
        os.close(self._wake)
        super().close()


if __name__ == "__main__":
    serve({"worker": OddStore})
