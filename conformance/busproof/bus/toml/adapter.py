"""The program behind `toml:`: it speaks the kit's protocol on stdin and stdout, and calls the bus as the file says."""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path
from typing import Any

from busproof.bus.base import DoorError, Refused
from busproof.bus.child import PARTICIPANT
from busproof.bus.toml.agent import Agent, Place
from busproof.bus.toml.form import OF_METHOD, PIDS, Form, Way, declared, load
from busproof.bus.toml.memory import refused

WORDS_MAX = 600  # of a refusal that are passed on


class Adapter:
    """One process of the kit's: agents of one store at a time."""

    def __init__(self, form: Form, here: Path) -> None:
        self._form, self._here = form, here
        self._places: list[Place] = []  # of the way of this process first, then of the file's first way
        self._agents: dict[tuple[str, int], Agent] = {}

    def answer(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """One call of the protocol."""
        match method:
            case "hello":
                return declared(self._form)
            case "open":
                return self._open(Path(params["store"]))
            case "close":
                return self._close()
            case "toml.calls":  # for doctor: what the last call was on the bus, and what the bus answered
                calls = [call for place in self._places for call in place.calls]
                return {"calls": calls, "names": self._places[-1].memory.names() if self._places else {}}
        if method not in OF_METHOD or not self._is_mapped(method):
            raise Refused("METHOD_NOT_FOUND", f"{method} is not mapped", definite=True, rpc=-32601)
        if not self._places:
            raise Refused("NOT_OPEN", "no store is open", definite=True)
        place = next(place for place in self._places if method in place.way.operations)
        place.calls.clear()
        name, pids = str(params["agent_id"]), params.pop(PIDS, {})
        place.pids.update(pids)
        key = (name, self._places.index(place))
        if key not in self._agents:
            self._agents[key] = Agent(place, name)
        return self._agents[key].do(method, dict(params))

    def _open(self, store: Path) -> dict[str, Any]:
        self._close()
        ways: list[Way] = [self._form]
        if self._form.also and int(os.environ.get(PARTICIPANT, "0")) % 2:
            ways.insert(0, self._form.also)
        try:
            self._places = [Place(self._form, way, self._here, store) for way in ways]
        except OSError as error:
            raise refused(error) from error
        self._places[-1].prepare()
        return {}

    def _close(self) -> dict[str, Any]:
        for agent in self._agents.values():
            agent.close()
        for place in self._places:
            place.leave()
        self._agents.clear()
        self._places.clear()
        return {}

    def _is_mapped(self, method: str) -> bool:
        return method in self._form.operations


def reply_to(adapter: Adapter, line: str) -> dict[str, Any]:
    """The answer to a line."""
    try:
        request = json.loads(line)
        method, params = request["method"], request.get("params", {})
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        return {"jsonrpc": "2.0", "id": None, "error": {"code": -32700, "message": f"no request: {error}"}}
    try:
        outcome: dict[str, Any] = {"result": adapter.answer(method, params)}
    except Refused as error:
        data = {"code": error.code, "definite": error.definite}
        outcome = {"error": {"code": error.rpc, "message": _short(error.message), "data": data}}
    except DoorError as error:
        data = {"code": "NO_ANSWER", "definite": False}
        outcome = {"error": {"code": -32000, "message": str(error), "data": data}}
    except Exception as error:  # of the adapter itself: nobody knows what has happened
        traceback.print_exc()
        data = {"code": "ADAPTER", "definite": False}
        outcome = {"error": {"code": -32000, "message": f"a fault of busproof's adapter: {error!r}", "data": data}}
    return {"jsonrpc": "2.0", "id": request.get("id"), **outcome}


def _short(words: str) -> str:
    """What a program says may be long; all of it has been read for what it means."""
    return words if len(words) <= WORDS_MAX else f"{words[: WORDS_MAX // 3]} … {words[-WORDS_MAX // 3 * 2 :]}"


def main() -> int:
    """Serve until the end of stdin."""
    path = Path(sys.argv[1]).absolute()
    adapter = Adapter(load(path), path.parent)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        for line in sys.stdin.buffer:
            print(json.dumps(reply_to(adapter, line.decode("utf-8", "replace"))), flush=True)
    finally:
        adapter.answer("close", {})
    return 0


if __name__ == "__main__":
    sys.exit(main())
