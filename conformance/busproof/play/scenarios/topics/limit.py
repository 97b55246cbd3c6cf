"""limit: how much one call may carry, and that a refused one changes nothing."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from busproof.bus.base import DoorError, Refused
from busproof.bus.session import Session
from busproof.play.scenarios.common import at_once, bounded, definite, said
from busproof.play.scenarios.topics.common import bodies, join, lane, scenario, sync, topic, turned_away
from busproof.play.suite import Ctx

MORE_FILES, ROUNDS = 24, 36  # so many may a server have open beside those that it has; in each round it waits


def sending(session: Session, topic_id: str, *items: dict[str, Any]) -> Refused | None:
    """The bus's answer to an outbox of such items; each has a body, unless it says otherwise."""
    outbox = [{"content_markdown": "x", **item} for item in items]
    return session.refusal("sync", topic_id=topic_id, outbox=outbox, wait_seconds=0)


def cap(ctx: Ctx, row: str, what: str, taken: Refused | None, refused: Refused | None) -> None:
    """The highest number is taken, and one more is refused."""
    good = taken is None and definite(refused, "INVALID_ARGUMENT")
    ctx.expect(row, good, f"{what}: the most: {said(taken)}; one more: {said(refused)}")


@scenario("limit.agent_name")
def agent_name(ctx: Ctx) -> None:
    """A name that people can say."""
    a = ctx.agent("a")
    topic_id = topic(a)
    more, most = (a.refusal("topic_join", topic_id=topic_id, agent_name="n" * chars) for chars in (65, 64))
    cap(ctx, "topics.limit.05", "characters of agent_name", most, more)


@scenario("limit.bad_numbers")
def bad_numbers(ctx: Ctx) -> None:
    """Numbers that mean nothing are refused, and the session goes on as if nobody had asked."""
    topic_id, (a, b) = lane(ctx, "a", "b")
    sync(b, topic_id, "hello")
    call = {"topic_id": topic_id, "wait_seconds": 0, "auto_advance": False, "outbox": [{"content_markdown": "x"}]}
    answers = {
        f"{name}={value}": a.refusal("sync", **{**call, name: value})
        for name, value in (("max_items", 0), ("max_items", -1), ("wait_seconds", -1))
    }
    answered = {what: said(answer) for what, answer in answers.items()}
    turned_away(ctx, "topics.limit.07", f"{answered}", *answers.values())
    a.refusal("topic_join", topic_id=topic_id, name="both", agent_name="other")
    a.refusal("cursor_reset", topic_id=topic_id, last_seq=1_000_000)
    try:
        reply = sync(a, topic_id, "after all")
    except Refused as refusal:
        ctx.expect("topics.limit.08", False, f"after refused calls, a good sync: {said(refusal)}")
        return
    accepted = sum(answer is None for answer in answers.values())  # 07 is about those
    seen = (bodies(reply), [record["message"]["seq"] for record in reply["sent"]], bodies(sync(b, topic_id)))
    why = f"after refused calls, a received, its message's number, b received: {seen}; accepted were {accepted}"
    wanted = (["hello"], [2 + accepted], ["x"] * accepted + ["after all"])
    ctx.expect("topics.limit.08", seen == wanted, why)
    if not accepted:
        many_rounds(ctx, topic_id, a, b)


def send_late(session: Session, topic_id: str, body: str) -> dict[str, Any]:
    """Send to one that waits by now."""
    time.sleep(0.02)
    return sync(session, topic_id, body)


def many_rounds(ctx: Ctx, topic_id: str, a: Session, b: Session) -> None:
    """A server that is refused, and waits, more often than it may have files open, works on."""
    with bounded(a, MORE_FILES):
        for number in range(ROUNDS):
            a.refusal("topic_join", topic_id=topic_id, agent_name=b.agent)
            a.refusal("sync", topic_id=topic_id, wait_seconds=0, auto_advance=False, ack_through=1_000_000)
            came, _ = at_once(partial(sync, a, topic_id, wait_seconds=5), partial(send_late, b, topic_id, str(number)))
            if isinstance(came, Refused) and came.code == "DB_BUSY":
                return  # as a file that two write to may be, for a bus that does not wait (log.70)
            received = str(came) if isinstance(came, DoorError) else bodies(came) or bodies(sync(a, topic_id))
            if received != [str(number)]:
                ctx.expect(
                    "topics.limit.08", False, f"after {number} rounds of refused calls and waits, a wait: {received}"
                )
                return
        try:
            elsewhere = topic(a)
            join(a, elsewhere)
            sync(a, elsewhere, "after all")
        except DoorError as error:
            ctx.expect("topics.limit.08", False, f"after {ROUNDS} rounds, a new topic: {error}")
