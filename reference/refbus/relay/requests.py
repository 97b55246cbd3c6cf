"""Requests that only the orchestrator answers: spawn, release, status, continuity (4.1, 4.3, 4.4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from refbus.kernel.msgfile import Message, format, format_copy
from refbus.kernel.transaction import Transaction
from refbus.relay import names, route
from refbus.relay.deliver import Copy
from refbus.relay.failure import Failure
from refbus.relay.ledger import Row
from refbus.relay.spawn import Spawns
from refbus.relay.store import Store


class Answer(NamedTuple):
    """The result of a request: copies for inboxes, and changes that go with its completion."""

    copies: Sequence[Copy] = ()
    effects: Sequence[Callable[[Transaction], None]] = ()


class Requests:
    """One method a kind."""

    def __init__(self, store: Store, spawns: Spawns) -> None:
        self._store, self._spawns = store, spawns

    def handle(self, row: Row, message: Message) -> Answer:
        """Do what is asked. Raises Failure."""
        match message.kind:
            case "status":
                return self._status(row, message)
            case "continuity":
                return self._continuity(row, message)
            case "spawn":
                return Answer(effects=[self._spawns.spawn(row, message)])
            case _:
                return Answer(effects=[self._spawns.release(row, message)])

    def _status(self, row: Row, message: Message) -> Answer:
        """Lines SUBSCRIBE and UNSUBSCRIBE act; all else that an agent says of itself is in the archive."""
        effects: list[Callable[[Transaction], None]] = []
        for line in message.body.split("\n"):
            key, colon, value = line.partition(":")
            if not colon or key not in ("SUBSCRIBE", "UNSUBSCRIBE"):
                continue
            change = route.subscribe if key == "SUBSCRIBE" else route.unsubscribe
            for channel in (item.strip() for item in value.split(",")):
                if not names.is_channel(channel):
                    raise Failure("bad_request", f"no channel: {channel!a:.80}")
                effects.append(partial(change, agent=row.agent, channel=channel))
        return Answer(effects=effects)

    def _continuity(self, row: Row, message: Message) -> Answer:
        action, _, state = message.body.partition("\n")
        key, _, what = action.partition(":")
        if key != "ACTION" or what.strip() not in ("save", "load"):
            raise Failure("bad_request", "ACTION must be save or load")
        if what.strip() == "save":
            return Answer(effects=[lambda tx: _keep(tx, row.agent, state)])
        kept = self._store.db.row("SELECT state FROM continuity WHERE agent_name = ?", (row.agent,))
        answer = Message(row.agent, "" if kept is None else kept[0], "continuity")
        data = format_copy(names.ORCHESTRATOR, row.message_id, format(answer))
        return Answer([Copy(row.agent, names.uuid(row.name), answer.kind, answer.to, data)])


def _keep(tx: Transaction, agent: str, state: str) -> None:
    tx.execute(
        "INSERT OR REPLACE INTO continuity (agent_name, state, saved_at) VALUES (?, ?, ?)", (agent, state, tx.now_ms)
    )
