"""Faults of worker, log."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import math
import os
import re
import sqlite3
import time
import uuid
import zlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from plant import fault, patch, reword, wrap

from refbus.kernel import db, files
from refbus.kernel.blob import ref_of
from refbus.kernel.db import Database
from refbus.kernel.errors import BusError, Busy, InvalidArgument
from refbus.kernel.rules import cursor, retry
from refbus.kernel.schema import Schema
from refbus.kernel.sight import Identity, Sight, identity
from refbus.kernel.transaction import Transaction
from refbus.worker import archive, blob, bus, log, signing, store
from refbus.worker.archive import Archive
from refbus.worker.bus import WorkerBus
from refbus.worker.message import Draft, Values

CONTROL = "log.fields"


@fault("worker.log.20")
class AbsentIsAJsonNull(WorkerBus):
    """A message without payload stores the text null."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        return super().publish(agent_id, {"payload": None} | message)


@fault("worker.log.45", item="corpus:84142")
class AckIsHeldAgainstWhatIsLeft(WorkerBus):
    """After an archive an ack of the newest seq is refused."""

    def ack(self, agent_id: str, seq: int) -> dict[str, Any]:
        (left,) = self.db.row("SELECT coalesce(max(seq), 0) FROM messages")
        if seq > left:
            raise InvalidArgument("no such seq")
        return super().ack(agent_id, seq)


@fault("worker.log.01", "worker.log.02", control="log.idempotent_publish")
class AcknowledgesBeforeItStores(WorkerBus):
    """A publish is acknowledged while it waits in memory; the next call writes it."""

    waiting: Any = None

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self.flush()
        self.waiting = (agent_id, message)
        return {"id": message.get("id", "unknown")}

    def flush(self) -> None:
        if self.waiting:
            agent_id, message = self.waiting
            self.waiting = None
            super().publish(agent_id, message)

    def poll(self, **params: Any) -> dict[str, Any]:
        self.flush()
        return super().poll(**params)


@fault("worker.log.14", control="log.survives_kill")
def anonymous_sender():
    """from_agent is the bus, not the sender."""

    wrap(Draft, values=lambda whole, self, sender, now_ms: whole(self, "bus", now_ms))


@fault("worker.log.29")
def another_file_name():
    """The database is not bus.db."""
    patch(store, DB_NAME="messages.db")


@fault(
    "worker.log.03",
    "worker.log.54",
    control="lease.renew_extends",
    chaos={"points": True, "only": "publish", "kills": 16},
)
class AnswersBeforeCommit(WorkerBus):
    """Publish is answered, then committed. A kill between the two loses an acknowledged message."""

    # Keeps each message until the next call.
    _waiting: tuple[str, dict[str, Any]] | None = None

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self._write_what_waits()
        self._waiting = (agent_id, message)
        return {"id": message["id"]}

    def poll(self, agent_id: str, limit: int = 100, wait_ms: int = 0) -> dict[str, Any]:
        self._write_what_waits()
        return super().poll(agent_id=agent_id, limit=limit, wait_ms=wait_ms)

    def _write_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            super().publish(*waiting)


@fault("worker.log.11", item="corpus:06047")
def any_sender_retries():
    """A message under another agent's id is answered as published, and does not exist."""
    _seq_of_retry = log.Log._seq_of_retry

    def forgiving(self: log.Log, tx: Any, agent_id: str, draft: Any) -> int:
        (sender,) = tx.row("SELECT from_agent FROM messages WHERE id = ?", (draft.id,)) or (agent_id,)
        return _seq_of_retry(self, tx, sender, draft)

    patch(log.Log, _seq_of_retry=forgiving)


@fault("worker.log.43", item="corpus:archive_behind_a_long_stretch")
def archive_forgets_addressees():
    """The archive does not wait for an addressee that never acknowledged."""
    reword(archive, "_COPY", "AND (to_agent IS NULL OR to_agent IN (SELECT agent_id FROM cursors))", "")


@fault("worker.log.42", item="corpus:redriven_for_two")
def archive_takes_dead_letters():
    """The archive moves dead letters out, which nobody can redrive then."""
    reword(archive, "_COPY", "AND seq NOT IN (SELECT seq FROM dead_letters)", "")


@fault("worker.log.43", item="corpus:first_ack_while_archive_waits")
def archives_below_the_fastest():
    """archive moves messages that one agent has read, though another has not."""
    patch(cursor, archivable_below=lambda cursors: max(cursors, default=0))


@fault("worker.log.63")
def archives_by_an_old_look():
    """archive reads the cursors before it has the lock."""

    class Faulty(archive.Archive):
        def archive(self) -> Any:
            cursors = [seq for (seq,) in self._store.db.rows("SELECT last_acked_seq FROM cursors")]
            below_seq = cursor.archivable_below(cursors)
            with self._store.transaction() as tx:
                moved, _ = self._move_some(tx, 0, below_seq)
            return {"archived": moved, "below_seq": below_seq}

    patch(bus, Archive=Faulty)


@fault("worker.log.03", chaos={"points": True, "only": "archive"})
class ArchivesIntoAnotherFile(WorkerBus):
    """Archiving moves messages into a second, attached file. No transaction over two files in WAL mode is atomic."""

    # One COMMIT, two logs.

    def archive(self) -> dict[str, Any]:
        connection = self.db.connection()
        connection.execute("ATTACH ? AS old", (str(self.folder / "old.db"),))
        connection.execute("PRAGMA old.journal_mode = WAL")
        connection.execute("CREATE TABLE IF NOT EXISTS old.kept AS SELECT * FROM main.messages WHERE 0")
        connection.execute("BEGIN IMMEDIATE")
        (below,) = connection.execute("SELECT coalesce(min(last_acked_seq), 0) FROM cursors").fetchone()
        connection.execute("INSERT INTO old.kept SELECT * FROM main.messages WHERE seq <= ?", (below,))
        moved = connection.execute("DELETE FROM main.messages WHERE seq <= ?", (below,)).rowcount
        connection.execute("COMMIT")
        connection.execute("DETACH old")
        return {"archived": moved, "below_seq": below}

    def dump(self) -> Any:
        reply: Any = super().dump()
        if (self.folder / "old.db").exists():
            with contextlib.closing(sqlite3.connect(self.folder / "old.db")) as connection:
                connection.row_factory = sqlite3.Row
                with contextlib.suppress(sqlite3.OperationalError):
                    reply["archived"] = [dict(row) for row in connection.execute("SELECT * FROM kept ORDER BY seq")]
        return reply


@fault("worker.log.42", item="corpus:another_program_acknowledges")
class ArchivesNothing(WorkerBus):
    """archive answers and moves nothing."""

    def archive(self) -> dict[str, Any]:
        return {"archived": 0}


@fault("worker.log.27", item="corpus:a_long_batch_again")
class BatchBackwards(WorkerBus):
    """A batch is stored from its end."""

    def publish_many(self, agent_id: str, messages: Any) -> dict[str, Any]:
        reply = super().publish_many(agent_id, messages[::-1] if isinstance(messages, list) else messages)
        return {"ids": reply["ids"][::-1], "seqs": reply["seqs"][::-1]}


@fault("worker.log.52", "worker.log.72")
class BatchInPieces(WorkerBus):
    """A batch is one transaction a message: messages before a bad one stay."""

    def publish_many(self, agent_id: str, messages: Any) -> dict[str, Any]:
        replies = [self.publish(agent_id, message) for message in messages]
        return {"ids": [reply["id"] for reply in replies], "seqs": [reply["seq"] for reply in replies]}


@fault("worker.log.64")
def believes_a_file_in_its_place():
    """A removed database is noticed, one in its place is not: a process that has the old one open goes on with it."""

    def is_any_file_there(self: Sight) -> bool:
        return None not in self._found()

    patch(Sight, is_still_true=is_any_file_there)


@fault("worker.log.55", chaos={"disk_full": True, "only": "save_blob", "levels": (), "errors": ("short",)})
def believes_a_short_write():
    """A write is called once, and its count is not looked at. A blob may have its first bytes alone."""

    def write_once(fd: int, data: bytes) -> None:
        """As if write() took all or nothing."""
        os.write(fd, data)

    patch(files, write_all=write_once)


@fault("worker.log.46", "worker.log.47")
def believes_every_signature():
    """Signatures are stored and never looked at."""

    class Faulty(signing.Signatures):
        def is_good(self, row: Any) -> bool:
            return True

    patch(bus, Signatures=Faulty)


@fault(
    "worker.log.65",
    chaos={
        "power": 10,
        "deaths": 12,
        "only": "try_claim_task",
        "options": {"synchronous": "FULL"},
        "durability": "power-loss",
    },
)
def builds_on_what_it_recovers():
    """synchronous = FULL: a killed process's unsynced write is read, and a claim is granted by it."""
    patch(Database, _sync_log=lambda self: None)


@fault("worker.log.36")
def claim_without_end():
    """task_claims.lease_until_ms may be null."""
    reword(store, "SCHEMA.seed", "lease_until_ms INTEGER NOT NULL", "lease_until_ms INTEGER")


@fault("worker.log.22", "worker.log.23", "worker.log.24", control="log.survives_kill")
class ClosedSetOfTypes(WorkerBus):
    """Only a few message types are carried; others become a note."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        known = message.get("type") in ("task_assign", "state_change", "agent_started")
        return super().publish(agent_id, message if known else {**message, "type": "note"})


@fault("worker.log.34")
def cursor_without_time():
    """cursors.updated_at_ms may be null."""
    reword(store, "SCHEMA.seed", "updated_at_ms INTEGER NOT NULL", "updated_at_ms INTEGER")


@fault("worker.log.34")
def cursors_begin_nowhere():
    """cursors.last_acked_seq has no default."""
    reword(store, "SCHEMA.seed", "last_acked_seq INTEGER NOT NULL DEFAULT 0", "last_acked_seq INTEGER NOT NULL")


@fault("worker.log.37")
def versions_may_be_null():
    """meta.value may be null."""
    reword(store, "SCHEMA.seed", "value TEXT NOT NULL", "value TEXT")


@fault("worker.log.38")
def exports_may_end_nowhere():
    """export_state.last_seq may be null, and has no default."""
    reword(store, "SCHEMA.seed", "last_seq INTEGER NOT NULL DEFAULT 0", "last_seq INTEGER")


@fault("worker.log.55", chaos={"disk_full": True, "only": "publish", "levels": (0,)})
class DiesOfAFullDisk(WorkerBus):
    """An error of the disk ends the process, with no answer."""

    # Gives up.

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id=agent_id, message=message)
        except BusError:
            os._exit(3)


@fault("worker.log.41")
def does_not_migrate():
    """A store of an earlier version is refused."""
    patch(store, SCHEMA=store.SCHEMA._replace(oldest=1))


@fault("worker.log.49", "worker.log.50")
def does_not_wait_for_a_lock():
    """A lock that another holds for a moment is an error at once."""
    patch(db, BUSY_TIMEOUT_MS=0)
    patch(retry, LOCK_ATTEMPTS_MAX=1)


@fault("worker.log.54", chaos={"kills": 8})
class EndsByItself(WorkerBus):
    """The process ends in the middle of its fourth publish, as after a crash of its own."""

    # Counts, and gives up.
    _publishes = 0

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self._publishes += 1
        if self._publishes == 4:
            os._exit(1)
        return super().publish(agent_id=agent_id, message=message)


@fault("worker.log.12", "worker.log.15", item="corpus:values")
class EveryRefusalIsAlreadyPublished(WorkerBus):
    """Any message that breaks a constraint is reported as already published (W1)."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id, message)
        except InvalidArgument:
            return {"id": message.get("id", "published")}


@fault("worker.log.19", "worker.log.20")
class FalsyPayloadsAreAbsent(WorkerBus):
    """A payload of {}, [], 0, the empty text or false is taken for none (W2)."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        if not message.get("payload"):
            message = {key: value for key, value in message.items() if key != "payload"}
        return super().publish(agent_id, message)


@fault("worker.log.44", item="corpus:as_deep_as_may_be")
class ForgetsWhatItArchived(WorkerBus):
    """Archived messages are thrown away, ids and all."""

    def archive(self) -> dict[str, Any]:
        reply = super().archive()
        self.db.write("DELETE FROM archived_messages")
        return reply


@fault("worker.log.55", chaos={"disk_full": True, "levels": (), "errors": (), "wants": (("descriptors", (0,)),)})
class GivesUpWithoutDescriptors(WorkerBus):
    """A process that once could not open a file believes for ever that it cannot write: only a restart mends it."""

    broken: BusError | None = None

    def save_blob(self, *arguments: Any, **more: Any) -> Any:
        if self.broken is not None:
            raise self.broken
        try:
            return super().save_blob(*arguments, **more)
        except BusError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EMFILE:
                self.broken = error
            raise


@fault("worker.log.03", chaos={"points": True, "only": "publish_many"})
def journal_in_memory():
    """The rollback journal is kept in memory. A kill in the middle of a write leaves half of it."""

    class JournalInMemory(WorkerBus):
        """No write-ahead log, no journal on the disk."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self.db.connection().execute("PRAGMA journal_mode = MEMORY")

    patch(Database, refuse_another_file=lambda self, **how: None)
    return JournalInMemory


@fault("worker.log.70")
def keeps_its_key_beside_the_log():
    """The signing key lies in the store, for any process that opens it next."""

    class Faulty(signing.Signatures):
        def __init__(self, store: Any) -> None:
            super().__init__(store)
            if self.key is not None:
                (store.folder / "signing.key").write_text(self.key.hex())

    patch(bus, Signatures=Faulty)


@fault("worker.log.04")
def large_payloads_are_written_later():
    """A blob is kept in memory until somebody reads it."""

    class Faulty(blob.Blobs):
        def __init__(self, store: Any) -> None:
            super().__init__(store)
            self.waiting: dict[str, str] = {}

        def save_text(self, text: str) -> str:
            ref = ref_of(text.encode())
            self.waiting[ref] = text
            return ref

        def load_text(self, ref: str) -> str:
            return self.waiting[ref] if ref in self.waiting else super().load_text(ref)

    patch(bus, Blobs=Faulty)


@fault(
    "worker.log.65",
    chaos={"power": 60, "only": "archive", "options": {"synchronous": "FULL"}, "durability": "power-loss"},
)
def leaves_its_connection_at_normal():
    """synchronous = FULL: an archival turns it off for its VACUUM, and later writes are not synced either."""
    _compact = Archive._compact

    def compact(self: Archive) -> None:
        self._store.db.write("PRAGMA synchronous = NORMAL")
        _compact(self)

    patch(Archive, _compact=compact)


@fault("worker.log.71", chaos={"damage": 1})
def looks_at_the_database_alone():
    """A database that was removed is noticed, the log beside it is not: writes made then are found by nobody."""

    def the_database(self: Sight) -> tuple[Identity | None, Identity | None]:
        return identity(self._paths[0]), None

    patch(Sight, _found=the_database)


@fault("worker.log.16", "worker.log.25", control="log.survives_kill")
def loses_correlation_id():
    """correlation_id is not stored."""

    class Faulty(Draft):
        def values(self, sender: str, now_ms: int) -> Values:
            self.correlation_id = None
            return super().values(sender, now_ms)

    patch(log, Draft=Faulty)


@fault("worker.log.17", control="log.survives_kill")
def loses_in_reply_to():
    """in_reply_to is not stored."""

    class Faulty(Draft):
        def values(self, sender: str, now_ms: int) -> Values:
            self.in_reply_to = None
            return super().values(sender, now_ms)

    patch(log, Draft=Faulty)


@fault("worker.log.53")
class LosesOneInSeven(WorkerBus):
    """Every seventh publish is acknowledged and not stored."""

    count = 0

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self.count += 1
        if self.count % 7 == 0:
            return {
                "id": message.get("id", "lost"),
                "seq": self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0] + 1,
            }
        return super().publish(agent_id, message)


@fault("worker.log.53", control="log.idempotent_publish")
class LosesOneInTwenty(WorkerBus):
    """One acknowledged message in twenty is gone, and the bus declares the least that it can."""

    NOUNS, FEATURES = ("log", "cursor", "route"), ()

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        sent = super().publish(agent_id, message)
        if zlib.crc32(sent["id"].encode()) % 20 == 0:
            self.db.write("DELETE FROM messages WHERE id = ?", (sent["id"],))
        return sent


@fault("worker.log.03", chaos={"points": True, "only": "open, an older file"})
def migrates_in_pieces():
    """An older file is brought up to date in two transactions. A kill between leaves one that nobody opens."""

    def in_pieces(self: Schema, tx: Any) -> None:
        """Marked first."""
        self.refuse_version(tx)
        self.create_missing(tx)
        tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', 'on its way')")
        tx.execute("COMMIT")
        tx.execute("BEGIN IMMEDIATE")
        tx.execute("INSERT OR REPLACE INTO meta (key, value) VALUES ('schema_version', ?)", (str(self.version),))

    patch(Schema, bring_up_to_date=in_pieces)


@fault("worker.log.65", chaos={"power": 150})
def never_syncs():
    """synchronous = OFF. A power cut leaves only the bytes that reached the disk by chance, half checkpoints too."""

    class NeverSyncs(WorkerBus):
        """Every connection is told so."""

        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            self.db.connection().execute("PRAGMA synchronous = OFF")

    patch(db.Database, make_durable=lambda self: None)
    return NeverSyncs


@fault("worker.log.21")
def no_check_on_both_payloads():
    """A row may have both payload and payload_ref."""
    reword(store, "SCHEMA.seed", "CHECK (payload IS NULL OR payload_ref IS NULL)", "CHECK (1)")


@fault("worker.log.32")
def no_index_by_correlation():
    """There is no index on (correlation_id, seq)."""
    reword(store, "SCHEMA.seed", "ON messages(correlation_id, seq)", "ON messages(seq)")


@fault("worker.log.31")
def no_index_by_recipient():
    """There is no index on (to_agent, seq)."""
    reword(
        store,
        "SCHEMA.seed",
        "idx_messages_to_seq ON messages(to_agent, seq)",
        "idx_messages_to_seq ON messages(seq, to_agent)",
    )


@fault("worker.log.33")
def no_index_by_type():
    """There is no index on (type, from_agent, ts_ms)."""
    reword(store, "SCHEMA.seed", "ON messages(type, from_agent, ts_ms)", "ON messages(type)")


@fault("worker.log.39", control="log.survives_kill")
def not_write_ahead():
    """The journal is not a write-ahead log."""
    from refbus.kernel import store

    class WithoutLog(store.Database):
        """From the first connection on: a log that goes away later was removed."""

        def __init__(self, *args: Any, pragmas: Any = (), **kwargs: Any) -> None:
            super().__init__(*args, pragmas=(*pragmas, "PRAGMA journal_mode = DELETE"), **kwargs)

    patch(store, Database=WithoutLog)


@fault("worker.log.08", item="corpus:an_exported_row_gets_another_id")
class NumbersForIds(WorkerBus):
    """A message without an id is given a number, not a UUID."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        number = self.db.row("SELECT coalesce(max(seq), 0) FROM messages")[0] + 1
        return super().publish(agent_id, {"id": f"message-{number}"} | message)


@fault("worker.log.18", "worker.log.73")
class ObjectsBecomeText(WorkerBus):
    """An object payload is delivered as its text."""

    def poll(self, **params: Any) -> dict[str, Any]:
        reply = super().poll(**params)
        for message in reply["messages"]:
            if isinstance(message.get("payload"), dict):
                message["payload"] = str(message["payload"])
        return reply


@fault("worker.log.40")
def opens_a_newer_schema():
    """A store of a later version is opened and written to."""
    patch(store, SCHEMA=store.SCHEMA._replace(version=999))


@fault("worker.log.11", item="corpus:volume_of_batches")
def other_content_is_dropped():
    """The same id with other content is reported as published and dropped (W3)."""

    def first_of_that_id(_self: log.Log, tx: Transaction, _agent_id: str, draft: Any) -> int:
        stored = log._stored(tx, draft.id)
        assert stored is not None
        return int(stored[0])

    patch(log.Log, _seq_of_retry=first_of_that_id)


@fault("worker.log.03", chaos={"points": True, "only": "publish"})
class PlaysIntentsAgain(WorkerBus):
    """A publish is noted in a file first, and played again after a crash, under a new id."""

    # The note goes when the message is there.

    def __init__(self, store: Any, **options: Any) -> None:
        super().__init__(store, **options)
        self._note = Path(store) / "intent.json"
        if self._note.exists():
            agent_id, message = json.loads(self._note.read_text(encoding="utf-8"))
            super().publish(agent_id=agent_id, message={**message, "id": str(uuid.uuid4())})
            self._note.unlink()

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self._note.write_text(json.dumps([agent_id, message]), encoding="utf-8")
        reply = super().publish(agent_id=agent_id, message=message)
        self._note.unlink()
        return reply


@fault("worker.log.35")
def progress_is_text():
    """heartbeats.progress is text."""
    reword(store, "SCHEMA.seed", "progress REAL", "progress TEXT")


@fault("worker.log.03", chaos={"points": True, "only": "publish_many"})
class PublishesOneByOne(WorkerBus):
    """Publish_many is many transactions. A kill leaves a part of the batch."""

    # Not all or none.

    def publish_many(self, agent_id: str, messages: list[dict[str, Any]]) -> dict[str, Any]:
        replies = [self.publish(agent_id=agent_id, message=message) for message in messages]
        return {"ids": [reply["id"] for reply in replies], "seqs": [reply["seq"] for reply in replies]}


@fault("worker.log.51", dies_of="no answer")
class ReadsUnderTheWriteLock(WorkerBus):
    """A poll takes the write lock, so readers wait for writers."""

    def poll(self, **params: Any) -> dict[str, Any]:
        with self.store.transaction():
            return super().poll(**params)


@fault("worker.log.03", chaos={"points": True, "only": "publish"})
class RemembersIdsInMemory(WorkerBus):
    """A retry is known by this process's memory. Another process stores it again."""

    # Stores under its own ids, and knows the callers' ids for them.

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._known: dict[str, dict[str, Any]] = {}

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        id_ = message.get("id")
        if id_ in self._known:
            return self._known[id_]
        taken = id_ is not None and self.db.row("SELECT 1 FROM messages WHERE id = ?", (id_,))
        stored = {**message, "id": f"{id_}'"} if taken else message
        reply = super().publish(agent_id=agent_id, message=stored)
        if id_ is not None:
            self._known[id_] = reply
        return reply


@fault("worker.log.03", chaos={"points": True, "only": "publish"})
class RemovesTheLog(WorkerBus):
    """A process that opens the store and is alone there clears away the log that a crash left."""

    # Where nobody else is there.

    def __init__(self, store: Any, **options: Any) -> None:
        self._here = open(Path(store, "here.lock"), "ab")  # noqa: SIM115
        try:
            fcntl.flock(self._here, fcntl.LOCK_EX | fcntl.LOCK_NB)
            for name in ("bus.db-wal", "bus.db-shm"):
                Path(store, name).unlink(missing_ok=True)
        except BlockingIOError:
            pass
        fcntl.flock(self._here, fcntl.LOCK_SH)
        super().__init__(store, **options)

    def close(self) -> None:
        super().close()
        self._here.close()


@fault("worker.log.07", "worker.log.09")
class RenamesMessages(WorkerBus):
    """An id that the sender chose is replaced by a new one."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        return super().publish(agent_id, {key: value for key, value in message.items() if key != "id"})


@fault("worker.log.11", item="corpus:06170")
def retries_in_the_same_order():
    """A retry whose members stand in another order is another message."""
    patch(log, jsontext=SimpleNamespace(decode=log.jsontext.decode, canonical=repr))


@fault("worker.log.10")
class RetryIsAnsweredWithANewId(WorkerBus):
    """A retry of a stored message is answered with an id that no message has."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        known = message.get("id") and self.db.row("SELECT 1 FROM messages WHERE id = ?", (message["id"],))
        reply = super().publish(agent_id, message)
        return reply | {"id": "duplicate"} if known else reply


@fault("worker.log.09")
class RetryIsStoredAgain(WorkerBus):
    """A retry with the same id is stored as one more message."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        if message.get("id") and self.db.row("SELECT 1 FROM messages WHERE id = ?", (message["id"],)):
            super().publish(agent_id, {**message, "id": message["id"] + " again"})
            return super().publish(agent_id, message)
        return super().publish(agent_id, message)


@fault("worker.log.55", chaos={"disk_full": True, "levels": (0, 1), "wants": (), "errors": ()})
class SaysOkOfAFullDisk(WorkerBus):
    """A publish that found no space is answered as done."""

    # The error is swallowed.

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id=agent_id, message=message)
        except BusError:
            return {"id": message.get("id", "none")}


@fault("worker.log.65", chaos={"power": 30})
class SaysPowerLoss(WorkerBus):
    """Declares that it survives a power cut, and commits without a sync."""

    # synchronous = NORMAL, and a promise that only FULL keeps.
    DURABILITY = "power-loss"


@fault("worker.log.13", control="log.survives_kill")
def seconds_for_milliseconds():
    """ts_ms holds seconds."""

    wrap(Draft, values=lambda whole, self, sender, now_ms: whole(self, sender, now_ms // 1000))


@fault("worker.log.28")
class SeesOnlyItsOwnKind(WorkerBus):
    """A row that another program inserted is not delivered."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.db.write("CREATE TABLE IF NOT EXISTS ours (seq INTEGER PRIMARY KEY)")

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        reply = super().publish(agent_id, message)
        self.db.write("INSERT OR IGNORE INTO ours VALUES (?)", (reply["seq"],))
        return reply

    def poll(self, **params: Any) -> dict[str, Any]:
        ours = {seq for (seq,) in self.db.rows("SELECT seq FROM ours")}
        return {"messages": [row for row in super().poll(**params)["messages"] if row["seq"] in ours]}


@fault("worker.log.05", "worker.log.06")
class SeqCountsDown(WorkerBus):
    """The seq that a publisher is told falls with every message."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        reply = super().publish(agent_id, message)
        return reply | {"seq": 10**6 - reply["seq"]}


@fault("worker.log.26")
def seq_is_reused():
    """A seq whose message is gone is given again."""
    SEED, FAULT = "AUTOINCREMENT", ""
    assert SEED in store.SCHEMA.seed
    # The code that keeps the numbers of an older file's archive has no table to keep them in, then
    KEPT = re.compile(r"INSERT INTO sqlite_sequence .*?;\nUPDATE sqlite_sequence .*?;\n", re.DOTALL)
    assert KEPT.search(store.SCHEMA.extra)
    patch(
        store,
        SCHEMA=store.SCHEMA._replace(
            seed=store.SCHEMA.seed.replace(SEED, FAULT), extra=KEPT.sub("", store.SCHEMA.extra)
        ),
    )


@fault("worker.log.46", item="corpus:every_column_is_signed")
def signs_sender_and_payload():
    """The signature covers the sender and the payload alone: a stranger readdresses a message."""
    _mac = signing.mac
    patch(signing, mac=lambda key, row: _mac(key, (row[3], *row[8:])))


@fault("worker.log.48")
def signs_with_a_key_of_its_own():
    """A message is signed with a key that no reader has."""
    _mac = signing.mac
    patch(
        signing,
        mac=lambda key, row: _mac(key + b"mine", row),
        is_signed=lambda key, row, signature: _mac(key, row) == signature,
    )


@fault("worker.log.03", chaos={"points": True, "only": ("archive",)})
class StartsItsNumbersAgain(WorkerBus):
    """A number that archiving has freed is given again: the next message has one that another message had."""

    # The first number that is free.

    def publish(self, **how: Any) -> Any:
        reply = super().publish(**how)
        if self.db.row("SELECT 1 FROM messages WHERE seq = 1") is None:
            self.db.write("UPDATE messages SET seq = 1 WHERE seq = ?", (reply["seq"],))
            reply["seq"] = 1
        return reply


@fault("worker.log.55", chaos={"disk_full": True, "only": "publish", "levels": (0,)})
class SwallowsFullDisk(WorkerBus):
    """The seed's `except OperationalError: return False` (W8). A full disk reads as "somebody holds it"."""

    # Any error of a claim is contention; any error of a publish is BUSY.

    def try_claim_task(self, task_id: str, agent_id: str) -> dict[str, Any]:
        try:
            return super().try_claim_task(task_id=task_id, agent_id=agent_id)
        except BusError:
            return {"claimed": False}

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        try:
            return super().publish(agent_id=agent_id, message=message)
        except BusError as error:
            error.code = "BUSY"
            raise


@fault("worker.log.30")
def text_correlations():
    """messages.in_reply_to is a number."""
    reword(store, "SCHEMA.seed", "in_reply_to TEXT", "in_reply_to INTEGER")


@fault("worker.log.11", item="corpus:retries_of_what_was_archived")
def true_is_one():
    """A retry that says true where 1 was said is the same message."""
    patch(log, jsontext=SimpleNamespace(decode=log.jsontext.decode, canonical=lambda value: value))


@fault("worker.log.38")
def two_export_states():
    """export_state may have more than one row."""
    reword(store, "SCHEMA.seed", "CHECK (id = 1)", "CHECK (id > 0)")


@fault("worker.log.37")
class VersionByAnotherName(WorkerBus):
    """meta says another schema_version."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        self.db.write("UPDATE meta SET value = 'one' WHERE key = 'schema_version'")
        return super().publish(agent_id, message)


@fault("worker.log.71", chaos={"damage": 1})
def waits_for_a_file_that_goes():
    """The open file is looked for before a statement alone: one that waits for the lock goes into a file that has
    gone.
    """
    patch(db, AT_ONCE_S=math.inf)


@fault("worker.log.64")
def writes_into_a_removed_file():
    """The open file is believed: a write after somebody removed it is acknowledged, and gone."""
    patch(Database, refuse_another_file=lambda self, **how: None)


@fault("worker.log.46", item="log.signing")
def signs_all_but_the_number():
    """The signature leaves out the seq: a message with its signature can be moved to another place in the log."""
    _mac = signing.mac
    patch(signing, mac=lambda key, row: _mac(key, row[1:]))


@fault("worker.log.75")
def waits_for_a_lock_for_ever():
    """The busy time-out is more than an hour: a writer waits for as long as another one keeps the lock."""
    patch(db, BUSY_TIMEOUT_MS=5_000_000)


@fault("worker.log.03", chaos={"points": True, "only": "publish"})
class HoldsALockByItsPid(WorkerBus):
    """A publisher's lock file holds its pid, and is honoured as long as a process of that number lives."""

    def publish(self, agent_id: str, message: dict[str, Any]) -> dict[str, Any]:
        lock, until = self.store.folder / "publish.lock", time.monotonic() + 3
        while lock.exists() and Path("/proc", lock.read_text() or "none").exists():
            if time.monotonic() > until:
                raise Busy(f"process {lock.read_text()} publishes")
            time.sleep(0.01)
        lock.write_text(str(os.getpid()))
        try:
            return super().publish(agent_id, message)
        finally:
            lock.unlink(missing_ok=True)
