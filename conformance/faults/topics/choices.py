"""Choices of topics where its seed is silent: nobody may blame them."""

import secrets
import uuid
from typing import Any

from plant import fault, patch

from refbus.kernel.errors import AgentNotJoined, InvalidArgument
from refbus.kernel.rules import limit
from refbus.topics import cursor, lease, log, route


@fault()
def a_join_is_a_claim():
    """An agent that joins again under the name that it holds has claimed it anew: last_claimed_at moves."""
    join = lease.rules.join

    def claimed(*args: object) -> lease.Join:
        decision = join(*args)
        return lease.Join.REFUSE if decision is lease.Join.REFUSE else lease.Join.RECLAIM

    patch(lease.rules, join=claimed)


@fault()
def a_wait_taken_over_is_told_nothing():
    """A session whose name another one takes over while it waits is told, at the end of its wait, that nothing came."""
    receive = cursor.SyncCall.receive

    def to_its_end(call: cursor.SyncCall) -> None:
        try:
            receive(call)
        except AgentNotJoined:
            return

    patch(cursor.SyncCall, receive=to_its_end)


@fault()
def ids_are_whole_uuids():
    """Ids of topics and messages are UUIDs of 36 characters, reclaim tokens 64 digits."""
    for module in (route, log):
        patch(module, new_id=lambda: str(uuid.uuid4()))
    patch(log, ids_of_time=lambda now_s, count: [str(uuid.uuid4()) for _ in range(count)])
    token_hex = secrets.token_hex
    patch(secrets, token_hex=lambda count=32: token_hex(32 if count == 16 else count))


@fault()
def keeps_blanks():
    """Blanks around a name, a type and a client_message_id are kept (decision 0015)."""

    def kept(what: str, value: object, chars_max: int = limit.TEXT_CHARS_MAX) -> str:
        text = limit.text(what, value, chars_max)
        limit.text(what, text.strip())
        return text

    patch(limit, stripped=kept)


@fault()
def long_queries_and_reasons():
    """A query and a reason may be as long as they like: no sentence bounds them (docs/spec/topics.md, Limits)."""
    body = limit.body

    def unbounded(what: str, value: object, chars_max: int) -> str:
        return body(what, value, 10**6 if what in ("query", "reason") else chars_max)

    patch(limit, body=unbounded)


@fault()
def outboxes_are_lists():
    """An outbox is a list, as the seed's table says; one object or a text are refused (decision 0015)."""
    drafts = cursor.drafts

    def of_a_list(outbox: Any) -> list[Any]:
        if type(outbox) not in (list, type(None)):
            raise InvalidArgument("outbox must be a list")
        return drafts(outbox)

    patch(cursor, drafts=of_a_list)
