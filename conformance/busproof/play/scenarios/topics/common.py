"""Small helpers for the scripts of several nouns of `topics`.

A topic is a lane of its own, and a server takes a second to start: scripts share one store, and each makes its own
topics in it. A script that looks at the whole store, or spoils it, says `alone=True`.
"""

from __future__ import annotations

import itertools
import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from busproof.bus.base import DoorError, Lost, Refused
from busproof.bus.mcp import McpDoor
from busproof.bus.session import Session
from busproof.contract.topics import DB_NAME
from busproof.oracle.models.spec import NO_CODE
from busproof.play.scenarios.common import Row, at_once, definite, joined, raced
from busproof.play.suite import Ctx
from busproof.play.suite import scenario as any_scenario

_NUMBERS = itertools.count(1)


def scenario(
    name: str, *, alone: bool = False, needs: tuple[str, ...] = (), is_long: bool = False
) -> Callable[[Callable[[Ctx], None]], Callable[[Ctx], None]]:
    """Register a script of this system."""
    return any_scenario(name, system="topics", needs=needs, alone=alone, is_long=is_long)


def unique(word: str = "lane") -> str:
    """A name, or a word to search for, that no other script uses. Letters and digits only."""
    return f"{word}{next(_NUMBERS)}x{uuid.uuid4().hex[:8]}"


_TOOL_OF = {"presence": "topic_presence", "search": "messages_search"}  # nouns that are a tool


def undeclared(ctx: Ctx) -> set[str]:
    """The tools that a server need not have: those of a noun that it does not declare."""
    return {tool for noun, tool in _TOOL_OF.items() if not ctx.has(noun)}


def topic(session: Session, **params: Any) -> str:
    """A new topic; returns its id."""
    return str(session.call("topic_create", **{"name": unique(), "mode": "new", **params})["topic_id"])


def join(session: Session, topic_id: str, **params: Any) -> Row:
    """Join under the session's own name."""
    return session.call("topic_join", **{"agent_name": session.agent, "topic_id": topic_id, **params})


def lane(ctx: Ctx, *names: str) -> tuple[str, list[Session]]:
    """A new topic and a process for each name, joined to it. The first process is always the bus that is judged."""
    sessions = [ctx.agent(name) for name in names]
    topic_id = topic(sessions[0])
    for session in sessions:
        join(session, topic_id)
    return topic_id, sessions


def sync(session: Session, topic_id: str, *bodies: str, **params: Any) -> Row:
    """Send bodies and receive, without a wait unless one is asked for."""
    if bodies:
        params["outbox"] = [*params.get("outbox", []), *({"content_markdown": body} for body in bodies)]
    return session.call("sync", **{"topic_id": topic_id, "wait_seconds": 0, **params})


def bodies(reply: Row) -> list[str]:
    """The bodies of the received messages, in order."""
    return [message["content_markdown"] for message in reply["received"]]


def seqs(reply: Row) -> list[int]:
    """The numbers of the received messages, in order."""
    return [message["seq"] for message in reply["received"]]


def warned(reply: Row) -> list[str]:
    """The codes of a reply's warnings."""
    return [str(warning.get("code")) for warning in reply.get("warnings") or []]


def turned_away(ctx: Ctx, row: str, why: str, *answers: Refused | None) -> None:
    """All were INVALID_ARGUMENT. A refusal that has no code is route.19's alone, whatever was wrong with the call."""
    coded = [answer for answer in answers if answer is None or answer.code != NO_CODE]
    good = all(definite(answer, "INVALID_ARGUMENT") for answer in coded)
    if len(coded) < len(answers):
        ctx.expect("topics.route.19", False, why)
    if len(coded) == len(answers) or not good:
        ctx.expect(row, good, why)


def all_answered(ctx: Ctx, *calls: Callable[[], Row]) -> list[Row | DoorError]:
    """The results of calls at once. A call that is told at once of a busy file, which is log.70's, is repeated."""
    results = raced(ctx, *calls)
    busy = [number for number, result in enumerate(results) if isinstance(result, Refused) and result.code == "DB_BUSY"]
    if busy:
        why = f"of {len(calls)} calls at once {len(busy)} were told DB_BUSY, though each held the lock for a moment"
        ctx.expect("topics.log.70", False, why)
    for number in busy:
        results[number] = at_once(calls[number])[0]
    return results


def is_recent(ctx: Ctx, value: object) -> bool:
    """Is it a time of the last hour in unix seconds? Milliseconds, or another epoch, would be off by far more."""
    return isinstance(value, int | float) and abs(value - ctx.now_s) < 3600


FIRST_OF_A_LONG_LIFE = (2**31 - 1, 2**32 - 1, 2**53 - 3)  # numbers that some languages hold are over in between


def live_long(ctx: Ctx, topic_id: str, first: int) -> None:
    """The topic has had as many messages as another program says: the next one gets this number."""
    with database(ctx) as db:
        db.execute("UPDATE topic_seq SET next_seq = ? WHERE topic_id = ?", (first, topic_id))


def server(session: Session) -> McpDoor:
    """The session's MCP client, for all that is not a tool: the text of the last answer, a cancel, a disconnect."""
    if not isinstance(session.door, McpDoor):
        raise Lost("this session is not an MCP server")
    return session.door


@contextmanager
def database(ctx: Ctx) -> Iterator[sqlite3.Connection]:
    """The agents' database, joined as another program may."""
    with joined(ctx.store / DB_NAME) as connection:
        yield connection
