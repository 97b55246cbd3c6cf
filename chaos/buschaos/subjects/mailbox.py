"""`mailbox`, as chaos sees it: a bus that nobody can dump, judged by what its readers are shown."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterable
from operator import itemgetter
from pathlib import Path
from typing import Any

from buschaos import reading
from buschaos.operations import WAITS_S, Operation, applicable, tell_time
from buschaos.plan import Call, Role
from buschaos.state import Evidence, Problem, Promise, answered, health
from buschaos.subjects.base import Epilogue, Memory, PeerCall, Repertoire, Subject, Truth
from buschaos.subjects.base import says_full as says_it_whole
from busproof.bus.base import Refused
from busproof.bus.session import Session
from busproof.bus.toml.cli import CRASHED
from busproof.contract import HelloReply
from busproof.contract.common import T0_MS
from busproof.contract.history import Event
from busproof.contract.mailbox import CONTRACT

AGENTS = ("alice", "bob", "carol")
NAMES = ("free", "held", "epilogue")
HELD_MS, LOOKED_MS = 86_400_000, 60_000
ALL = 10_000
LARGE = 20_000  # characters
READERS = ("reader1", "reader2")
QUEUE = "work"


def prepare(alice: Session, bob: Session, hello: HelloReply) -> dict[str, Any]:
    """Inboxes with messages, one of them acked; a claim; a job that waits and two in alice's hands; the newest base."""

    def declared(*needs: str) -> bool:
        return applicable(Operation("", "", "", lambda _: {}, needs), hello)

    for session in (alice, bob):
        tell_time(session, hello, T0_MS)
    for agent in AGENTS:
        alice.call("receive", agent_id=agent)
    prepared: dict[str, Any] = {}
    for number in range(4):
        sent = alice.call("send", to="bob", body=f"message {number}")
        prepared[f"id {number}"] = sent["id"]
    if not declared("consumes"):
        bob.call("receive")
    if declared("ack") and not declared("consumes"):
        bob.call("ack", ids=[prepared["id 1"]])
    if declared("lease"):
        prepared["token"] = alice.call("claim", name="held", ttl_ms=HELD_MS).get("token")
    if declared("jobs"):
        for number in range(3):
            alice.call("put", queue=QUEUE, body=f"job {number}")
        for name in ("job to do", "job to give back"):
            job = alice.call("take", queue=QUEUE, visible_ms=HELD_MS)["job"]
            prepared[name] = {"queue": QUEUE, "id": job["id"], "receipt": job.get("receipt") or job["id"]}
    if declared("compare_and_append"):
        prepared["base"] = alice.call("receive", agent_id="carol")["base"]
    return prepared


def stir(session: Session, hello: HelloReply) -> None:
    """A message for carol comes and goes, on a bus where one can go."""
    if {"ack", "consumes"}.isdisjoint(hello.features):
        return
    session.call("send", to="carol", body="stirred")
    (message,) = session.call("receive", agent_id="carol")["messages"]
    if "ack" in hello.features:
        session.call("ack", agent_id="carol", ids=[message["id"]])


def shown(session: Session, hello: HelloReply) -> dict[str, Any]:
    """What waits for each agent, and the names that are held: a stranger tries to take them."""
    view = "unacked" if {"consumes", "unacked"} <= set(hello.features) else "receive"
    waiting = [
        {"agent": agent, "body": message["body"]}
        for agent in AGENTS
        for message in session.call(view, agent_id=agent, **({"limit": ALL} if view == "receive" else {}))["messages"]
    ]
    state: dict[str, Any] = {"messages": waiting}
    if "lease" in hello.nouns:
        state["held"] = [{"name": name} for name in NAMES if not _is_free(session, name)]
    return state


def _is_free(session: Session, name: str) -> bool:
    claim = session.call("claim", name=name, agent_id="stranger", ttl_ms=LOOKED_MS)
    if claim["granted"]:
        session.call("release", name=name, agent_id="stranger")
    return bool(claim["granted"])


def comparable(state: dict[str, Any], known_ids: set[str], clock: str) -> dict[str, Any]:
    """As it is shown: it holds nothing of the bus's choice."""
    return {name: rows for name, rows in state.items() if isinstance(rows, list)}


def bodies(method: str, params: dict[str, Any]) -> set[str]:
    """A message is known by its body: its id is the bus's."""
    return {params["body"]} if method == "send" else set()


def promises(events: Iterable[Event]) -> list[Promise]:
    """Every message whose send was answered."""
    return [Promise(asked["body"], None, asked) for asked, event in answered(events) if event.op == "send"]


def problems(evidence: Evidence) -> list[Problem]:
    """Those of the file. What readers were shown is judged by the kit's own checks."""
    if "died" in evidence.facts:
        return [Problem("log", evidence.facts["died"])]
    return list(health(evidence))


def inspect(store: Path) -> dict[str, Any]:
    """SQLite's judgement of the reference's file."""
    return {"integrity": reading.integrity(store / CONTRACT.store)}


def _letter(body: str, **more: Any) -> dict[str, Any]:
    return {"agent_id": "alice", "to": "bob", "body": body, **more}


def _job(name: str) -> Callable[[dict[str, Any]], dict[str, Any]]:
    return lambda prepared: {"agent_id": "alice", **prepared[name]}


def _held(prepared: dict[str, Any]) -> dict[str, Any]:
    token = {} if prepared["token"] is None else {"token": prepared["token"]}
    return {"name": "held", "agent_id": "alice", **token}


OPERATIONS = (
    Operation("open", "log", "open", lambda _: {}, empty_store=True),
    Operation("open again", "log", "open", lambda _: {}),
    Operation("send", "log", "send", lambda _: _letter("new", key="new"), ("key",)),
    Operation("send a large one", "log", "send", lambda _: _letter("y" * LARGE, key="large"), ("key",), chars=LARGE),
    Operation("send without a key", "log", "send", lambda _: _letter("new"), lacks=("key",), is_once=True),
    Operation(  # a short one may find room in the last page of a log
        "send a large one without a key",
        "log",
        "send",
        lambda _: _letter("y" * LARGE),
        lacks=("key",),
        is_once=True,
        chars=LARGE,
    ),
    Operation(
        "send to all", "log", "send", lambda _: {"agent_id": "alice", "body": "to all"}, ("broadcast",), is_once=True
    ),
    Operation(
        "send on a base",
        "log",
        "send",
        lambda p: {"agent_id": "alice", "to": "carol", "body": "on a base", "base": p["base"]},
        ("compare_and_append",),
        is_once=True,
        again=("BASE_CONFLICT",),
    ),
    Operation("receive", "cursor", "receive", lambda _: {"agent_id": "bob"}, lacks=("consumes",), shows=("messages",)),
    Operation(
        "receive, once",
        "cursor",
        "receive",
        lambda _: {"agent_id": "bob"},
        ("consumes",),
        is_once=True,
        is_each=True,
        shows=("messages",),
    ),
    Operation("ack", "cursor", "ack", lambda p: _acked(p, "id 0", "id 2"), ("ack", "ack_many")),
    Operation("ack", "cursor", "ack", lambda p: _acked(p, "id 0"), ("ack",), lacks=("ack_many",)),
    Operation("claim", "lease", "claim", lambda _: _free("bob"), ("lease",), says=("granted",), is_once=True),
    Operation(
        "renew", "lease", "renew", lambda p: {**_held(p), "ttl_ms": HELD_MS}, ("lease", "renew"), says=("granted",)
    ),
    Operation("release", "lease", "release", _held, ("lease",), is_once=True, again=("NOT_HELD",)),
    Operation(
        "put", "jobs", "put", lambda _: {"agent_id": "alice", "queue": QUEUE, "body": "new"}, ("jobs",), is_once=True
    ),
    Operation("take", "jobs", "take", lambda _: _take("bob"), ("jobs",), is_once=True),
    Operation("done", "jobs", "done", _job("job to do"), ("jobs",), is_once=True, again=("NOT_HELD",)),
    Operation("back", "jobs", "back", _job("job to give back"), ("jobs", "back"), is_once=True, again=("NOT_HELD",)),
    Operation("close", "log", "close", lambda _: {}),
)


def says_full(error: Refused) -> bool:
    """A mapped program that crashes of a full disk says so in its last words; a 5xx of a server does not pass them on.

    Neither promises that nothing happened. A server that was to be started for the call, and could not, was not asked.
    """
    is_crash = error.code == "DISK_FULL" and CRASHED.search(error.message)
    was_not_asked = error.code == "NO_ANSWER" and error.definite
    return says_it_whole(error) or was_not_asked or bool(is_crash or re.match(r"5\d\d: ", error.message))


def _acked(prepared: dict[str, Any], *names: str) -> dict[str, Any]:
    return {"agent_id": "bob", "ids": [prepared[name] for name in names]}


def _free(agent: str) -> dict[str, Any]:
    return {"name": "free", "agent_id": agent, "ttl_ms": HELD_MS}


def _take(agent: str) -> dict[str, Any]:
    return {"agent_id": agent, "queue": QUEUE, "visible_ms": HELD_MS}


PEERS = (
    PeerCall(
        "a send by another",
        "send",
        lambda _: {"agent_id": "carol", "to": "bob", "body": "peer"},
        ("send", "send without a key", "ack", "receive, once"),
    ),
    PeerCall("a send of the same message", "send", lambda _: _letter("new", key="new"), ("send",), needs=("key",)),
    PeerCall(
        "a send on the same base",
        "send",
        lambda p: {"agent_id": "bob", "to": "carol", "body": "peer", "base": p["base"]},
        ("send on a base",),
        needs=("compare_and_append",),
    ),
    PeerCall(
        "an ack of another message",
        "ack",
        lambda p: _acked(p, "id 3"),
        ("ack", "send", "send without a key"),
        needs=("ack",),
    ),
    PeerCall("a claim of the same name", "claim", lambda _: _free("carol"), ("claim",), needs=("lease",)),
    PeerCall("a take by another", "take", lambda _: _take("carol"), ("take", "back"), needs=("jobs",)),
)
WAITS = (
    (
        Operation(
            "receive that waits",
            "cursor",
            "receive",
            lambda _: {"agent_id": "carol", "wait_ms": 1000 * WAITS_S},
            ("wait",),
        ),
        PeerCall(
            "what it waits for",
            "send",
            lambda _: {"agent_id": "alice", "to": "carol", "body": "awaited"},
            ("receive that waits",),
            ends_a_wait=True,
            stirs=stir,
        ),
    ),
)


class Writer(Role):
    """Sends to both readers, and puts jobs."""

    name = "writer"
    separator = ""
    first = (Call("receive", {}),)

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Mostly a message."""
        if "jobs" in has and dice.random() < 0.15:
            return Call("put", {"queue": QUEUE, "body": f"job {id_}"}, is_once=True)
        params = {"to": dice.choice(READERS), "body": f"{id_} {'x' * dice.choice((0, 10, 300, 5000))}".strip()}
        if "key" in has:
            return Call("send", {**params, "key": id_})
        return Call("send", params, is_once=True)


class Reader(Role):
    """Receives, acks some of what it was shown, takes and finishes jobs, holds names."""

    name = "reader"
    separator = ""
    processes = 2
    reads = True
    first = (Call("receive", {}),)

    def draw(self, dice: random.Random, id_: str, has: frozenset[str]) -> Call:
        """Mostly mail."""
        if "jobs" in has and dice.random() < 0.2:
            job = {"queue": QUEUE, "visible_ms": HELD_MS}
            return dice.choice((Call("take", job, is_once=True), Call("done", {"pick": 0}), Call("done", {"pick": 0})))
        if "lease" in has and dice.random() < 0.1:
            name = id_.replace(".", "x")  # a name of its own: nobody claims what is theirs already
            return Call("claim", {"name": name, "ttl_ms": LOOKED_MS}, is_once=True)
        if "ack" in has and dice.random() < 0.5:
            return Call("ack", {"share": dice.random()})
        return Call("receive", {"limit": dice.choice((1, 5, ALL))})


class MailboxMemory(Memory):
    """The messages that were shown last, and the jobs in hand."""

    def __init__(self) -> None:
        self._shown: list[str] = []
        self._jobs: list[dict[str, Any]] = []
        self._settled: dict[str, Any] = {}

    def fill(self, call: Call) -> dict[str, Any] | None:
        """An ack is of a share of what was shown last; done is of a job in hand, or of the last one again."""
        params = dict(call.params)
        if call.method == "ack":
            params["ids"] = self._shown[: max(1, round(params.pop("share") * len(self._shown)))]
            return params if self._shown else None  # what an ack of nothing is answered, no bus has promised
        elif call.method == "done":
            self._settled = self._jobs.pop() if self._jobs else self._settled
            return self._settled or None
        return params

    def heed(self, call: Call, params: dict[str, Any], reply: dict[str, Any]) -> None:
        """Ids and receipts."""
        if call.method == "receive":
            self._shown = [message["id"] for message in reply["messages"]]
        elif call.method == "take" and reply["job"] is not None:
            job = reply["job"]
            self._jobs.append({"queue": QUEUE, "id": job["id"], "receipt": job.get("receipt") or job["id"]})


def read_all(session: Session, events: list[Event]) -> None:
    """Receive, and ack what can be acked, until nothing is left."""
    acks = any(event.op == "ack" for event in events)
    if any(event.op == "take" for event in events):
        _work_off(session)

    def look() -> list[dict[str, Any]]:
        return list(session.call("receive", limit=ALL)["messages"])

    for messages in reading.pages(look, itemgetter("id"), "cursor"):
        if not acks:
            return
        session.call("ack", ids=[message["id"] for message in messages])


def _work_off(session: Session) -> None:
    """Take and finish jobs until none waits."""

    def look() -> list[dict[str, Any]]:
        job = session.call("take", queue=QUEUE, visible_ms=HELD_MS)["job"]
        return [] if job is None else [job]

    for (job,) in reading.pages(look, itemgetter("id"), "jobs"):
        session.call("done", queue=QUEUE, id=job["id"], receipt=job.get("receipt") or job["id"])


SUBJECT = Subject(
    Repertoire(OPERATIONS, prepare, bodies, reads=frozenset({"unacked", "dead"}), peers=PEERS, waits=WAITS),
    Truth(inspect, comparable, promises, problems, pieces=problems),  # many have a file for each message
    roles=(Writer(), Reader(), Writer(), Reader(), Writer(), Reader(), Writer(), Reader()),
    memory=MailboxMemory,
    retried=frozenset({"send"}),
    # A server that several processes share dies with the process that started it.
    expected=frozenset({"BUSY", "NOT_HELD", "MAILBOX_FULL", "UNREACHABLE"}),
    says_full=says_full,
    settle=("receive", {"agent_id": "carol"}),
    id="body",
    shown=shown,
    read_all=read_all,
    epilogue=(
        Epilogue("send", {"agent_id": "alice", "to": "bob", "body": "epilogue"}),
        Epilogue("claim", {"name": "epilogue", "agent_id": "bob", "ttl_ms": HELD_MS}, ("lease",)),
    ),
)
