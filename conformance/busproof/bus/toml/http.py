"""A JSON API on the loopback, and tools of an MCP server over streamable HTTP."""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from busproof.bus.base import Lost, Refused, patient
from busproof.bus.mcp_client import VERSION, WHO, as_object
from busproof.bus.toml import template
from busproof.bus.toml.cli import answer, refusal
from busproof.bus.toml.form import Step
from busproof.bus.toml.mcp import refused_by_rpc, value_of


def call(address: str, step: Step, values: Mapping[str, Any]) -> Any:
    """Ask. The arguments are the query of GET and DELETE, and the JSON body of the others."""
    method, _, path = template.path(step.call or "", values).partition(" ")
    path = urlsplit(address).path.rstrip("/") + path
    arguments = template.fill(step.args or {}, values)
    headers = {"Accept": "application/json", **template.fill(step.headers, values)}
    body = None
    if method in ("GET", "DELETE"):
        query = urlencode({name: template.as_text(value) for name, value in arguments.items()})
        path += f"{'&' if '?' in path else '?'}{query}" if query else ""
    else:
        headers["Content-Type"] = "application/json"
        body = json.dumps(arguments).encode()
    status, _, text = _exchange(address, method, path, body, headers, patient(step.timeout_s))
    _check(status, text)
    return answer(text, step)


class HttpServer:
    """A session with an MCP server: requests are posted, answers come as JSON or as a stream of events."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._session: dict[str, str] = {}
        self._ids = 0

    def begin_session(self, start_s: float) -> None:
        """Say hello."""
        self._session = {}
        self.request("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": WHO}, start_s)
        self._post({"jsonrpc": "2.0", "method": "notifications/initialized"}, start_s)

    def tool(self, name: str, arguments: dict[str, Any], timeout_s: float) -> Any:
        """Call a tool."""
        return value_of(self.request("tools/call", {"name": name, "arguments": arguments}, timeout_s))

    def tools(self, timeout_s: float) -> list[dict[str, Any]]:
        """What the server offers."""
        return [as_object(tool) for tool in self.request("tools/list", {}, timeout_s).get("tools", [])]

    def request(self, method: str, params: dict[str, Any], timeout_s: float) -> dict[str, Any]:
        """Ask by a method of MCP."""
        self._ids += 1
        text = self._post({"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}, timeout_s)
        reply = next((message for message in _messages(text) if message.get("id") == self._ids), None)
        if reply is None:
            raise Lost(f"{method}: no answer has the request's id: {text[:200]!r}")
        if "error" in reply:
            error = as_object(reply["error"])
            rpc = error["code"] if isinstance(error.get("code"), int) else 0
            raise refused_by_rpc(Refused("", str(error.get("message")), definite=True, rpc=rpc))
        return as_object(reply.get("result"))

    def _post(self, message: dict[str, Any], timeout_s: float) -> str:
        headers = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream", **self._session}
        path = urlsplit(self._url).path or "/"
        status, answered, text = _exchange(self._url, "POST", path, json.dumps(message).encode(), headers, timeout_s)
        _check(status, text)
        if session := answered.get("mcp-session-id"):
            self._session = {"Mcp-Session-Id": session, "MCP-Protocol-Version": VERSION}
        return text


def _exchange(
    address: str, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
) -> tuple[int, http.client.HTTPMessage, str]:
    """One request on a connection of its own. A server that is not there has done nothing."""
    place = urlsplit(address)
    connection = http.client.HTTPConnection(place.hostname or "", place.port or 80, timeout=timeout_s)
    try:
        connection.connect()
    except OSError as error:
        raise Refused("UNREACHABLE", f"{address}: {error}", definite=True) from error
    try:
        connection.request(method, path, body, dict(headers))
        reply = connection.getresponse()
        return reply.status, reply.headers, reply.read().decode(errors="replace")
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise Lost(f"{method} {path}: {error or type(error).__name__}") from error
    finally:
        connection.close()


def _check(status: int, text: str) -> None:
    if status >= 500:
        raise Refused("INTERNAL", f"{status}: {text}", definite=False)
    if status >= 400:
        raise refusal(f"{status}: {text}")


def _messages(text: str) -> list[dict[str, Any]]:
    """Of JSON, or of an e stream."""
    if not text.lstrip().startswith(("{", "[")):
        events = text.replace("\r\n", "\n").split("\n\n")
        texts = ["\n".join(line[5:].strip() for line in e.split("\n") if line.startswith("data:")) for e in events]
    else:
        texts = [text]
    messages: list[dict[str, Any]] = []
    for part in filter(None, texts):
        try:
            messages.append(as_object(json.loads(part)))
        except ValueError as error:
            raise Lost(f"what came is not JSON: {part[:200]!r}") from error
    return messages
