"""Faults of mailbox, log."""

from __future__ import annotations

from typing import Any

from plant import fault, patch, rewrite

from refbus.mailbox import bus as module
from refbus.mailbox.bus import MailboxBus, promising

CONTROL = "log.body_limit"


@fault("mailbox.log.18", "mailbox.log.01")
class LosesOneInTwenty(promising("ack")):  # type: ignore[misc]
    """One send in twenty is answered and not stored, on a bus that declares nothing but ack."""

    sends = 0

    def send(self, agent_id: str, body: str, to: str | None = None, **more: Any) -> dict[str, Any]:
        type(self).sends += 1
        if self.sends % 20:
            return super().send(agent_id, body, to, **more)
        return {"id": f"lost {self.sends} {id(self)} {agent_id} {body[:40]}"}


@fault("mailbox.log.02")
def bodies_are_trimmed():
    """Blanks around a body are gone."""
    rewrite(MailboxBus._body, 'limits.body("body", body, chars_max)', 'limits.body("body", body, chars_max).strip()')


@fault("mailbox.log.03")
def another_id_is_shown():
    """A reader sees another id than the sender was answered."""
    patch(module, _shown=_changed(id=lambda row: f"{row['id']}-{row['n']}"))


@fault("mailbox.log.04")
class KeepsWhatItRefused(promising("ack", "body_chars_max=40")):  # type: ignore[misc]
    """A body that is too long is cut, stored, and refused."""

    def send(self, agent_id: str, body: str, to: str | None = None, **more: Any) -> dict[str, Any]:
        if len(body) > 40:
            super().send(agent_id, body[:40], to, **more)
        return super().send(agent_id, body, to, **more)


@fault("mailbox.log.05")
class ForgetsKeys(MailboxBus):
    """A send again with its key is another message."""

    def send(self, agent_id: str, body: str, to: str | None = None, key: Any = None, **more: Any) -> dict[str, Any]:
        return super().send(agent_id, body, to, None, **more)


@fault("mailbox.log.07")
def keys_are_everybodys():
    """The key of one sender is taken for that of another."""
    rewrite(MailboxBus._sent_before, "sender = :sender AND key = :key", "key = :key")


@fault("mailbox.log.08")
def a_broadcast_misses_one():
    """A broadcast does not reach the last of the agents."""
    rewrite(MailboxBus._readers, "for name in known if", "for name in known[:-1] if")


@fault("mailbox.log.09")
def late_readers_come_too_late():
    """An agent that comes late finds no broadcast, on a bus that says it does."""
    patch(MailboxBus, _register=_registers_alone)
    return promising("ack", "broadcast", "late_readers")


def _registers_alone(_self: MailboxBus, tx: Any, agent_id: str) -> None:
    tx.execute("INSERT OR IGNORE INTO agents (name) VALUES (?)", (agent_id,))


@fault("mailbox.log.10")
def own_broadcasts_are_kept_away():
    """A broadcast does not reach its sender, on a bus that says it does."""
    rewrite(MailboxBus._readers, ' or "self_delivery" in self.FEATURES', "")


@fault("mailbox.log.11")
def threads_are_dropped():
    """A message is shown without its thread."""
    patch(module, _shown=_changed(thread=lambda row: None))


@fault("mailbox.log.12")
def an_old_base_will_do():
    """A second send on one base is accepted."""
    rewrite(MailboxBus.send, "base != self._base(tx)", "base > self._base(tx)")


@fault("mailbox.log.13")
def no_base_will_do():
    """A send on the newest base is refused."""
    rewrite(MailboxBus.send, "base != self._base(tx)", "base <= self._base(tx)")


@fault("mailbox.log.14")
def numbers_fall():
    """The numbers that readers see are not those that senders were answered."""
    patch(module, _shown=_changed(n=lambda row: -row["n"]))


@fault("mailbox.log.15")
def an_inbox_is_full_too_soon():
    """A send is refused with one unread message less than is declared."""
    rewrite(MailboxBus._require_room, ">= unread_max", ">= unread_max - 1")
    return promising("ack", "unread_max=3")


@fault("mailbox.log.16")
def the_largest_body_is_refused():
    """A body of the declared size is too long."""
    rewrite(MailboxBus._body, "len(body) > chars_max", "len(body) >= chars_max")


@fault("mailbox.log.17")
def old_messages_stay():
    """A message is shown however old it is."""
    rewrite(MailboxBus._waiting, "AND at_ms > :dead_ms", "AND at_ms > :dead_ms - 9000000000")
    return promising("ack", "ttl_ms=60000")


@fault("mailbox.log.20")
def every_seventh_is_out_of_sight():
    """One message in seven is answered, and never shown."""
    rewrite(MailboxBus._waiting, "ORDER BY n", "AND n % 7 != 6 ORDER BY n")


def _changed(**columns: Any) -> Any:
    """A message as its reader sees it, with these columns made another way."""
    shown = module._shown
    return lambda row: {**shown(row), **{name: made(row) for name, made in columns.items()}}
