"""Faults of topics, log."""

import asyncio
import itertools
import os
import sqlite3
import threading
import time
import zlib
from typing import Any

from plant import fault, patch, reword, wrap

from refbus.kernel import db, jsontext, schema
from refbus.kernel import store as kernel
from refbus.kernel.db import Database
from refbus.kernel.errors import BusError, DbBusy, DbSchemaMismatch
from refbus.kernel.rules import retry
from refbus.kernel.rules import sync as rules
from refbus.kernel.schema import statements
from refbus.kernel.sight import TICK_NS, Identity, Sight, identity
from refbus.kernel.transaction import Transaction
from refbus.topics import bus, cursor, log, message, store
from refbus.topics.bus import TopicsBus
from refbus.topics.cursor import SyncCall
from refbus.topics.mcp import protocol, server, text, tools
from refbus.topics.mcp.protocol import HANDSHAKE_VERSIONS
from refbus.topics.mcp.tools import TOOLS
from refbus.topics.store import SCHEMA, Store

CONTROL = "log.exchange"


@fault("topics.log.39", item="corpus:all_that_one_sync_takes")
def a_clock_for_each_message():
    """Every message of an outbox has a time of its own."""
    append = log.append

    def one_by_one(tx: Any, topic_id: str, sender: str, items: list[Any], at: log.Lane) -> log.Appended:
        sent, warnings = [], []
        for item in items:
            its_own = Transaction(tx.connection, time.time_ns() // 1_000)
            records, more, next_seq = append(its_own, topic_id, sender, [item], at)
            at = at._replace(next_seq=next_seq)
            sent, warnings = sent + records, warnings + more
        return log.Appended(sent, warnings, at.next_seq)

    patch(log, append=one_by_one)


@fault("topics.log.11", control="log.ping")
class AFileOfItsOwn(TopicsBus):
    """Every process has a file of its own."""

    def __init__(self, store: Any, **options: Any) -> None:
        super().__init__(f"{store}-{os.getpid()}", **options)


@fault("topics.log.63")
def a_mismatch_is_not_told():
    """Other content under a known client_message_id is dropped in silence."""
    patch(message.Draft, says_the_same=lambda *_: True)


@fault("topics.log.19", "topics.log.21", "topics.log.22")
def a_missing_version_is_ours():
    """A file without a schema version is taken for one of ours."""
    version_of = schema.version_of
    schema.version_of = store.version_of = lambda tx: version_of(tx) or str(store.SCHEMA_VERSION)


@fault("topics.log.01", "topics.log.02")
def a_tool_is_missing():
    """There is no cursor_reset."""
    del TOOLS["cursor_reset"]


@fault("topics.log.90")
class AnOutboxComesInParts(TopicsBus):
    """Each message of an outbox is stored for itself: a reader sees the first ones while the last are still to come."""

    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **how: Any) -> Any:
        for item in (outbox or [])[:-1]:
            super().begin_sync(topic_id, [item], *args, **how)
        return super().begin_sync(topic_id, (outbox or [])[-1:], *args, **how)


@fault("topics.log.73", chaos={"points": True, "only": "cursor_reset"})
class AnswersBeforeCommit(TopicsBus):
    """Cursor_reset is answered, then committed. A kill between the two leaves the cursor where it was."""

    # Keeps each reset until the next call.
    _waiting: str | None = None

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        self._waiting = topic_id
        cursor = {"last_seq": last_seq, "updated_at": self.store.clock.now_us() / 1_000_000}
        return {"topic_id": topic_id, "agent_name": self.lease.identity(topic_id).agent_name, "cursor": cursor}

    def topic_list(self, status: str = "open") -> dict[str, Any]:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().cursor_reset(waiting)
        return super().topic_list(status)


@fault("topics.log.52", item="corpus:replies_across_topics")
def any_reply_to():
    """A reply may be to anything."""
    patch(log, refuse_strange_reply=lambda *_: None)


@fault("topics.log.86", dies_of="INTERNAL: a fault")
def any_seq_is_a_number():
    """A seq that another program wrote is taken for a whole number."""
    for module, name in ((cursor, "_STANDING"), (cursor, "_NEWS"), (log, "_UNREAD")):
        setattr(module, name, getattr(module, name).replace(" AND typeof(seq) = 'integer'", ""))


@fault("topics.log.19", "topics.log.20", "topics.log.21", "topics.log.22")
def any_version_is_ours():
    """The schema version is written and never read."""
    schema.version_of = store.version_of = lambda _tx: str(store.SCHEMA_VERSION)


@fault("topics.log.81")
def believes_a_file_in_its_place():
    """A removed database is noticed, one in its place is not: a server that has the old one open goes on with it."""

    def is_any_file_there(self: Sight) -> bool:
        return None not in self._found()

    patch(Sight, is_still_true=is_any_file_there)


@fault("topics.log.51", "topics.log.53", "topics.log.54", "topics.log.55")
def bodies_alone():
    """Only the body of a message is told: no reply_to, metadata, client id, and no true sender."""
    as_message = message.as_message
    NOT_TOLD = {"reply_to": None, "metadata": None, "client_message_id": None, "sender": "agent"}
    message.as_message = log.as_message = lambda row: as_message(row) | NOT_TOLD


@fault("topics.log.56")
def bodies_are_cut():
    """Only the first 32,768 characters of a long body are kept."""

    class Faulty(message.Draft):
        def __init__(self, item: Any) -> None:
            super().__init__(item)
            self.body = self.body[:32_768]

    patch(message, Draft=Faulty)


@fault("topics.log.56")
def bodies_are_stripped():
    """Blanks around a body are taken away."""

    class Faulty(message.Draft):
        def __init__(self, item: Any) -> None:
            super().__init__(item)
            self.body = self.body.strip()

    patch(message, Draft=Faulty)


@fault("topics.log.91")
def bodies_fit_a_card():
    """Only the first 500 characters of a body are kept."""

    class Faulty(message.Draft):
        def __init__(self, item: Any) -> None:
            super().__init__(item)
            self.body = self.body[:500]

    patch(message, Draft=Faulty)


@fault("topics.log.82")
def bodies_pass_for_headers():
    """The text shows bodies as they are, header-like lines and all."""
    patch(text, quoted=lambda body: body)


@fault("topics.log.66", item="corpus:fifty_sent_again")
def closed_is_closed():
    """The server asks whether a topic is closed before it asks whether the message is there."""
    send = rules.send
    patch(rules, send=lambda is_same, is_open: send(is_same, is_open) if is_open else rules.Send.REFUSE)


@fault("topics.log.57", "topics.log.58", item="corpus:refused_and_sent_again")
def content_will_do():
    """A body may be called `content`, and may be missing."""

    class Faulty(message.Draft):
        def __init__(self, item: Any) -> None:
            body = item.get("content_markdown") or item.get("content") or "(empty)"
            super().__init__({**item, "content_markdown": body})

    patch(message, Draft=Faulty)


@fault("topics.log.40", control="log.ping")
def counts_from_zero():
    """The first message of a topic has the number 0."""
    patch(rules, next_seq=lambda counter, _newest: counter)
    del tools._MESSAGE["properties"]["seq"]["minimum"]

    class Faulty(TopicsBus):
        def topic_create(self, *args: Any, **kwargs: Any) -> Any:
            reply = super().topic_create(*args, **kwargs)
            with self.store.transaction() as tx:
                tx.execute("UPDATE topic_seq SET next_seq = 0 WHERE next_seq = 1")
            return reply

    return Faulty


@fault("topics.log.70")
def deferred_transactions():
    """A transaction takes the lock when it comes to its first write."""

    wrap(Store, transaction=lambda whole, self, _begin="BEGIN": whole(self, "BEGIN"))


@fault("topics.log.76", chaos={"disk_full": True, "levels": (0,), "errors": ()})
class DiesOfAFullDisk(TopicsBus):
    """An error of the disk ends the server, with no answer."""

    # Gives up.

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        try:
            return super().begin_sync(*args, **how)
        except BusError as error:
            if error.code == "DISK_FULL":
                os._exit(3)
            raise


@fault("topics.log.70", "topics.log.71")
def does_not_wait_for_locks():
    """A locked file is an error at once, and goes by SQLite's name."""
    patch(db, BUSY_TIMEOUT_MS=0)
    patch(retry, LOCK_ATTEMPTS_MAX=1)
    patch(DbBusy, code="SQLITE_BUSY")


@fault("topics.log.53")
def empty_is_no_metadata():
    """An empty metadata object is null."""
    metadata_text = message.metadata_text
    patch(message, metadata_text=lambda what, metadata: metadata_text(what, metadata or None))


@fault("topics.log.69")
def errors_are_text():
    """An error is only text, which begins with its code."""

    def only_text(code: str, message: str) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": f"{code}: {message}"}], "isError": True}

    patch(server, error_result=only_text)


@fault("topics.log.03", "topics.log.04", control="log.ping")
def everything_is_required():
    """Every parameter is required and none has a default, as strict schemas of models want it."""
    for tool in TOOLS.values():
        schema = tool["input_schema"]
        schema["required"] = list(schema["properties"])
        schema["properties"] = {
            name: {word: value for word, value in kind.items() if word != "default"}
            for name, kind in schema["properties"].items()
        }


@fault("topics.log.85")
def falls_back_to_the_oldest():
    """A client that asks for an unknown version of MCP is told the oldest one."""
    patch(server, handshake_version=lambda asked: asked if asked in HANDSHAKE_VERSIONS else HANDSHAKE_VERSIONS[0])


@fault("topics.log.61", "topics.log.62", "topics.log.63", "topics.log.67", "topics.log.46", "topics.log.72")
def keys_are_ignored():
    """A client_message_id is kept with the message, and nobody looks at it."""
    reword(
        store,
        "SCHEMA.seed",
        "UNIQUE INDEX IF NOT EXISTS idx_messages_topic_sender",
        "INDEX IF NOT EXISTS idx_messages_topic_sender",
    )
    patch(log, stored=lambda *_: {})


@fault("topics.log.67")
def keys_in_memory():
    """The keys of sent messages are known to the process that sent them alone."""
    reword(
        store,
        "SCHEMA.seed",
        "UNIQUE INDEX IF NOT EXISTS idx_messages_topic_sender",
        "INDEX IF NOT EXISTS idx_messages_topic_sender",
    )
    stored, seen = log.stored, set()

    def remembered(tx: Any, topic_id: str, sender: str, items: list[Any]) -> Any:
        keys = [(topic_id, sender, item.client_id) for item in items]
        known = stored(tx, topic_id, sender, [item for item, key in zip(items, keys, strict=True) if key in seen])
        seen.update(keys)
        return known

    patch(log, stored=remembered)


@fault("topics.log.64", "topics.log.65")
def keys_of_the_whole_bus():
    """A client_message_id is looked up among all topics and senders."""
    reword(log, "_BY_CLIENT_ID", "topic_id = ? AND sender = ?", "? <> '' AND ? <> ''")


@fault("topics.log.87", chaos={"damage": 1})
def knows_its_folder_by_its_time():
    """The look at the folder compares its time alone, to spare a look at the files: one that is put back has the
    same.
    """

    def is_still_true(self: Sight) -> bool:
        try:
            changed_ns = os.stat(self._folder).st_mtime_ns
        except OSError:
            return False
        if self._seen == (0, changed_ns):
            return True
        if self._files != self._found():
            return False
        if time.time_ns() - changed_ns > TICK_NS:
            self._seen = 0, changed_ns
        return True

    patch(Sight, is_still_true=is_still_true)


@fault("topics.log.87", chaos={"damage": 1})
def looks_at_the_database_alone():
    """A database that was removed is noticed, the log beside it is not: writes made then are found by nobody."""

    def the_database(self: Sight) -> tuple[Identity | None, Identity | None]:
        return identity(self._paths[0]), None

    patch(Sight, _found=the_database)


@fault("topics.log.67")
def looks_before_it_locks():
    """The server asks whether a message is there before it takes the lock, and the syncs of a session run side by
    side.
    """
    reword(
        store,
        "SCHEMA.seed",
        "UNIQUE INDEX IF NOT EXISTS idx_messages_topic_sender",
        "INDEX IF NOT EXISTS idx_messages_topic_sender",
    )
    stored = log.stored

    class SideBySide(server.Session):
        def __init__(self, bus: TopicsBus) -> None:
            super().__init__(bus)
            self.taking = asyncio.Semaphore(4)

    patch(server, Session=SideBySide)

    class Faulty(TopicsBus):
        def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **kwargs: Any) -> Any:
            name, items = self.lease.identity(topic_id).agent_name, message.drafts(outbox)
            with self.store.snapshot() as tx:
                known = stored(tx, topic_id, name, items)
            time.sleep(0.05)
            log.stored = lambda *_: known
            return super().begin_sync(topic_id, outbox, *args, **kwargs)

    return Faulty


@fault("topics.log.46")
class LosesOneInTwenty(TopicsBus):
    """One message in twenty that was told as sent is gone."""

    def begin_sync(self, *args: Any, **how: Any) -> SyncCall:
        call = super().begin_sync(*args, **how)
        ids = [(record["message"]["message_id"],) for record in call.reply["sent"]]
        with self.store.transaction() as tx:
            lost = [row for row in ids if zlib.crc32(row[0].encode()) % 20 == 0]
            tx.executemany("DELETE FROM messages WHERE message_id = ?", lost)
        return call


@fault("topics.log.59", item="corpus:items_of_other_types")
def makes_it_fit():
    """A value of another type is turned into text, and metadata that is no object is dropped."""

    class Faulty(message.Draft):
        def __init__(self, item: Any) -> None:
            if not isinstance(item, dict):  # refused, as the reference refuses it
                super().__init__(item)
                return
            fitted = {name: value if value is None else str(value) for name, value in item.items()}
            metadata = item.get("metadata")
            super().__init__({**fitted, "metadata": metadata if type(metadata) is dict else None})

    patch(message, Draft=Faulty)


@fault("topics.log.19", "topics.log.20", "topics.log.21", "topics.log.22")
def migrates_in_silence():
    """A file of another version gets our tables and our version."""

    class Faulty(Store):
        def open_file(self) -> None:
            with self.db.transaction() as connection:
                tx = Transaction(connection, 0)
                SCHEMA.create_missing(tx)
                tx.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', '6')")
            super().open_file()

    patch(bus, Store=Faulty)


@fault("topics.log.83", chaos={"power": 60})
def never_syncs():
    """synchronous = OFF. A power cut leaves only the bytes that reached the disk by chance."""
    import refbus.kernel.store

    class Unsynced(Database):
        """Every connection is told so."""

        def __init__(self, path, *, synchronous="NORMAL", pragmas=()):
            super().__init__(path, synchronous="OFF", pragmas=pragmas)

    patch(refbus.kernel.store, Database=Unsynced)


@fault("topics.log.29", "topics.log.30", "topics.log.31", "topics.log.32", "topics.log.33")
def no_indexes():
    """There are tables and no indexes."""
    tables = "\n".join(text for text in statements(store.SCHEMA.seed) if "INDEX" not in text)
    assert tables != store.SCHEMA.seed
    patch(store, SCHEMA=store.SCHEMA._replace(seed=tables))


@fault("topics.log.88")
def nobody_tries_again_so_late():
    """A client_message_id is looked for among the last thousand messages; beyond them a retry breaks a constraint."""
    WAS = "topic_id = ? AND sender = ?"
    WITHIN = "seq > (SELECT next_seq - 1000 FROM topic_seq WHERE topic_seq.topic_id = messages.topic_id)"
    reword(log, "_BY_CLIENT_ID", WAS, f"{WITHIN} AND {WAS}")


@fault("topics.log.41", "topics.log.42")
def numbers_in_blocks():
    """A process takes numbers ten at a time, and uses them up."""
    standing = cursor.standing
    blocks: dict[str, range] = {}

    def in_blocks(tx: Any, reader: Any) -> cursor.Standing:
        place, topic_id = standing(tx, reader), reader.topic_id
        block = blocks.get(topic_id, range(0))
        sql = "SELECT count(*) FROM messages WHERE topic_id = ? AND seq BETWEEN ? AND ?"
        (used,) = tx.row(sql, (topic_id, block.start, block.stop - 1))
        if used == len(block):
            used, first = 0, (place.lane.next_seq + 8) // 10 * 10 + 1
            block = blocks[topic_id] = range(first, first + 10)
        return place._replace(lane=place.lane._replace(next_seq=block[used]))

    patch(cursor, standing=in_blocks)


@fault("topics.log.36", "topics.log.37")
def numbers_its_messages():
    """Every process numbers its messages from one, for their ids."""
    reword(store, "SCHEMA.seed", "message_id TEXT PRIMARY KEY", "message_id TEXT")
    numbers = itertools.count(1)
    patch(log, ids_of_time=lambda _now_s, count: [f"m-{next(numbers)}" for _ in range(count)])


@fault("topics.log.42", "topics.log.43")
def one_sequence_for_all():
    """All topics share one sequence."""
    reword(
        cursor,
        "_STANDING",
        "SELECT next_seq FROM topic_seq WHERE topic_id = :topic",
        "SELECT max(next_seq) FROM topic_seq WHERE true",
    )


@fault("topics.log.49", "topics.log.50")
def one_type_of_message():
    """Every message has the type "text"."""

    class Faulty(message.Draft):
        def __init__(self, item: Any) -> None:
            super().__init__(item)
            self.type = "text"

    patch(message, Draft=Faulty)


@fault("topics.log.79")
class PingAsksTheFile(TopicsBus):
    """ping fails where the database is of another version."""

    def ping(self) -> Any:
        with self.store.snapshot():
            return super().ping()


@fault("topics.log.07")
class PingIsNotOk(TopicsBus):
    """ping says that nothing is ok."""

    def ping(self) -> dict[str, Any]:
        return super().ping() | {"ok": False}


@fault("topics.log.42", "topics.log.45")
def repeats_burn_numbers():
    """A number is taken before it is known that the message is there already."""
    append = log.append

    def burning(tx: Any, topic_id: str, *args: Any) -> log.Appended:
        done = append(tx, topic_id, *args)
        burnt = sum(record["duplicate"] for record in done.sent)
        tx.execute("UPDATE topic_seq SET next_seq = next_seq + ? WHERE topic_id = ?", (burnt, topic_id))
        return done

    patch(log, append=burning)


@fault("topics.log.89", item="corpus:replies_across_topics")
def replies_go_to_other_topics():
    """A reply may be to a message of any topic, but must be to one."""
    refuse = log.refuse_strange_reply

    def refuse_lost_reply(tx: Any, topic_id: str, reply_to: str, place: int) -> None:
        topics = tx.rows("SELECT topic_id FROM messages WHERE message_id = ?", (reply_to,))
        refuse(tx, topics[0][0] if topics else topic_id, reply_to, place)

    patch(log, refuse_strange_reply=refuse_lost_reply)


@fault("topics.log.17")
def rollback_journal():
    """The journal is not a write-ahead log."""
    from refbus.kernel import store

    class WithoutLog(store.Database):
        """From the first connection on: a log that goes away later was removed."""

        def __init__(self, *args: Any, pragmas: Any = (), **kwargs: Any) -> None:
            super().__init__(*args, pragmas=(*pragmas, "PRAGMA journal_mode = DELETE"), **kwargs)

    patch(store, Database=WithoutLog)


@fault("topics.log.34", "topics.log.35")
def rowids_are_keys():
    """Cursors and reservations are unique, and have no primary key."""
    reword(store, "SCHEMA.seed", "PRIMARY KEY (", "UNIQUE (")


@fault("topics.log.76", chaos={"disk_full": True, "only": "cursor_reset", "levels": (55,), "errors": ("EIO",)})
class SaysBusyOfWhatItDid(TopicsBus):
    """Any failure is answered DB_BUSY, which promises that nothing happened, also after the commit."""

    # Writes a second file after each reset.

    def cursor_reset(self, topic_id: str, last_seq: int = 0) -> dict[str, Any]:
        reply = super().cursor_reset(topic_id, last_seq)
        try:
            file = os.open(self.store.path.parent / "resets.txt", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
            os.write(file, b"reset\n")
            os.close(file)
        except OSError as error:
            raise DbBusy(str(error)) from error
        return reply


@fault("topics.log.21")
def says_only_what_is_wrong():
    """A file of another version is refused, and no remedy is named."""

    class Faulty(Store):
        def mismatch(self, finding: str) -> DbSchemaMismatch:
            return DbSchemaMismatch("the database has another schema version")

    patch(bus, Store=Faulty)


@fault("topics.log.60")
class SendsOneByOne(TopicsBus):
    """An outbox is stored message by message, until one is refused."""

    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **kwargs: Any) -> SyncCall:
        *firsts, last = [[item] for item in outbox] if outbox else [None]
        sent = []
        for first in firsts:
            sent += super().begin_sync(topic_id, first, auto_advance=False).reply["sent"]
        call = super().begin_sync(topic_id, last, *args, **kwargs)
        call.reply["sent"] = sent + call.reply["sent"]
        return call


@fault("topics.log.47")
def starts_afresh():
    """A server that starts clears away old messages."""

    class Faulty(Store):
        def open_file(self) -> None:
            super().open_file()
            self.db.write("DELETE FROM messages")

    patch(bus, Store=Faulty)


@fault("topics.log.73", chaos={"points": True, "only": "sync that sends many"})
def stores_a_long_outbox_in_parts():
    """An outbox of more than ten messages is stored in several transactions. A kill leaves its beginning."""
    AT_ONCE = 10

    class SendsInParts(TopicsBus):
        """Readers need not wait for all of it."""

        def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **how: Any) -> Any:
            left = outbox or []
            while len(left) > AT_ONCE:
                super().begin_sync(topic_id, left[:AT_ONCE], *args, **how)
                left = left[AT_ONCE:]
            return super().begin_sync(topic_id, left, *args, **how)

    return SendsInParts


@fault("topics.log.75", control="log.ids", chaos={"kills": 8})
class StoresLate(TopicsBus):
    """Messages are told as sent, and stored by the next call. A kill between the two loses them."""

    # Takes out the messages that it has just stored, and puts them back later.
    _late: list[tuple[Any, ...]] = []  # noqa: RUF012

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        with self.store.transaction() as tx:
            for row in self._late:
                tx.execute(f"INSERT INTO messages VALUES ({', '.join('?' * len(row))})", row)
        call = super().begin_sync(*args, **how)
        ids = [(record["message"]["message_id"],) for record in call.reply["sent"] if not record["duplicate"]]
        with self.store.transaction() as tx:
            rows = [tx.execute("SELECT * FROM messages WHERE message_id = ?", id_) for id_ in ids]
            self._late = [cursor.fetchone() for cursor in rows]
            tx.executemany("DELETE FROM messages WHERE message_id = ?", ids)
        return call


@fault("topics.log.73", chaos={"points": True, "only": "sync that sends"})
class StoresOneByOne(TopicsBus):
    """An outbox is stored one message a transaction. A kill leaves a part of it."""

    # All but the last go ahead.

    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **how: Any) -> Any:
        for item in (outbox or [])[:-1]:
            super().begin_sync(topic_id, [item], *args, **how)
        return super().begin_sync(topic_id, outbox, *args, **how)


@fault("topics.log.77", chaos={"disk_full": True, "levels": (0,), "errors": ()})
class SwallowsFullDisk(TopicsBus):
    """Any error of SQLite is DB_BUSY (W8 of another bus). A full disk reads as contention."""

    # Tells its caller to try again.

    def begin_sync(self, *args: object, **how: object) -> SyncCall:
        try:
            return super().begin_sync(*args, **how)
        except BusError as error:
            error.code = "DB_BUSY" if error.code == "DISK_FULL" else error.code
            raise


@fault("topics.log.74", dies_of="INTERNAL")
def tables_one_by_one():
    """A new file gets its tables one by one, each in a transaction of its own."""
    reword(store, "SCHEMA.seed", "TABLE IF NOT EXISTS", "TABLE")

    class Faulty(store.Store):
        def open_file(self) -> None:
            connection = self.db.connection()
            if connection.execute("SELECT 1 FROM sqlite_master").fetchone() is None:
                store.SCHEMA.create_missing(Transaction(connection, 0))
            super().open_file()

    patch(bus, Store=Faulty)


@fault("topics.log.48", item="corpus:all_that_one_sync_takes")
class TellsTheLastOnly(TopicsBus):
    """Only the last of several sent messages is told."""

    def begin_sync(self, *args: Any, **kwargs: Any) -> SyncCall:
        call = super().begin_sync(*args, **kwargs)
        call.reply["sent"] = call.reply["sent"][-1:]
        return call


@fault("topics.log.68")
def text_without_bodies():
    """The text of a sync tells the sender, not the body."""
    patch(text, _body=lambda body: f"({len(body)} characters)")


@fault("topics.log.78")
def the_version_is_read_once():
    """The schema version is read when the file is opened, and never again."""

    class Faulty(Store):
        def transaction(self, begin: str = "BEGIN IMMEDIATE") -> Any:
            self.transaction = lambda begin="BEGIN IMMEDIATE": kernel.Store.transaction(self, begin)
            return super().transaction(begin)

    patch(bus, Store=Faulty)


@fault("topics.log.24", "topics.log.25", "topics.log.26", "topics.log.27", "topics.log.28")
def times_are_integers():
    """The columns of times are whole numbers."""
    reword(store, "SCHEMA.seed", " REAL", " INTEGER")


@fault("topics.log.38")
def times_in_milliseconds():
    """Times are milliseconds."""
    patch(Transaction, now_s=property(lambda tx: tx.now_us / 1_000))


@fault("topics.log.05", "topics.log.06")
def tools_say_only_their_names():
    """The tools have no description, no hints and no output schema."""
    for tool in TOOLS.values():
        tool |= {"description": "", "annotations": {}, "output_schema": None}


@fault("topics.log.44", item="corpus:replies_across_topics")
def topic_seq_stands_still():
    """Numbers are counted in `messages`, and topic_seq is never updated."""
    patch(log, _SET_NEXT_SEQ="SELECT ?, ?, ?")


@fault("topics.log.80")
def true_is_one():
    """Metadata are compared as values of Python, where true is 1."""
    patch(jsontext, canonical=lambda value: value)


@fault("topics.log.86", dies_of="no answer")
def trusts_strange_rows():
    """A cell that another program wrote is taken for one that the bus would have written."""
    patch(message, readable=lambda cell: cell)
    patch(protocol, _text=None)


@fault("topics.log.18", "topics.log.23")
def version_is_a_number():
    """The schema version is the number 6."""
    reword(store, "SCHEMA.seed", "value TEXT", "value INTEGER")


@fault("topics.log.08", "topics.log.09", "topics.log.10")
def versions_are_numbers():
    """The versions that ping tells are numbers."""
    TOOLS["ping"]["output_schema"] = None

    class Faulty(TopicsBus):
        def ping(self) -> dict[str, Any]:
            return {"ok": True, "spec_version": 6.3, "package_version": 1}

    return Faulty


@fault("topics.log.87", chaos={"damage": 1})
def waits_for_a_file_that_goes():
    """The open file is looked for before a transaction waits for its lock: one that has gone since is written to."""
    _begin, _look = Database._begin, Database.refuse_another_file
    _has_looked = threading.local()

    def begin(self: Database, how: str) -> sqlite3.Connection:
        self.connection()
        _look(self)
        _has_looked.is_so = True
        try:
            return _begin(self, how)
        finally:
            _has_looked.is_so = False

    def look(self: Database, **how: Any) -> None:
        if not getattr(_has_looked, "is_so", False):
            _look(self, **how)

    Database._begin, Database.refuse_another_file = begin, look


@fault("topics.log.12", control="log.ping")
class WhoSendsDoesNotReceive(TopicsBus):
    """A sync with an outbox receives nothing."""

    def begin_sync(self, topic_id: str, outbox: Any = None, *args: Any, **kwargs: Any) -> SyncCall:
        if outbox:
            kwargs |= {"auto_advance": False, "wait_seconds": 0}
        call = super().begin_sync(topic_id, outbox, *args, **kwargs)
        if outbox:
            call.reply |= {"received": [], "received_count": 0, "status": "empty"}
        return call


@fault("topics.log.81")
def writes_into_a_removed_file():
    """The open file is believed: a write after somebody removed it is acknowledged, and gone."""
    patch(Database, refuse_another_file=lambda self, **how: None)
