"""A page for monitors: /metrics and /health, on this machine alone, and only where a port is asked for."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from refbus.kernel.errors import BusError
from refbus.relay.bus import RelayBus
from refbus.relay.service import Service

HOST = "127.0.0.1"


@contextlib.contextmanager
def serving(bus: RelayBus, service: Service, port: int) -> Iterator[int]:
    """Answer while the block runs; yields the port, a free one for 0."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, kind, text = _answer(self.path, bus, service)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a monitor asks every few seconds."""

    with ThreadingHTTPServer((HOST, port), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, name="monitor", daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def _answer(path: str, bus: RelayBus, service: Service) -> tuple[int, str, str]:
    try:
        if path == "/metrics":
            return 200, "text/plain; version=0.0.4; charset=utf-8", bus.metrics()["text"]
        if path == "/health":
            is_well, age_s = service.health()
            health = {"status": "ok" if is_well else "stuck", "last_pass_s": round(age_s, 3)}
            return 200 if is_well else 503, "application/json", json.dumps(health)
    except BusError as error:
        return 503, "text/plain", f"{error}\n"
    except ImportError as error:
        return 503, "text/plain", f"{error.name} is missing: pip install './reference[relay]' in busproof's folder\n"
    return 404, "text/plain", "/metrics or /health\n"
