"""Topics: the right to a name, the storing and the number of a send, the progress of a reader. Pure.

A name is one agent's for the life of the topic, and one session's at a time:

    free ──join──► reserved ──join with its token──► reserved, by another session (fence + 1)
                       │
                       └──join without it──► AGENT_NAME_IN_USE

Every claim of a name raises its fence. A session whose claim is no longer the latest has been taken over, and may not
sync or move the cursor any more (B10).

A cursor stands after the last message that its reader has read. Messages of the reader itself, which it does not ask
for, are passed as soon as nothing unread lies before them (B8). `cursor.advance` is the rule of ack_through (B5).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum
from typing import NamedTuple


class Claim(NamedTuple):
    """One claim of a name. A server without fences moves claimed_at alone, so that it is compared as well."""

    reclaim_token: str
    fence: int
    claimed_at: float  # Unix seconds


class Join(Enum):
    """The outcome of a join."""

    RESERVE = "the name is free"
    KEEP = "the session has the name"
    RECLAIM = "the token is the name's own"
    REFUSE = "the name is somebody else's"


class Send(Enum):
    """The outcome of one item of an outbox."""

    STORE = "it is new"
    DUPLICATE = "it is stored already"
    MISMATCH = "its key belongs to other content"
    REFUSE = "the topic is closed"


def join(latest: Claim | None, own: Claim | None, token: str | None) -> Join:
    """The outcome of a join with this token under a name whose latest claim is known; `own` is the session's."""
    if latest is None:
        return Join.RESERVE
    if own == latest and token in (None, latest.reclaim_token):
        return Join.KEEP
    return Join.RECLAIM if token == latest.reclaim_token else Join.REFUSE


def may_act(own: Claim, latest: Claim | None) -> bool:
    """Does the session still hold its name? (B10)"""
    return own == latest


def send(is_same: bool | None, is_open: bool) -> Send:
    """`is_same`: does the stored message with the item's key have its content? None: there is none (B6, B7)."""
    if is_same is None:
        return Send.STORE if is_open else Send.REFUSE
    return Send.DUPLICATE if is_same else Send.MISMATCH


def next_seq(counter: int | None, newest: int) -> int:
    """The number of the next message. A writer that forgot the counter must not make sends fail for ever."""
    return max(counter or 1, newest + 1)


def passed(position: int, unread: Sequence[int], max_items: int, newest: int) -> int:
    """The cursor of a reader that takes the first max_items unread ones: nothing before it is unread (B4, B8)."""
    return unread[max_items] - 1 if len(unread) > max_items else max(position, newest)
