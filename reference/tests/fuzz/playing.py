"""Bent calls over the reference's doors of lines, stdio and MCP. Three things must hold for each of them:

- It is answered, and the process lives: nothing hangs.
- It is answered by one of the system's codes, and never by INTERNAL.
- Where it is certainly refused, nothing is stored.
"""

from __future__ import annotations

import contextlib
import json
import random
import shutil
import sqlite3
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from reference.tests.fuzz.bending import Bender
from reference.tests.fuzz.watching import Watch

from busproof.bus.child import Child
from busproof.bus.hand_relay import RelayHand
from busproof.contract import CONTRACTS

ANSWER_S = 120.0  # a call that takes as long hangs, on any machine
DRIVER, SERVER = ("-m", "refbus.driver"), ("-m", "refbus.topics.mcp.server")
PROGRAMS = 40  # of a process
OF_ANY_DRIVER = {"INVALID_ARGUMENT", "METHOD_NOT_FOUND", "PAYLOAD_TOO_LARGE", "NOT_OPEN"}
# An archival empties the write-ahead log; a watch that still sees the old state would hold that up. A session that
# opens another store leaves the one before, and writes down what it has counted there.
UNWATCHED = {"archive", "open"}
PING_ID = "the fuzzer's own ping"
MCP_INTERNAL = -32603


class Fault(AssertionError):
    """A call that was answered as none may be."""


Tally = Counter[str]  # how many calls ended in each way


def stdio(system: str, calls: int, seed: str, folder: Path, program: Sequence[str] = DRIVER) -> Tally:
    """Play programs, each on a store of its own, over the driver's lines."""
    contract, tally = CONTRACTS[system], Tally()
    codes = set(contract.error_codes) | OF_ANY_DRIVER
    for batch in range(calls):
        bender = Bender(system, contract.methods, random.Random(f"{seed} {system} {batch}"))
        with _started(program, folder) as child:
            _exchange(child, json.dumps(bender.plain("hello", {"protocol": ["1"], "system": system})).encode())
            for _ in range(PROGRAMS):
                if tally.total() >= calls:
                    return tally
                with _store(folder) as store, _watched(store / contract.store) as watch:
                    for method, params in bender.program():
                        if method.startswith("hand."):
                            _lend_a_hand(system, store, method.removeprefix("hand."), params)
                            continue
                        if method == "open":
                            params = {"store": str(store), **params}
                        line = bender.line(bender.request(method, params, 7))
                        seen = None if method in UNWATCHED else watch
                        answer = _judged(seen, line, child, _exchange, codes)
                        bender.learn(answer.get("result"))
                        tally[_ending(answer)] += 1
    return tally


def mcp(calls: int, seed: str, folder: Path) -> Tally:
    """Play programs over MCP, forty on each database."""
    contract, tally = CONTRACTS["topics"], Tally()
    codes = set(contract.error_codes)
    for batch in range(calls):
        bender = Bender("topics", contract.methods, random.Random(f"{seed} mcp {batch}"))
        with _store(folder) as store, _watched(store / contract.store) as watch:
            database = store / contract.store
            database.parent.mkdir(parents=True, exist_ok=True)
            with _started(SERVER, folder, AGENT_BUS_DB=str(database)) as child:
                hello = {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "f", "version": "1"},
                }
                _exchange_mcp(child, json.dumps(bender.plain("initialize", hello)).encode())
                for _ in range(PROGRAMS):
                    if tally.total() >= calls:
                        return tally
                    for method, params in bender.program():
                        if method in ("open", "clock.set") or method.startswith("hand."):
                            continue
                        line = bender.line_that_is_none(
                            bender.request("tools/call", {"name": method, "arguments": params}, 7)
                        )
                        answer = _judged(watch, line, child, _exchange_mcp, codes)
                        bender.learn(answer.get("result", {}).get("structuredContent"))
                        tally[_ending(answer)] += 1
    return tally


def _judged(
    watch: Watch | None, line: bytes, child: Child, exchange: Callable[[Child, bytes], dict[str, Any]], codes: set[str]
) -> dict[str, Any]:
    """Send a line, and hold the answer against the three properties."""
    if watch is not None:
        watch.begin()
    try:
        answer = exchange(child, line)
        code, definite = _refusal(answer)
        if code is not None and code not in codes - {"INTERNAL"}:
            raise Fault(f"{answer!a:.500}\n{line[:3000]!r}\n{child.stderr[-3000:]}")
        if definite and watch is not None and (table := watch.stored()):
            raise Fault(f"refused, and {table} is another: {answer!a:.500}\n{line[:3000]!r}")
    finally:
        if watch is not None:
            watch.end()
    return answer


def _refusal(answer: dict[str, Any]) -> tuple[str | None, bool]:
    """The code of a refusal, and whether it is certain that nothing happened."""
    error = answer.get("error")
    if error is not None and "data" in error and "code" in (error["data"] or {}):
        return error["data"]["code"], error["data"]["definite"]
    if error is not None:  # MCP's own: the request never reached a tool
        return "INTERNAL" if error["code"] == MCP_INTERNAL else "INVALID_ARGUMENT", True
    result = answer["result"]
    if result.get("isError"):
        code = result["structuredContent"]["error"]["code"]
        return code, CONTRACTS["topics"].error_codes.get(code, False)
    return None, False


def _ending(answer: dict[str, Any]) -> str:
    return _refusal(answer)[0] or "answered"


def _exchange(child: Child, line: bytes) -> dict[str, Any]:
    """The driver answers each line by one."""
    child.write_line(line, ANSWER_S)
    return _object(child.read_line(f"{line[:500]!r}", ANSWER_S))


def _exchange_mcp(child: Child, line: bytes) -> dict[str, Any]:
    """The server answers a request under its id, a line that is no request under none, and no notification."""
    id_ = _id_of(line)
    child.write_line(line, ANSWER_S)
    child.write_line(b'{"jsonrpc": "2.0", "id": "%s", "method": "ping"}' % PING_ID.encode(), ANSWER_S)
    reply: dict[str, Any] | None = None
    is_alive = False
    while not is_alive or (id_ is not None and reply is None):
        answer = _object(child.read_line(f"{line[:500]!r}", ANSWER_S))
        if answer["id"] == PING_ID:
            is_alive = True
        else:
            assert answer["id"] == id_ and reply is None, (answer, line)
            reply = answer
    return reply or {"result": {}}


def _id_of(line: bytes) -> Any:
    """The id under which an answer must come; None for a line that is no request."""
    with contextlib.suppress(ValueError, RecursionError):
        request = json.loads(line)
        if type(request.get("id")) in (str, int) and type(request.get("method")) is str:
            return request["id"]
    return None


def _object(line: bytes) -> dict[str, Any]:
    answer = json.loads(line)
    assert type(answer) is dict and ("result" in answer) != ("error" in answer), line[:500]
    return answer


def _lend_a_hand(system: str, store: Path, method: str, params: dict[str, Any]) -> None:
    """Files of relay's agents come from no door. Other hands do damage, and config.json would start programs."""
    if system == "relay" and method in ("agent", "write", "remove", "attach", "take"):
        with (
            contextlib.suppress(OSError, UnicodeEncodeError, sqlite3.Error),
            contextlib.closing(RelayHand(store)) as hand,
        ):
            hand.call(method, params)


@contextlib.contextmanager
def _store(folder: Path) -> Iterator[Path]:
    store = folder / "store" / "it"
    store.mkdir(parents=True)
    yield store
    shutil.rmtree(store.parent)


@contextlib.contextmanager
def _watched(database: Path) -> Iterator[Watch]:
    with contextlib.closing(Watch(database)) as watch:
        yield watch


@contextlib.contextmanager
def _started(program: Sequence[str], folder: Path, **environment: str) -> Iterator[Child]:
    child = Child([sys.executable, *program], env=environment, cwd=str(folder))
    try:
        yield child
    finally:
        child.close()
