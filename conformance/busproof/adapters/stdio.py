"""`exec:CMD…`: any program that speaks the protocol on its stdin and stdout."""

from __future__ import annotations

import collections
import contextlib
import json
import os
import queue
import signal
import subprocess
import threading
from typing import Any

from busproof.adapters.base import Lost, Refused

LINE_BYTES_MAX = 64 * 1024 * 1024


class StdioDoor:
    """One child process in a session of its own, so that a kill reaches its children too."""

    def __init__(
        self,
        argv: list[str],
        *,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        pass_fds: tuple[int, ...] = (),
    ) -> None:
        self.argv = argv
        self._process = subprocess.Popen(
            argv,
            cwd=cwd,
            env={**os.environ, **(env or {})},
            start_new_session=True,
            pass_fds=pass_fds,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._next_id = 0
        self._lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._stderr: collections.deque[str] = collections.deque(maxlen=50)
        self._threads = [
            threading.Thread(target=self._pump_stdout, daemon=True),
            threading.Thread(target=self._pump_stderr, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    @property
    def pid(self) -> int:
        """The child's process id, which is its process group's too."""
        return self._process.pid

    @property
    def stderr(self) -> str:
        """The last 50 lines the child wrote to stderr."""
        return "\n".join(self._stderr)

    def call(self, method: str, params: dict[str, Any], *, timeout_s: float = 30.0) -> dict[str, Any]:
        """One request line, one response line."""
        self._next_id += 1
        request = {"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params}
        self.send_line(json.dumps(request).encode())
        return self._answer(self.receive_line(method, timeout_s), method)

    def send_line(self, line: bytes) -> None:
        """Write raw bytes as one line (bad-input checks send what `call` would not)."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + b"\n")
            self._process.stdin.flush()
        except (BrokenPipeError, ValueError) as error:
            raise Lost(f"the adapter does not read: {self._last_words()}") from error

    def receive_line(self, waiting_for: str, timeout_s: float = 30.0) -> bytes:
        """The next line, or Lost after timeout_s or EOF."""
        try:
            line = self._lines.get(timeout=timeout_s)
        except queue.Empty:
            raise Lost(f"no answer to {waiting_for} in {timeout_s:g} s") from None
        if not line.endswith(b"\n"):
            self._lines.put(b"")  # the end stays the end for whoever asks next
            raise Lost(f"the adapter ended before it answered {waiting_for}: {self._last_words()}")
        return line

    def _answer(self, line: bytes, method: str) -> dict[str, Any]:
        try:
            response = json.loads(line)
        except ValueError as error:
            raise Lost(f"the answer to {method} is not JSON: {line[:200]!r}") from error
        if not isinstance(response, dict) or response.get("id") != self._next_id:
            raise Lost(f"the answer to {method} has not the request's id {self._next_id}: {line[:200]!r}")
        refusal = response.get("error")
        if refusal is not None:
            data = refusal.get("data") or {}
            rpc = refusal.get("code", -32000)
            # JSON-RPC's own errors (no such method, bad params) come before any work is done.
            definite = bool(data.get("definite", rpc in (-32700, -32600, -32601, -32602)))
            raise Refused(str(data.get("code", rpc)), str(refusal.get("message")), definite=definite, rpc=rpc)
        result = response.get("result")
        if not isinstance(result, dict):
            raise Lost(f"the result of {method} is not an object: {line[:200]!r}")
        return result

    def kill(self) -> None:
        """SIGKILL to the child's whole process group."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._reap()

    def close(self) -> None:
        """EOF on stdin, two seconds' grace, then kill."""
        if self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError, ValueError):
                self._process.stdin.close()
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reap()

    def _reap(self) -> None:
        self._process.wait()
        for thread in self._threads:
            thread.join(2)
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError, ValueError):
                    pipe.close()

    def _last_words(self) -> str:
        self._threads[1].join(1)  # an end is sometimes seen before the words that came with it
        return self.stderr[-500:] or f"exit status {self._process.poll()}, nothing on stderr"

    def _pump_stdout(self) -> None:
        assert self._process.stdout is not None
        with contextlib.suppress(ValueError, OSError):
            while line := self._process.stdout.readline(LINE_BYTES_MAX):
                self._lines.put(line)
        self._lines.put(b"")

    def _pump_stderr(self) -> None:
        assert self._process.stderr is not None
        with contextlib.suppress(ValueError, OSError):
            for line in self._process.stderr:
                self._stderr.append(line.decode("utf-8", "replace").rstrip("\n"))
