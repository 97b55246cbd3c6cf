"""`busproof doctor`: is it the adapter, or is it the bus? And what is odd about a store's files (`oddities`)?

The adapter is examined from the outside in: does it start, does it answer, does it keep to the protocol, does it
keep its word of hello. The first fault that explains the rest ends the examination, with its remedy.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from busproof import oddities
from busproof.adapters.base import Door, DoorError, Lost, Refused
from busproof.adapters.stdio import StdioDoor
from busproof.fleet import BusSpecError, open_door
from busproof.profiles import PROFILES
from busproof.protocol import FEATURES, METHOD_NOT_FOUND, METHODS, HelloReply

SLOW_MS = 500


class Fault(Exception):
    """What is wrong with the adapter, and what to do."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(what)
        self.remedy = remedy


def examine(spec: str, system: str | None = None) -> int:
    """Print the findings. Exit 0: the adapter is sound; 1: a fault was found; 2: there is nothing to examine."""
    if spec.startswith("sqlite:") and spec != "sqlite:":
        return oddities.examine(Path(spec.removeprefix("sqlite:")).expanduser(), system)
    system = system or "worker"
    try:
        for finding in _examine_adapter(spec, system):
            print(f"  ok     {finding}")
    except Fault as fault:
        print(f"  FAULT  {fault}\n         remedy: {fault.remedy}")
        print("The adapter is at fault; the bus has not been judged.")
        return 1
    print(f"The adapter is sound. Faults that a check reports are the bus's:  busproof check {system} --bus '{spec}'")
    return 0


def _examine_adapter(spec: str, system: str) -> Iterator[str]:
    try:
        door = open_door(spec)
    except (BusSpecError, ImportError, AttributeError) as error:
        raise Fault(
            f"it does not start: {error}", "run the command by hand; a relative path starts where you stand"
        ) from error
    with tempfile.TemporaryDirectory(prefix="busproof-") as store:
        try:
            hello = _hello(door, system)
            yield f"hello: {hello.name} {hello.version}, nouns {', '.join(hello.nouns) or 'none'}, clock {hello.clock}"
            yield from _declares(hello, system)
            yield from _manners(door)
            _call(door, "open", {"store": store, "options": {}}, system)
            yield "open: a store folder is accepted"
            yield from _keeps_its_word(door, hello, system)
            _call(door, "close", {}, system)
            yield "close: the store is left"
        finally:
            door.close()


def _hello(door: Door, system: str) -> HelloReply:
    try:
        reply = door.call("hello", {"protocol": ["1"], "system": system}, timeout_s=10)
    except Refused as error:
        raise Fault(
            f"hello was refused: {error}", "hello must answer for protocol 1; see docs/protocol.md#hello"
        ) from error
    except Lost as error:
        text = str(error)
        if "not JSON" in text:
            remedy = "stdout belongs to the protocol: print to stderr instead"
        elif "id" in text and "request" in text:
            remedy = "answer with the same id as the request"
        elif "no answer" in text:
            remedy = "flush stdout after every line"
        else:
            remedy = f"it wrote to stderr: {door.stderr[-300:] or 'nothing'}"
        raise Fault(f"hello was not answered: {error}", remedy) from error
    try:
        return HelloReply.model_validate(reply, strict=True)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:4])
        raise Fault(f"hello's answer lacks something: {wrong}", "see docs/protocol.md#hello for its fields") from error


def _declares(hello: HelloReply, system: str) -> Iterator[str]:
    if system not in hello.systems:
        raise Fault(
            f"hello says that it is {', '.join(hello.systems)}, not {system}",
            f"add --system {(hello.systems or [system])[0]}, or name {system} among hello's systems",
        )
    unknown = [feature for feature in hello.features if feature not in FEATURES[system]]
    if unknown:
        raise Fault(f"hello declares unknown features {unknown}", f"features are {', '.join(FEATURES[system])}")
    if not hello.nouns:
        raise Fault(
            "hello declares no noun, so nothing can be judged",
            f"declare {', '.join(PROFILES[system]['core'])} when they are filled in",
        )
    yield "hello: what is declared is known to the protocol"


def _manners(door: Door) -> Iterator[str]:
    try:
        door.call("doctor.no_such_method", {}, timeout_s=10)
        raise Fault("an unknown method was accepted", "answer it with error code -32601")
    except Refused as error:
        if error.rpc != METHOD_NOT_FOUND:
            raise Fault(
                f"an unknown method was answered with {error.rpc}", "answer it with error code -32601"
            ) from error
    except Lost as error:
        raise Fault(f"it died of an unknown method: {error}", "answer it with error code -32601") from error
    yield "an unknown method is -32601"
    if isinstance(door, StdioDoor):
        door.send_line(b"{this is no JSON")
        try:
            line = door.receive_line("a line that is no JSON", 5)
            good = "error" in json.loads(line)
        except (Lost, ValueError):
            good = False
        if not good:
            raise Fault(
                "a line that is no JSON is not answered with an error", "answer it with error code -32700 and id null"
            )
        yield "a line that is no JSON is answered with an error"


def _keeps_its_word(door: Door, hello: HelloReply, system: str) -> Iterator[str]:
    """Every declared method is there; the core answers in the right shape, quickly."""
    if hello.clock == "manual":
        _call(door, "clock.set", {"now_ms": 1_768_053_600_000}, system)
        yield "clock.set: the clock can be set"
    slow = []
    for method, params in _TRIALS[system].items():
        noun, feature = METHODS[system][method].noun, METHODS[system][method].feature
        if (noun and noun not in hello.nouns) or (feature and feature not in hello.features):
            continue
        started = time.monotonic()
        _call(door, method, params, system)
        if (took_ms := (time.monotonic() - started) * 1000) > SLOW_MS:
            slow.append(f"{method} took {took_ms:.0f} ms")
    yield "every declared method answers in its shape" + (f"; slow: {', '.join(slow)}" if slow else "")


_MESSAGE_ID = "6f0c9a52-3f0e-4f2b-9f3e-0d6a2b1c7e55"

_TRIALS: dict[str, dict[str, dict[str, Any]]] = {
    "worker": {
        "publish": {"agent_id": "doctor", "message": {"id": "d1", "type": "note", "to": "doctor", "payload": {"n": 1}}},
        "poll": {"agent_id": "doctor", "limit": 10},
        "ack": {"agent_id": "doctor", "seq": 0},
        "try_claim_task": {"task_id": "doctor-task", "agent_id": "doctor"},
        "renew_claim": {"task_id": "doctor-task", "agent_id": "doctor"},
        "release_claim": {"task_id": "doctor-task", "agent_id": "doctor"},
        "heartbeat": {"agent_id": "doctor", "status": "idle"},
        "liveness": {},
        "export_to_jsonl": {},
        "save_blob": {"content": {"n": 1}},
        "search": {"query": "note", "limit": 10},
        "publish_many": {"agent_id": "doctor", "messages": [{"type": "note"}]},
        "process_loop": {"agent_id": "doctor", "limit": 1, "fail_ids": []},
        "poll_intervals": {"polls": [True, False]},
        "status": {"limit": 10},
        "archive": {},
        "dead_letters": {"agent_id": "doctor"},
        "worker_state": {"worker": "doctor"},
        "dump": {},
    },
    "comms": {
        "send_message": {"from_agent": "doctor", "to_agent": "doctor", "message_type": "note", "payload": {"n": 1}},
        "receive_messages": {"agent_id": "doctor", "channels": ["general"], "limit": 10},
        "claim_message": {"agent_id": "doctor", "message_id": _MESSAGE_ID},
        "subscribe_to_channel": {"agent_id": "doctor", "channel_name": "general"},
        "get_subscribed_channels": {"agent_id": "doctor"},
        "unsubscribe_from_channel": {"agent_id": "doctor", "channel_name": "general"},
        "send_heartbeat": {"agent_id": "doctor", "status": "active"},
        "get_agent_health": {"agent_id": "doctor"},
        "validate_message": {"message": {}},
        "cleanup_expired_messages": {},
        "dead_letters": {},
        "redrive": {"id": _MESSAGE_ID},
        "retry_delays": {"max_attempts": 3, "base_delay": 1.0, "jitter": 1.0},
        "write_artifact": {"agent_id": "doctor", "task_id": "visit", "content": {"n": 1}},
        "circuit_breaker": {"events": []},
        "export_audit_trail": {},
        "dump": {},
    },
    "topics": {
        "ping": {},
        "topic_create": {"name": "doctor"},
        "topic_resolve": {"name": "doctor"},
        "topic_list": {},
        "messages_search": {"query": "doctor"},
    },
}


def _call(door: Door, method: str, params: dict[str, Any], system: str) -> dict[str, Any]:
    page = f"see docs/protocol.md#{method.replace('.', '')}"
    try:
        reply = door.call(method, params, timeout_s=20)
    except Refused as error:
        said = "is declared and not there" if error.rpc == METHOD_NOT_FOUND else f"was refused: {error}"
        raise Fault(f"{method} {said}", f"sent {json.dumps(params)}; {page}") from error
    except DoorError as error:
        raise Fault(f"{method} was not answered: {error}", page) from error
    try:
        METHODS[system][method].reply.model_validate(reply, strict=True)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:4])
        raise Fault(f"{method}'s answer has another shape: {wrong}; it was {json.dumps(reply)[:200]}", page) from error
    return reply
