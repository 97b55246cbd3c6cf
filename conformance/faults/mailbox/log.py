"""Faults of mailbox, log."""

from __future__ import annotations

import re
from typing import Any

from plant import fault, patch, rewrite

from refbus.kernel.db import Database
from refbus.kernel.errors import BusError, DiskFull
from refbus.mailbox import bus as module
from refbus.mailbox.bus import BaseConflict, MailboxBus, MailboxFull, promising

CONTROL = "log.body_limit"


@fault("mailbox.log.18", "mailbox.log.01")
class LosesOneInTwenty(promising("ack", "body_chars_max=9000")):  # type: ignore[misc]
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


@fault("mailbox.log.04", control="log.unread_limit")
class KeepsWhatItRefused(promising("ack", "body_chars_max=40", "unread_max=9")):  # type: ignore[misc]
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


@fault("mailbox.log.06")
def a_key_hides_other_content():
    """A send with a key of before and other content is answered as the first one."""
    rewrite(MailboxBus._sent_before, "if any(", "if False and any(")


@fault("mailbox.log.19", control="log.unread_limit")
def long_bodies_are_cut():
    """A reader is shown the first 4,000 characters."""
    patch(module, _shown=_changed(body=lambda row: row["body"][:4_000]))


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
    return promising("ack", "broadcast", "late_readers", "body_chars_max=9000")


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


@fault("mailbox.log.05", author="trial 32")
def the_base_comes_before_the_key():
    """A send again with its key and its base is refused: its own first time has used the base."""
    rewrite(
        MailboxBus.send,
        "            if (sent := self._sent_before(tx, draft)) is not None:\n                return sent\n",
        "",
        "            readers = self._readers(tx, draft)\n",
        "            if (sent := self._sent_before(tx, draft)) is not None:\n                return sent\n"
        "            readers = self._readers(tx, draft)\n",
    )


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
    rewrite(MailboxBus._require_room, 'get("unread_max")', 'get("unread_max", 10**9) - 1')
    return promising("ack", "unread_max=3", "body_chars_max=1000")


@fault("mailbox.log.16", control="log.unread_limit")
def the_largest_body_is_refused():
    """A body of the declared size is too long."""
    rewrite(MailboxBus._body, "len(body) > chars_max", "len(body) >= chars_max")


@fault("mailbox.log.17")
def old_messages_stay():
    """A message is shown however old it is."""
    rewrite(MailboxBus._waiting, "AND at_ms > :dead_ms", "AND at_ms > :dead_ms - 9000000000")
    return promising("ack", "ttl_ms=60000", "body_chars_max=1000")


@fault("mailbox.log.26")
def a_line_of_dashes_ends_a_message():
    """A reader is shown a body up to a line of dashes."""
    patch(module, _shown=_changed(body=lambda row: row["body"].split("\n---\n")[0]))


@fault("mailbox.log.26")
class ShowsOneText(MailboxBus):
    """A reader is shown a text, and tells messages apart by headings that a body may have, too."""

    def receive(self, *args: Any, **more: Any) -> dict[str, Any]:
        reply = super().receive(*args, **more)
        known = {shown["id"]: shown for shown in reply["messages"]}
        text = "".join(f"=> {id_} of {shown['from_agent']}\n{shown['body']}\n" for id_, shown in known.items())
        parts = re.findall(r"(?ms)^=> (\S+) of (\S+)\n(.*?)\n(?==> |\Z)", text)
        shown_as = [{"id": id_, "from_agent": sender, "body": body} for id_, sender, body in parts]
        return {**reply, "messages": [{**known.get(shown["id"], {}), **shown} for shown in shown_as], "text": text}


@fault("mailbox.log.20")
def every_seventh_is_out_of_sight():
    """One message in seven is answered, and never shown."""
    rewrite(MailboxBus._waiting, "ORDER BY n", "AND n % 7 != 6 ORDER BY n")


@fault("mailbox.log.21", chaos={"points": True, "only": "ack"})
class AcksOneByOne(MailboxBus):
    """An ack of several messages is a transaction for each."""

    def ack(self, agent_id: str, ids: Any) -> dict[str, Any]:
        for id_ in ids:
            super().ack(agent_id, [id_])
        return {}


@fault("mailbox.log.22", chaos={"kills": 16})
class StoresLater(MailboxBus):
    """A send is answered at once, and stored with the next call of its process."""

    late: tuple[Any, ...] | None = None

    def send(self, agent_id: str, body: str, to: str | None = None, **more: Any) -> dict[str, Any]:
        self._catch_up()
        sent = super().send(agent_id, body, to, **more)
        with self.store.transaction() as tx:
            tx.execute("DELETE FROM deliveries WHERE n = ?", (sent["n"],))
        self.late = (to, sent["n"])
        return sent

    def receive(self, *args: Any, **more: Any) -> dict[str, Any]:
        self._catch_up()
        return super().receive(*args, **more)

    def close(self) -> None:
        self._catch_up()
        super().close()

    def _catch_up(self) -> None:
        late, self.late = self.late, None
        if late is not None:
            with self.store.transaction() as tx:
                tx.execute("INSERT OR IGNORE INTO deliveries (reader, n) VALUES (?, ?)", late)


@fault("mailbox.log.21", chaos={"points": True, "only": "send to all"})
class BroadcastsInTwoSteps(MailboxBus):
    """A broadcast is stored for one reader, and for the others in a transaction of their own."""

    def _readers(self, tx: Any, draft: dict[str, Any]) -> list[str]:
        readers = super()._readers(tx, draft)
        return readers if draft["recipient"] is not None else readers[:1]

    def send(self, agent_id: str, body: str, to: str | None = None, **more: Any) -> dict[str, Any]:
        sent = super().send(agent_id, body, to, **more)
        if to is None:
            with self.store.transaction() as tx:
                for name in super()._readers(tx, {"recipient": None, "sender": agent_id}):
                    tx.execute("INSERT OR IGNORE INTO deliveries (reader, n) VALUES (?, ?)", (name, sent["n"]))
        return sent


@fault("mailbox.log.21", chaos={"points": True, "only": "send"})
class WritesTheInboxAnew(promising("consumes", "key", "body_chars_max=90000")):  # type: ignore[misc]
    """A send takes out what waits, and puts it back behind the new message. To look at such a bus is to take, too."""

    def send(self, agent_id: str, body: str, to: str | None = None, **more: Any) -> dict[str, Any]:
        with self.store.transaction() as tx:
            waiting = [(to, row["n"]) for row in self._waiting(tx, to)]
            tx.executemany("DELETE FROM deliveries WHERE reader = ? AND n = ?", waiting)
        try:
            return super().send(agent_id, body, to, **more)
        finally:
            with self.store.transaction() as tx:
                tx.executemany("INSERT INTO deliveries (reader, n) VALUES (?, ?)", waiting)


@fault("mailbox.log.23", chaos={"disk_full": True, "only": "send", "levels": (0, 1, 2, 3), "errors": ()})
class HasNoWordForAFullDisk(MailboxBus):
    """A send on a full disk is refused as if it were a fault of the program."""

    def send(self, *args: Any, **more: Any) -> dict[str, Any]:
        try:
            return super().send(*args, **more)
        except DiskFull as error:
            raise BusError(str(error)) from error


@fault("mailbox.log.23", chaos={"disk_full": True, "levels": (0, 1), "wants": (), "errors": ()})
class SaysOkOfAFullDisk(promising("ack", "key", "body_chars_max=90000")):  # type: ignore[misc]
    """A send that found no space is answered as done, and the same send again is stored under the id of the answer."""

    def send(self, agent_id: str, body: str, to: str | None = None, key: Any = None, **more: Any) -> dict[str, Any]:
        id_ = f"of {agent_id} {key}"
        try:
            sent = super().send(agent_id, body, to, key, **more)
        except DiskFull:
            return {"id": id_}
        with self.store.transaction() as tx:
            tx.execute("UPDATE messages SET id = ? WHERE id = ? AND key NOT NULL", (id_, sent["id"]))
        return {"id": id_ if key else sent["id"]}


@fault("mailbox.log.24", chaos={"holds": True, "only": "ack", "against": "an ack of another message"})
class AcksInTwoSteps(MailboxBus):
    """An ack reads what is acked, and writes all of it anew: one that came between is undone."""

    def ack(self, agent_id: str, ids: Any) -> dict[str, Any]:
        with self.store.snapshot() as tx:
            acked = tx.rows("SELECT n FROM deliveries WHERE reader = ? AND acked", (agent_id,))
            own = [n for id_ in ids for (n,) in tx.rows("SELECT n FROM messages WHERE id = ?", (id_,))]
        with self.store.transaction() as tx:
            tx.execute("UPDATE deliveries SET acked = 0 WHERE reader = ?", (agent_id,))
            done = [(agent_id, n) for (n,) in acked] + [(agent_id, n) for n in own]
            tx.executemany("UPDATE deliveries SET acked = 1 WHERE reader = ? AND n = ?", done)
        return {}


@fault("mailbox.log.24", chaos={"holds": True, "only": "send on a base", "against": "a send on the same base"})
class LooksAtTheBaseFirst(MailboxBus):
    """A send looks at its base in one transaction, and is stored in another."""

    def send(self, *args: Any, base: int | None = None, **more: Any) -> dict[str, Any]:
        if base is not None:
            with self.store.snapshot() as tx:
                if base != self._base(tx):
                    raise BaseConflict("something was sent since")
        return super().send(*args, **more)


@fault("mailbox.log.25", chaos={"power": 60})
def full_is_normal():
    """synchronous = FULL changes nothing, and no commit is synced."""
    import refbus.kernel.store

    class Unsynced(Database):
        """Every connection is told so."""

        def __init__(self, path: Any, *, synchronous: str = "NORMAL", pragmas: Any = ()) -> None:
            super().__init__(path, synchronous="NORMAL", pragmas=pragmas)

    patch(refbus.kernel.store, Database=Unsynced)


def _changed(**columns: Any) -> Any:
    """A message as its reader sees it, with these columns made another way."""
    shown = module._shown
    return lambda row: {**shown(row), **{name: made(row) for name, made in columns.items()}}


@fault("mailbox.log.05", author="public report, openclaw #27939")
class RemembersKeysInItsMemory(MailboxBus):
    """Sends again are known by the process that took the first alone: after a restart there are two."""

    def _sent_before(self, tx: Any, draft: dict[str, Any]) -> dict[str, Any] | None:
        known, key = self.__dict__.setdefault("_keys", set()), (draft["sender"], draft["key"])
        if draft["key"] is None or key in known:
            return super()._sent_before(tx, draft)
        known.add(key)
        return None


@fault("mailbox.log.08", item="log.unread_limit", author="public report, qwen-code #10072")
class ABroadcastPassesFullInboxesBy(MailboxBus):
    """A broadcast is answered as done though an inbox was full: that one gets nothing."""

    def _readers(self, tx: Any, draft: dict[str, Any]) -> list[str]:
        readers = super()._readers(tx, draft)
        return [reader for reader in readers if draft["recipient"] is not None or self._has_room(tx, reader)]

    def _has_room(self, tx: Any, reader: str) -> bool:
        try:
            self._require_room(tx, reader)
        except MailboxFull:
            return False
        return True
