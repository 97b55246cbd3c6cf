"""Faults of mailbox, cursor."""

from __future__ import annotations

import time
from typing import Any

from plant import fault, patch, rewrite
from waits import sleeping_on_what_came

from refbus.kernel.store import Store
from refbus.mailbox import bus as module
from refbus.mailbox.bus import MailboxBus, promising

CONTROL = "log.body_limit"


@fault("mailbox.cursor.01")
def the_newest_first():
    """Messages come newest first, on a bus without numbers."""
    rewrite(MailboxBus._waiting, "ORDER BY n", "ORDER BY n DESC")
    return promising("ack", "body_chars_max=9000")


@fault("mailbox.cursor.01")
def sorts_by_time():
    """Messages of one millisecond come in any order."""
    rewrite(MailboxBus._waiting, "ORDER BY n", "ORDER BY at_ms, id")


@fault("mailbox.cursor.02")
def names_that_begin_alike():
    """An agent is shown what was sent to agents whose names begin with its own."""
    rewrite(MailboxBus._waiting, "reader = :reader", "reader LIKE :reader || '%'")


@fault("mailbox.cursor.03")
def one_sender_after_the_other():
    """Messages come sorted by their senders."""
    rewrite(MailboxBus._waiting, "ORDER BY n", "ORDER BY sender, n")


@fault("mailbox.cursor.03")
def one_sender_after_the_other_in_a_priority():
    """Messages of one priority come sorted by their senders."""
    rewrite(
        MailboxBus._waiting, 'key=lambda row: -row["priority"]', 'key=lambda row: (-row["priority"], row["sender"])'
    )
    return promising("priority", "arrival", "ack", "body_chars_max=9000")


@fault("mailbox.cursor.04")
class ForgetsAcks(MailboxBus):
    """An ack is answered and changes nothing."""

    def ack(self, agent_id: str, ids: Any) -> dict[str, Any]:
        return {}


@fault("mailbox.cursor.04", item="history")
class UndoesAcks(promising("ack", "body_chars_max=9000")):  # type: ignore[misc]
    """An ack that meets another one of its agent is undone: both read, and the later writes what it read."""

    def ack(self, agent_id: str, ids: Any) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            acked = tx.rows("SELECT reader, n FROM deliveries WHERE acked")
        time.sleep(0.02)
        super().ack(agent_id, ids)
        with self.store.transaction() as tx:
            tx.execute("UPDATE deliveries SET acked = 0 WHERE reader != ?", (agent_id,))
            tx.executemany("UPDATE deliveries SET acked = 1 WHERE reader = ? AND n = ?", acked)
        return {}


@fault("mailbox.cursor.05")
def shown_once_and_gone():
    """What was shown does not come again, though it was not acked."""
    rewrite(MailboxBus._waiting, '"consumes" in self.FEATURES', "True")


@fault("mailbox.cursor.06")
def an_ack_for_all():
    """An ack of another agent's message is done for that agent."""
    rewrite(MailboxBus.ack, "WHERE reader = :reader AND n", "WHERE n", "WHERE reader = :reader AND id", "WHERE id")


@fault("mailbox.cursor.07")
def shown_twice():
    """What was shown comes again, on a bus that says that reading takes."""
    rewrite(MailboxBus._waiting, '"consumes" in self.FEATURES', "False")
    return promising("consumes", "body_chars_max=9000")


@fault("mailbox.cursor.08")
def what_was_shown_is_acked():
    """`unacked` lacks what receive has shown."""
    rewrite(MailboxBus.unacked, "AND NOT acked", "AND NOT acked AND NOT shown")


@fault("mailbox.cursor.09")
def an_ack_of_one_alone():
    """An ack leaves the earlier messages, on a bus that says it acks them."""
    rewrite(MailboxBus.ack, '"<="', '"="')
    return promising("ack", "cumulative_ack", "body_chars_max=9000")


@fault("mailbox.cursor.10")
def a_page_goes_too_far():
    """The position after a page lies behind one message more."""
    rewrite(MailboxBus._received, "position = max([after,", "position = bool(rows) + max([after,")


@fault("mailbox.cursor.11")
def letters_from_oneself():
    """A reader is told its own name as the sender's."""
    rewrite(MailboxBus._received, "_shown(row) for", '{**_shown(row), "from_agent": agent_id} for')


@fault("mailbox.cursor.12")
def the_lowest_priority_first():
    """A lower priority is shown first."""
    rewrite(MailboxBus._waiting, 'key=lambda row: -row["priority"]', 'key=lambda row: row["priority"]')
    return promising("priority", "ack", "body_chars_max=9000")


@fault("mailbox.cursor.13", control="history")
def sleeps_through():
    """A receive that waits looks once, and sleeps."""
    module.time = time  # type: ignore[attr-defined]
    rewrite(
        MailboxBus.receive,
        "self.store.wait_for(look, wait_ms / 1000) if wait_ms else look()",
        "look() or time.sleep(wait_ms / 1000) or answer.update(messages=[])",
    )


@fault("mailbox.cursor.16", chaos={"waits": True})
def sleeps_on_what_came_while_it_looked():
    """A receive looks, and only then asks for the version whose change will wake it."""
    patch(Store, wait_for=sleeping_on_what_came)


@fault("mailbox.cursor.16", chaos={"waits": True})
class WakesByWholeSeconds(MailboxBus):
    """A receive looks again when its inbox is of another second: one more message of that second wakes nobody."""

    def send(self, agent_id: str, body: str, to: str | None = None, **more: Any) -> dict[str, Any]:
        sent = super().send(agent_id, body, to, **more)
        self._inbox(f"{to}").touch()
        return sent

    def receive(self, agent_id: str, limit: int = 100, after: Any = None, wait_ms: int = 0) -> dict[str, Any]:
        until, seen = time.monotonic() + wait_ms / 1000, -1
        while True:
            inbox = self._inbox(agent_id)
            written = int(inbox.stat().st_mtime) if inbox.exists() else 0
            if written != seen:
                seen, answer = written, super().receive(agent_id, limit, after)
            if answer["messages"] or time.monotonic() >= until:
                return answer
            time.sleep(0.005)

    def _inbox(self, agent: str) -> Any:
        return self.store.path.with_name(f"{agent}.inbox")


@fault("mailbox.cursor.14")
def never_waits():
    """A receive answers at once, whatever it was asked to wait."""
    rewrite(MailboxBus.receive, "self.store.wait_for(look, wait_ms / 1000) if wait_ms else look()", "look()")


@fault("mailbox.cursor.15")
def pages_of_any_size():
    """An answer has more messages than is declared."""
    rewrite(MailboxBus._received, 'self.LIMITS.get("page_max", limit)', "limit")
    return promising("ack", "page_max=2", "body_chars_max=1000")


@fault("mailbox.log.01", author="public report, mcp_agent_mail_rust #229")
class MarksMoreThanItShows(promising("consumes", "body_chars_max=9000")):  # type: ignore[misc]
    """A receive marks all that waits as read, and answers with as much as its limit."""

    def _received(self, agent_id: str, limit: int, after: int) -> dict[str, Any]:
        answer = super()._received(agent_id, limit, after)
        self.store.db.write("UPDATE deliveries SET shown = 1 WHERE reader = ?", (agent_id,))
        return answer


@fault("mailbox.cursor.04", author="public report, mission-control #4")
def broadcasts_stay_unread():
    """An ack marks what was sent to its agent alone: a broadcast comes again and again."""
    rewrite(MailboxBus.ack, "JOIN messages USING (n) WHERE", "JOIN messages USING (n) WHERE recipient IS NOT NULL AND")


@fault("mailbox.cursor.08", author="public report, mcp_agent_mail_rust #269")
class CountsFromAnotherCopy(MailboxBus):
    """`unacked` answers from a copy that was taken at the agent's last receive."""

    def receive(self, agent_id: str, *args: Any, **how: Any) -> dict[str, Any]:
        reply = super().receive(agent_id, *args, **how)
        self.__dict__.setdefault("_copies", {})[agent_id] = super().unacked(agent_id)
        return reply

    def unacked(self, agent_id: str) -> dict[str, Any]:
        copies = self.__dict__.get("_copies", {})
        return copies[agent_id] if agent_id in copies else super().unacked(agent_id)


@fault("mailbox.cursor.19", author="public report, agentscope #2300")
class ReadsThenDeletes(promising("consumes", "body_chars_max=9000")):  # type: ignore[misc]
    """A receive reads what waits, and takes it out a moment later: two processes of an agent have it both."""

    def _received(self, agent_id: str, limit: int, after: int) -> dict[str, Any]:
        with self.store.transaction() as tx:
            self._register(tx, agent_id)
            rows = self._waiting(tx, agent_id, after)[:limit]
            position, base = max([after, *(row["n"] for row in rows)]), self._base(tx)
        if rows:
            time.sleep(0.005)
        with self.store.transaction() as tx:
            shown = [(agent_id, row["n"]) for row in rows]
            tx.executemany("UPDATE deliveries SET shown = 1 WHERE reader = ? AND n = ?", shown)
        return {"messages": [module._shown(row) for row in rows], "position": position, "base": base}
